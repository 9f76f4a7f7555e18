"""One interface to the two search programs: `rg` if it is installed, else the scan in Python."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

from tools_core import ToolError
from tools_core.files import is_inside, real_path, user_folders
from tools_filesystem._paths._mounts import is_pseudo_file, mounts_below
from tools_filesystem._paths._resolve import SpecialFileError, closing
from tools_filesystem._search import _scan
from tools_filesystem._search._process import Answer, Command, run

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._locate import Located
    from tools_filesystem._workspace import Workspace

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store")
_COMMON = (
    "--no-config", "--color=never", "--no-messages", "--hidden", "--glob=!.git", "--no-require-git",
    "--no-ignore-global",
)  # fmt: skip
_MODES = {
    "list": ("--files", "--null"),
    "content": ("--json",),
    "files": ("--files-with-matches", "--null"),
    "count": ("--count", "--null", "--with-filename"),
}


class Order(NamedTuple):
    """What is searched for. `names` are patterns for file names; `depth` 1 keeps to the folder itself."""

    mode: Literal["list", "content", "files", "count"]
    pattern: str = ""
    ignore_case: bool = False
    context: int = 0
    names: tuple[str, ...] = ()
    type: str = ""
    depth: int = 0
    newest: bool = False


def find_rg(workspace: Workspace) -> str | None:
    """Return where `rg` is; None if it is missing, or lies in a folder where a tool could have put it."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), os.path.dirname(sys.executable)]
    for folder in folders:
        path = os.path.join(folder, "rg")
        if folder.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            writable = {os.path.realpath(root.path) for root in workspace.roots if root.writable}
            if not is_inside(os.path.realpath(path), writable - {"/"}):  # in `/` there is no other place for programs
                return path
    return None


def search(place: Located, order: Order, workspace: Workspace, context: Context) -> Answer:
    """Search a folder or file; ToolError for a pattern that cannot work."""
    if is_pseudo_file(place.state):
        raise SpecialFileError(place.given)
    program = find_rg(workspace)
    if program is None:
        return _by_scan(place, order, context)
    below = place.below
    answer = run(_rg(program, place.root.descriptor, below, order), context)
    if answer.code == 2 and answer.complaints and not answer.output:
        raise _explained(answer.complaints, order)
    return answer._replace(top="./" if below == "." else f"./{below}/")


def _rg(program: str, root: int, below: str, order: Order) -> Command:
    arguments = [program, *_COMMON, *_MODES[order.mode]]
    if order.mode != "list":
        arguments += [f"--regexp={order.pattern}", "--ignore-case" if order.ignore_case else "--case-sensitive"]
        arguments += [f"--context={order.context}"] if order.context else []
        arguments += ["--crlf"] if "$" in order.pattern else []  # `$` is before CRLF, too, but that is slower
    arguments += [f"--max-depth={order.depth}"] if order.depth else []
    arguments += ["--sortr=modified"] if order.newest else []
    if order.type:
        arguments.append(f"--type={order.type}")
    else:  # unlike --glob, a type does not make ignored files count again
        arguments += [f"--type-add=wanted:{name}" for name in order.names]
        arguments += ["--type=wanted"] if order.names else []
    folder = real_path(root)
    for ours in user_folders():
        if is_inside(ours, [folder]):
            arguments.append(f"--glob=!{_escaped(ours.removeprefix(folder.rstrip('/')))}")
    arguments += ["--one-file-system"] if mounts_below(folder) else []  # it doubles the time of a listing
    # From the root, so that the ignore files above the place count; and nothing outside of it can be read.
    return Command([*arguments, "--", f"./{below}"], folder, (f"/proc/self/fd/{root}", program, *_LIBRARIES))


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?\[\]{}!])", r"\\\1", path)


def _by_scan(place: Located, order: Order, context: Context) -> Answer:
    if order.type:
        raise ToolError("type needs ripgrep (rg), which is not installed; use glob, such as '*.py'", "unavailable")
    try:
        re.compile(order.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise _explained(f"regex parse error: {error}", order) from error
    with closing(place.open_folder() if place.is_folder else place.open_file()) as start:
        program = [sys.executable, "-I", "-S", _scan.__file__, json.dumps(order._asdict()), str(start)]
        answer = run(Command(program, files=(start,)), context)
    if answer.code > 0:
        raise ToolError(f"the search failed: {answer.complaints.strip()[-200:]}", "execution_error")
    return answer


def _explained(complaints: str, order: Order) -> ToolError:
    text = complaints.partition("\n\nConsider")[0].strip()
    if "unrecognized file type" in text:
        return ToolError(f"unknown type {order.type!r}; use glob, such as '*.{order.type}'", "validation_error")
    if "regex" in text.lower() or "literal" in text:
        plain = re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", order.pattern[:200])
        return ToolError(f"invalid pattern: {text}\nTo search for plain text, pass {plain!r}", "validation_error")
    return ToolError(f"the search failed: {text}", "execution_error")
