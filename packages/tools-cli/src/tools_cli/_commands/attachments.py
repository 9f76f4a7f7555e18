"""Attachments of a prompt: files that it names as `@path`, pastes, pictures, and output of the user's commands."""

from __future__ import annotations

import codecs
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools_cli._commands.sessions import short
from tools_core import Audio, Context, File, Image
from tools_core.command import CommandError, counted

_MAX_FILE = 20_000_000  # bytes of a file that is sent with a prompt
_MAX_TEXT = 400_000  # characters of a text file, some 100,000 tokens
_MAX_LISTED = 500  # files of a folder
_MAX_SEARCHED = 10_000
_PATH = re.compile(r'(?<!\S)@(?:"([^"]+)"|(\S+))')
_MAX_LINES, _MAX_CHARACTERS = 8, 2_000  # of a paste that is inserted unchanged
_PICTURE = re.compile(r"(?i).+\.(png|jpe?g|gif|webp|pdf)")
_CLIPBOARDS = (  # programs that print the picture in the clipboard
    ("wl-paste", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)


class Attachments:
    """The attachments of the next prompts; `note` shows a remark to the user.

    Attributes:
        is_confined: True if the next prompt has text of the project or the model: it attaches nothing outside of the
            workspace.
    """

    def __init__(self, note: Callable[[str], object], paths: Sequence[str]) -> None:
        self.is_confined = False
        self._note = note
        self._paths = list(paths)  # of the option --file
        self._blocks: dict[str, File | Image] = {}  # pastes and pictures, by the label in the text of a prompt
        self._reports: list[File] = []

    def take(self, text: str, folder: str) -> list[File | Image | Audio]:
        """Return the attachments of a prompt, each once, and show which they are."""
        paths, self._paths = self._paths, []
        reports, self._reports = self._reports, []
        for match in _PATH.finditer(text):
            path = match[1] or match[2].rstrip(",;:.!?)") or match[2]  # `@.` and `@..` are folders
            place = _existing(path, folder)
            if place is None:
                if match[1] or re.search(r"[./]", path):  # @property is a word
                    self._note(f"{short(path)} does not exist: not attached")
            elif self.is_confined and not place.resolve().is_relative_to(Path(folder).resolve()):
                self._note(f"{path} is outside of the workspace, and you have not typed it: not attached")
            else:
                paths.append(path)
        self.is_confined = False
        files: list[File | Image | Audio] = []
        for path in dict.fromkeys(paths):
            try:
                files.append(read_file(path, folder))
            except CommandError as error:
                self._note(f"not attached: {error}; the model reads it with its tools")
        if files:
            self._note(f"attached {', '.join(str(file.name) for file in files)}")
        return [*reports, *files, *(block for label, block in self._blocks.items() if label in text)]

    def add_report(self, command: str, output: str, outcome: str) -> None:
        """Keep the output of a command of the user for the next prompt."""
        self._reports.append(text_block(f"$ {command}\n{output}\n[{outcome}]", "a command that the user ran"))

    def paste(self, text: str) -> str:
        """Return the text to insert for a paste: paths of pictures as `@path`, and a label for a long text."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if paths := _pictures(text):
            return " ".join(f'@"{path}"' if " " in path else f"@{path}" for path in paths) + " "
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= _MAX_LINES and len(text) <= _MAX_CHARACTERS:
            return text
        size = counted(lines, "line") if lines > 1 else f"{len(text):,} characters"
        return self._add(f"pasted {size}", lambda name: text_block(text, name))

    def paste_picture(self) -> str:
        """Return the label of the picture in the clipboard. Raises CommandError without one."""
        for command in _CLIPBOARDS:
            with suppress(OSError, subprocess.SubprocessError, ValueError):
                data = subprocess.run(command, check=True, capture_output=True, timeout=5).stdout
                return self._add("picture", lambda name, data=data: Image(data, name=name))  # type: ignore[misc]
        raise CommandError(
            "no picture in the clipboard, or no program that reads it: wl-paste, xclip or pngpaste",
            "a file works everywhere: @PATH, or drag it into the terminal; over SSH, copy it to this machine first",
        )

    def expand(self, text: str) -> str:
        """Return a text with pastes instead of their labels, for commands."""
        for label, block in self._blocks.items():
            if label in text and block.mime_type == "text/plain":
                text = text.replace(label, block.data.decode())
        return text

    def label_before(self, text: str) -> str:
        """Return the label at the end of a text; empty without one."""
        return next((label for label in self._blocks if text.endswith(label)), "")

    def _add(self, name: str, block: Callable[[str], File | Image]) -> str:
        number = sum(label.startswith(f"[{name}") for label in self._blocks)
        name += f" #{number + 1}" if number else ""
        self._blocks[f"[{name}]"] = block(name)
        return f"[{name}]"


def _pictures(text: str) -> list[str]:
    """Return the paths in the text of a terminal after files were dragged into it; empty for another text."""
    try:
        words = shlex.split(text.strip())
    except ValueError:
        return []
    paths = [unquote(urlsplit(word).path) if word.startswith("file://") else word for word in words]
    is_path = [Path(path).is_absolute() and _PICTURE.fullmatch(path) and _existing(path, "/") for path in paths]
    return paths if paths and all(is_path) else []


def _existing(path: str, folder: str) -> Path | None:
    """Return the file or folder that a text names; None for another text, such as CSS after `@`."""
    with suppress(OSError, RuntimeError):  # the name is too long, or there is no such user as in `~user`
        place = Path(folder, Path(path).expanduser())
        return place if place.exists() else None
    return None


def read_file(path: str, folder: str = ".") -> File | Image | Audio:
    """Return a file as an attachment, or the list of the files in a folder, with its path as the name.

    Raises CommandError for a file that is missing, too large, or neither text, a picture, sound nor PDF.
    """
    place = _existing(path, folder)
    if place is None:
        raise CommandError(f"{short(path)}: No such file or directory")
    if place.is_dir():
        return text_block(_listing(place), f"{path.rstrip('/')}/")
    try:
        if place.stat().st_size > _MAX_FILE:
            raise CommandError(f"{path} is larger than {_MAX_FILE // 1_000_000} MB")
        block = File.from_path(place)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    kinds: dict[str, type[File | Image | Audio]] = {"image": Image, "audio": Audio}
    kind = kinds.get(block.mime_type.partition("/")[0], File)
    if kind is not File or block.mime_type == "application/pdf":
        return kind(block.data, block.mime_type, name=path)
    try:
        text = decoded(block.data, is_text=block.mime_type.startswith("text/"))
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: {block.mime_type} is neither text, a picture, audio nor PDF") from error
    if "\0" in text:
        raise CommandError(f"{path} is binary")
    if len(text) > _MAX_TEXT:
        raise CommandError(f"{path} has {len(text):,} characters", "name it in the prompt: the model reads parts")
    return text_block(text, path)


def decoded(data: bytes, *, is_text: bool = True) -> str:
    """Return text in UTF-8 or UTF-16; raises UnicodeDecodeError for other bytes unless they are text."""
    has_mark = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if has_mark else "utf-8-sig")
    except UnicodeDecodeError:
        if not is_text:
            raise
        return data.decode("cp1252", "replace")  # the same guess as that of the tool read_file


def text_block(text: str, name: str) -> File:
    """Return text as an attachment."""
    return File(text.encode("utf-8", "replace"), "text/plain", name=name)


def list_files(folder: str | Path, pattern: str = "**", limit: int = _MAX_SEARCHED) -> tuple[Sequence[str], int]:
    """Return the files of a folder that ignore files do not exclude, at most `limit`, and the number of all."""
    from tools_filesystem import Glob

    result = Glob().call({"pattern": pattern, "limit": limit}, Context(workspace=str(folder)))
    metadata = result.metadata or {}
    return str(result).split("\n")[: metadata.get("count", 0)], metadata.get("total", 0)


def _listing(folder: Path) -> str:
    paths, total = list_files(folder, limit=_MAX_LISTED)
    rest = [f"... and {counted(total - len(paths), 'file')} more"] if total > len(paths) else []
    return "\n".join([*paths, *rest]) or "(no files, apart from ignored ones)"
