"""Read git configuration as git does, and find the keys that make git run programs or read other files."""

from __future__ import annotations

import os
import re
import stat
from typing import TypeAlias

Setting: TypeAlias = tuple[str, str | None]  # key and value; None for a key without `=`, which means true

MAX_SIZE = 1 << 20  # bytes of a configuration file
_TIMEOUT = 10.0  # seconds for git to parse a file
_BOOLEANS = frozenset((None, "", "0", "1", "true", "false", "yes", "no", "on", "off"))
# Sections whose keys name programs, servers, credentials or files.
_SECTIONS = frozenset((
    *("annex", "browser", "bundle", "credential", "filter", "gpg", "guitool", "http", "imap", "include", "includeif"),
    *("instaweb", "lfs", "pager", "protocol", "sendemail", "tar", "trace2", "trailer", "url", "web"),
))  # fmt: skip
_HARMLESS_SECTIONS = frozenset(("advice", "color", "column", "fsck"))
_HARMLESS = frozenset(("gpg.format", "http.postbuffer", "http.version", "protocol.version", "tar.umask"))
_KEYS = frozenset(("init.templatedir", "rebase.instructionformat", "safe.directory"))
# The settings in [core] that run nothing.
_CORE = frozenset((
    *("abbrev", "autocrlf", "bare", "bigfilethreshold", "checkstat", "commentchar", "commitgraph", "compression"),
    *("deltabasecachelimit", "eol", "excludesfile", "filemode", "fsmonitorhookversion", "fsync", "fsyncmethod"),
    *("hidedotfiles", "ignorecase", "ignorestat", "logallrefupdates", "loosecompression", "multipackindex", "notesref"),
    *("packedgitlimit", "packedgitwindowsize", "precomposeunicode", "prefersymlinkrefs", "preloadindex", "protecthfs"),
    *("protectntfs", "quotepath", "repositoryformatversion", "safecrlf", "sharedrepository", "sparsecheckout"),
    *("sparsecheckoutcone", "splitindex", "symlinks", "trustctime", "untrackedcache", "usereplacerefs"),
    *("warnambiguousrefs", "whitespace"),
))  # fmt: skip
# The ends of the last part of such keys, in any section.
_ENDINGS = (
    *("askpass", "browser", "cmd", "command", "difffilter", "driver", "editor", "external", "helper", "hook", "hooks"),
    *("hookspath", "pager", "path", "process", "program", "proxy", "receivepack", "textconv", "uploadpack", "vcs"),
)  # fmt: skip
_FILES = ("file", "template", "skiplist")  # ends of keys that name files to read
_OUTSIDE = re.compile(r"[/~]|.*\.\.", re.DOTALL)
_TRANSPORT = re.compile(r"[^/]*::")  # a URL for a helper program, such as ext::COMMAND
# Aliases that run a program, by themselves or through an option of a git command.
_ALIAS = re.compile(
    r"\s*[-!]"
    r"|.*\b(?:bisect|config|difftool|exec|ext-diff|filter-branch|foreach|mergetool|pager|(?:receive|upload)-pack)\b"
    r"|.* -[xO]",
    re.DOTALL,
)


def read_settings(data: bytes, git: str) -> list[Setting] | None:
    """Return the settings in the content of a configuration file; None if git does not accept it."""
    import subprocess  # rare: only after a change

    arguments = [git, "config", "--file", "-", "--no-includes", "--null", "--list"]
    environment = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_DIR": os.devnull, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            arguments, input=data, capture_output=True, check=False, cwd="/", env=environment, timeout=_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_list(done.stdout) if done.returncode == 0 else None


def parse_list(output: bytes) -> list[Setting]:
    """Parse the output of `git config --null --list`."""
    items = output.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [(key, value if separator else None) for key, separator, value in (item.partition("\n") for item in items)]


def format_settings(settings: list[Setting]) -> str:
    """Return the text of a configuration file."""
    lines, previous = [], ""
    for key, value in settings:
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        header = f'[{section} "{_escaped(subsection)}"]' if subsection else f"[{section}]"
        lines += [header] if header != previous else []
        lines.append(f"\t{name}" if value is None else f'\t{name} = "{_escaped(value)}"')
        previous = header
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def is_unsafe(setting: Setting) -> bool:
    """Return whether a setting makes git run a program, read another file, or use another server or repository."""
    key, value = setting
    section, _, rest = key.partition(".")
    name, text = rest.rpartition(".")[2], value or ""
    if key in _HARMLESS or section in _HARMLESS_SECTIONS:
        return False
    if section == "core":
        is_builtin = name == "fsmonitor" and (value is None or text.lower() in _BOOLEANS)
        is_outside = name == "excludesfile" and _OUTSIDE.match(text) is not None
        return (name not in _CORE or is_outside) and not is_builtin
    if section == "alias":
        return _ALIAS.match(text) is not None
    if section == "submodule" and name == "update":
        return text.lstrip().startswith("!")
    return (
        not rest
        or section in _SECTIONS
        or key in _KEYS
        or name.endswith(_ENDINGS)
        or (name.endswith(_FILES) and _OUTSIDE.match(text) is not None)
        or (section in {"branch", "remote", "submodule"} and _TRANSPORT.match(text) is not None)
    )


def read_config(folder: int, name: str) -> tuple[bytes, int] | None:
    """Return the content and the inode of a file in an open folder, or None if it does not exist.

    Raises:
        ValueError: It is a link, not a regular file, or too large.
    """
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{name} is not a regular file")
        data = os.read(descriptor, MAX_SIZE + 1)  # complete, since it is a regular file
    finally:
        os.close(descriptor)
    if len(data) > MAX_SIZE:
        raise ValueError(f"{name} is too large")
    return data, status.st_ino


def replace_config(folder: int, name: str, data: bytes | None) -> None:
    """Replace a file in an open folder, or remove it if `data` is None; a folder of that name is moved away."""
    suffix = os.urandom(4).hex()
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | 0o644
    if stat.S_ISDIR(mode):
        os.rename(name, f"{name}.{suffix}.removed", src_dir_fd=folder, dst_dir_fd=folder)
    if data is None:
        if not stat.S_ISDIR(mode):
            os.unlink(name, dir_fd=folder)
        return
    temporary = f"{name}.{suffix}.lock"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with open(descriptor, "wb") as file:
        file.write(data)
        os.fchmod(descriptor, stat.S_IMODE(mode) if stat.S_ISREG(mode) else 0o644)
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
