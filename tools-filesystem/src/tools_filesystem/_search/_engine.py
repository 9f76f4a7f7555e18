"""One interface to the two search programs: `rg` if it is installed, else the scan in Python."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from tools_core import ToolError
from tools_core.files import is_inside, real_path, user_folders
from tools_filesystem._paths._mounts import is_pseudo_file, mounts_below
from tools_filesystem._paths._resolve import SpecialFileError, closing
from tools_filesystem._search import _scan
from tools_filesystem._search._process import Command, SearchOutput, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Context
    from tools_filesystem._paths._located import Located
    from tools_filesystem._search._path_pattern import PathPattern
    from tools_filesystem._workspace import Workspace

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store")
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_MAX_PLAIN = 400  # characters of a suggested pattern
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.", re.DOTALL)
# Escapes and `.*` show that a regular expression is meant; without the other signs, it finds all that plain text does.
_EXPRESSION = re.compile(r"\\|\.[*+?]")
_SIGN = re.compile(r"[*+?()|\[\]{}^$]")
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


class PatternError(ToolError):
    """The pattern is not a regular expression; `others` are patterns that may be meant, with notes."""

    def __init__(self, message: str, others: dict[str, str]) -> None:
        super().__init__(message, "validation_error")
        self.others = others


class SearchRequest(NamedTuple):
    """A search. `paths` restricts the files, `skipped` excludes some, and without `deep` no subfolder is searched.

    `ignored` includes the files that ignore files exclude. `files` are the only ones that are searched, in `encoding`.
    """

    mode: Literal["list", "content", "files", "count"]
    pattern: str = ""
    ignore_case: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    paths: PathPattern | None = None
    skipped: PathPattern | None = None
    type: str = ""
    deep: bool = True
    newest: bool = False
    ignored: bool = False
    files: Sequence[str] = ()
    encoding: str = ""

    def allows(self, path: str) -> bool:
        """Return whether a file is part of the search."""
        if self.skipped is not None and self.skipped.matches_any_of(path):
            return False
        return self.paths is None or self.paths.matches(path)


def over_line_ends(pattern: str) -> str:
    r"""Return a pattern whose `\n` matches CRLF, too."""
    return _TOKEN.sub(lambda token: r"(?:\r?\n)" if token[0] in ("\\n", "\n") else token[0], pattern)


def has_line_ends(pattern: str) -> bool:
    r"""Return whether a pattern has `\n`, also in brackets that do not exclude it."""
    tokens = _TOKEN.findall(pattern)
    return any(("\\n" in token or "\n" in token) and not token.startswith("[^") for token in tokens)


def other_readings(pattern: str) -> dict[str, str]:
    r"""Return what a pattern without matches may mean, with notes.

    `grep` without options understands `\|` as "or", code such as `a[0]` is a valid pattern with another meaning, and
    files may have characters in another normal form.
    """
    forms = (unicodedata.normalize(form, pattern) for form in ("NFC", "NFD"))
    others = {form: "the characters are composed otherwise in the files" for form in forms if form != pattern}
    if r"\|" in pattern:
        swapped = {char: f"\\{char}" for char in "|(){}+?"}
        swapped |= {escaped: char for char, escaped in swapped.items()}
        basic = _TOKEN.sub(lambda token: swapped.get(token[0], token[0]), pattern)
        others[basic] = rf"'\|' is a plain '|' here, so it was searched as {basic}"
    if _SIGN.search(pattern) and not _EXPRESSION.search(pattern):
        others[_plain(pattern)] = "as a regular expression it matches nothing, so it was searched as plain text"
    return others


def _plain(text: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def find_rg(workspace: Workspace) -> str | None:
    """Return the path of `rg`; None if it is missing, or lies in a folder where a tool could have put it."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), os.path.dirname(sys.executable)]
    for folder in folders:
        path = os.path.join(folder, "rg")
        if folder.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            writable = {os.path.realpath(root.path) for root in workspace.roots if root.writable}
            if not is_inside(os.path.realpath(path), writable - {"/"}):  # in `/` there is no other place for programs
                return path
    return None


def search(place: Located, request: SearchRequest, workspace: Workspace, context: Context) -> SearchOutput:
    """Search a folder or file; ToolError for a pattern that cannot work."""
    if is_pseudo_file(place.state):
        raise SpecialFileError(place.argument)
    program = find_rg(workspace)
    if program is None and request.type:
        raise ToolError("type needs ripgrep (rg), which is not installed; use glob, such as '*.py'", "unavailable")
    if program is None and request.multiline:
        raise ToolError(
            "multiline needs ripgrep (rg), which is not installed; search for one of the lines", "unavailable"
        )
    if program is None:
        with closing(place.open_folder() if place.is_folder else place.open_file()) as start:
            output = run(_plain_scan(start, request), context)
    else:
        output = run(_ripgrep(program, place, request), context)
        output = output._replace(top=_top(place))
    failed = output.code == 2 if program else output.code > 0
    if failed and output.complaints and not output.output:
        raise _explained(output.complaints, request)
    return output


def _top(place: Located) -> str:
    return "./" if place.below == "." else f"./{place.below}/"


def _ripgrep(program: str, place: Located, request: SearchRequest) -> Command:
    arguments = [program, *_COMMON, *_MODES[request.mode]]
    if request.mode != "list":
        pattern = over_line_ends(request.pattern) if request.multiline else request.pattern
        arguments += [f"--regexp={pattern}", "--ignore-case" if request.ignore_case else "--case-sensitive"]
        arguments += [f"--before-context={request.before}"] if request.before else []
        arguments += [f"--after-context={request.after}"] if request.after else []
        arguments += ["--multiline"] if request.multiline else []
        arguments += ["--crlf"] if "$" in request.pattern else []  # `$` is before CRLF, too, but that is slower
        arguments += [f"--encoding={request.encoding}"] if request.encoding else []
    arguments += [] if request.deep else ["--max-depth=1"]
    arguments += ["--no-ignore"] if request.ignored else []
    arguments += ["--sortr=modified"] if request.newest else []
    arguments += [f"--type={request.type}"] if request.type else []
    names = request.paths.last_names if request.paths and request.mode == "list" else []
    if names and not any(name.strip("*") == "" or ":" in name for name in names):  # faster than an ignore file
        arguments += [*(f"--type-add=matching:{name}" for name in names), "--type=matching"]
    root, below = place.root.descriptor, place.below
    folder = real_path(root)
    arguments += ["--one-file-system"] if mounts_below(folder) else []  # it doubles the time of a listing
    ours = [path.removeprefix(folder.rstrip("/")) for path in user_folders() if is_inside(path, [folder])]
    arguments += [f"--glob=!{_literal(path)}" for path in ours]
    lines = []
    if place.is_folder and request.mode != "list" and not request.files:
        lines = _ignore_lines(request, "" if below == "." else f"/{_literal(below)}")
    arguments += ["--ignore-file=/dev/stdin"] if lines else []
    # From the root, so that the ignore files above the place count.
    files = [f"{_top(place)}{path}" if path else f"./{below}" for path in request.files]
    return Command(
        [*arguments, "--", *(files or [f"./{below}"])],
        folder,
        (f"/proc/self/fd/{root}", program, *_LIBRARIES, *_ignore_files_above(folder)),
        stdin="\n".join(lines).encode("utf-8", "surrogateescape"),
    )


def _ignore_lines(request: SearchRequest, start: str) -> list[str]:
    """Return the lines of an ignore file, so that files that are not part of the search use up no limit.

    Unlike `--glob`, it does not include files that other ignore files exclude.
    """
    lines = ["*", "!*/", *(f"!{start}{line}" for line in request.paths.ignore_file)] if request.paths else []
    if request.skipped and request.skipped.is_exact:
        lines += [start + line for line in request.skipped.ignore_file]
    return lines


def _ignore_files_above(folder: str) -> list[str]:
    """Return the ignore files of the git repository that contains a folder, in the folders above it."""
    above: list[str] = []
    while not os.path.lexists(f"{folder}/.git"):
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        folder = parent
        above += [path for name in _IGNORE_FILES if os.path.isfile(path := os.path.join(folder, name))]
    return above


def _plain_scan(start: int, request: SearchRequest) -> Command:
    allowed, skipped = (pattern.regex if pattern else "" for pattern in (request.paths, request.skipped))
    ours = [list(state) for path in user_folders() if (state := _identity(path))]
    order = request._replace(paths=None, skipped=None)._asdict()
    order |= {"allowed": allowed, "skipped": skipped, "hidden_folders": ours}
    program = [sys.executable, "-I", "-S", "-Werror::FutureWarning", _scan.__file__, json.dumps(order), str(start)]
    return Command(program, files=(start,))


def _identity(path: str) -> tuple[int, int] | None:
    with suppress(OSError):
        state = os.stat(path)
        return state.st_dev, state.st_ino
    return None


def _literal(path: str) -> str:
    return re.sub(r"([\\*?\[\]{}!#])", r"\\\1", path)


def _explained(complaints: str, request: SearchRequest) -> ToolError:
    text = complaints.partition("\n\nConsider")[0].strip()
    if "unrecognized file type" in text:
        return ToolError(f"unknown type {request.type!r}; use glob, such as '*.{request.type}'", "validation_error")
    if "needs ripgrep" in text:
        return ToolError(text, "unavailable")
    if "regex" in text.lower() or "literal" in text:
        plain = _plain(request.pattern)
        others = {plain: "the pattern is not a valid regular expression, so it was searched as plain text"}
        suggestion = plain if len(plain) <= _MAX_PLAIN else "the text with a backslash before each of \\.+*?()|[]{}^$"
        hint = f"To search for plain text, pass this pattern: {suggestion}"
        if "\\\\" in request.pattern and len(plain) <= _MAX_PLAIN:
            single = request.pattern.replace("\\\\", "\\")
            others[single] = "the pattern has each backslash twice, so it was searched with one"
            hint = f"With each backslash once, pass this pattern: {single}"
        return PatternError(f"invalid pattern: {text}\n{hint}", others)
    return ToolError(f"the search failed: {text[-300:]}", "execution_error")
