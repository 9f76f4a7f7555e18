"""Seatbelt, the sandbox of macOS (experimental): the profile for sandbox-exec, in its Scheme-like language.

The last rule that matches decides. See the profiles in /System/Library/Sandbox/Profiles.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from tools_core.files import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tools_shell._sandbox._visible import Visible

PROGRAM = "/usr/bin/sandbox-exec"

_TEMPORARY = ("HOME", "TMPDIR", "TEMP", "TMP")
_SYSTEM = ("/Library", "/System", "/private/etc", "/private/var/db/timezone", "/private/var/select", "/dev")
_RULES = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow pseudo-tty)
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read-metadata)
(allow file-ioctl file-read* file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper")
  (regex #"^/dev/ttys[0-9]+$"))
(allow file-read* (literal "/"))
"""
_NETWORK = """\
(allow network*)
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.trustd.agent"))
"""


def profile(view: Visible, protected: Iterable[str], temporary: str, *, network: bool) -> str:
    """Return the profile for visible paths, with a private temporary folder; `protected` paths are read-only."""
    rules = [
        _RULES,
        _allow("file-read*", [*_SYSTEM, *view.readable, *view.writable, temporary]),
        _allow("file-write*", [*view.writable, temporary]),
        _deny("file-write*", [*view.guarded, *protected]),
        # A protected file must not be replaced together with a folder above it.
        _deny(
            "file-write-unlink",
            _above([*view.guarded, *protected, *view.hidden], view.writable),
            "literal",
        ),
        _deny("file-read* file-write*", view.hidden),
        _NETWORK if network else "",
    ]
    return "".join(rules)


def wrap(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    view: Visible,
    protected: Iterable[str],
    *,
    network: bool,
) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and the environment of a command in its sandbox."""
    temporary = _temporary_folder()
    private = [name for name in _TEMPORARY if not is_inside(environment.get(name, ""), view.writable)]
    text = profile(view, protected, temporary, network=network)
    return [PROGRAM, "-p", text, *arguments], {**environment, **dict.fromkeys(private, temporary)}


def _allow(operation: str, paths: Iterable[str]) -> str:
    return _rule("allow", operation, paths, "subpath")


def _deny(operation: str, paths: Iterable[str], kind: str = "subpath") -> str:
    return _rule("deny", operation, paths, kind)


def _rule(decision: str, operation: str, paths: Iterable[str], kind: str) -> str:
    filters = "".join(f"\n  ({kind} {_quoted(path)})" for path in sorted({*paths}))
    return f"({decision} {operation}{filters})\n" if filters else ""


def _quoted(path: str) -> str:
    """Return a path as a string of the profile language."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _above(paths: Iterable[str], writable: Sequence[str]) -> list[str]:
    """Return the folders above paths, up to the writable ones."""
    folders = (path.rsplit("/", count)[0] for path in paths for count in range(1, path.count("/")))
    return [folder for folder in folders if is_inside(folder, writable)]


@functools.cache
def _temporary_folder() -> str:
    """Create the private folder of this process, which is removed when it exits."""
    import atexit
    import shutil
    import tempfile

    folder = os.path.realpath(tempfile.mkdtemp(prefix="ask-tools-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
