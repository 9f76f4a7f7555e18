"""The kernel's program, on its way into whatever interpreter is to run it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools_shell._process._command import Command

_MODULES = ("_frames", "_values", "_pictures", "_surroundings", "_main")  # each after those that it imports
# Byte code spares 10 ms of compiling; only the version that it was made by can read it. The builtins and what talks to
# the system are copies: the code may delete or replace the real ones.
_BOOT = f"""
import _signal, marshal, os, sys, time
channel = int(sys.argv[1])
if sys.version_info < (3, 8):
    sys.exit("code needs Python 3.8 or later, and this is " + sys.version)
from _frozen_importlib_external import MAGIC_NUMBER
def read():
    size, data = int.from_bytes(os.read(channel, 4), "big"), b""
    while len(data) < size:
        data += os.read(channel, size - len(data)) or sys.exit("the channel has closed")
    return data
def copy(original):
    made = type(sys)(original.__name__)
    vars(made).update(vars(original))
    return made
magic, names, own = read(), [], dict(vars(sys.modules["builtins"]))
copies = {{original.__name__: copy(original) for original in (_signal, os, time)}}
for _ in range({len(_MODULES)}):
    names.append(read().decode())
    code, source = read(), read()
    module = sys.modules[names[-1]] = type(sys)(names[-1])
    module.__builtins__ = own
    exec(marshal.loads(code) if magic == MAGIC_NUMBER else compile(source, "kernel", "exec"), vars(module))
    vars(module).update({{name: made for name, made in copies.items() if name in vars(module)}})
for name in names:
    del sys.modules[name]
sys.exit(module.main(channel))
"""


def with_channel(command: Command, channel: int) -> Command:
    """What starts a kernel: UTF-8 whatever the locale, crashes told, no packages of the user's own besides."""
    options = ["-s", "-X", "utf8", "-X", "faulthandler", "-c", _BOOT, str(channel)]
    return command._replace(arguments=[*command.arguments, *options], extra=[channel])


@functools.cache
def program() -> bytes:
    """The kernel's modules as byte code and as source, as `_BOOT` reads them."""
    import marshal
    from importlib.util import MAGIC_NUMBER, find_spec

    parts = [MAGIC_NUMBER]
    for module in _MODULES:
        name = f"tools_shell._kernel.{module}"
        loader: Any = getattr(find_spec(name), "loader", None)  # whose type says nothing of what it is asked for
        parts += [name.encode(), marshal.dumps(loader.get_code(name)), loader.get_source(name).encode()]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
