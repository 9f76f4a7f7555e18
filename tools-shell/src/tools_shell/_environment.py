"""The environment of a command, an allow list without the host's secrets; and which of its variables are secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_core.text import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_SECRET = 8  # characters of a value; shorter ones occur by chance
_ADDRESSES = ("DSN", "URI", "URL")  # may contain a password
_FOLDERS = frozenset(("OLDPWD", "PWD"))
_ALLOWED = frozenset((
    "COLORTERM", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "HOME", "LANG",
    "LANGUAGE", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
    "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "LOGNAME", "PATH", "SHELL", "TEMP",
    "TERM", "TMP", "TMPDIR", "TZ", "USER",
))  # fmt: skip
# Variables that name folders of toolchains.
TOOLCHAINS = frozenset((
    *("ANDROID_HOME", "ASDF_DATA_DIR", "ASDF_DIR", "BUN_INSTALL", "CARGO_HOME", "DENO_INSTALL", "DOTNET_ROOT"),
    *("FNM_DIR", "GOMODCACHE", "GOROOT", "GRADLE_HOME", "HOMEBREW_PREFIX", "JAVA_HOME", "M2_HOME", "MAVEN_HOME"),
    *("MISE_DATA_DIR", "NVM_DIR", "PIPX_HOME", "PNPM_HOME", "PYENV_ROOT", "RUSTUP_HOME", "SDKMAN_DIR"),
    *("UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR", "VIRTUAL_ENV", "VOLTA_HOME"),
))  # fmt: skip

# Nobody can answer a prompt or leave an editor or pager. Git runs an editor as a shell command, with a file to edit.
_NO_EDITOR = "sh -c 'echo there is no editor to edit $1: write the file, or use an option >&2; exit 1' editor"
_HAS_MESSAGE = r'sed "/^# -* >8/q" "$1" | grep -qv "^#\|^$"'
_KEPT_MESSAGE = (
    f"""sh -c '{_HAS_MESSAGE} || {{ echo "there is no editor: pass the message with -m" >&2; exit 1; }}' editor"""
)
_UNATTENDED = {
    "EDITOR": _NO_EDITOR,
    "GIT_EDITOR": _KEPT_MESSAGE,  # `git rebase --continue` and `git revert` keep the message that git proposes
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": _NO_EDITOR,
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "PYTHONUNBUFFERED": "1",  # shows the output of a Python program before its end
    "VISUAL": _NO_EDITOR,
}


def clean_environment(host: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the host's variables for folders and locale, without credentials."""
    environment = {name: host[name] for name in (_ALLOWED | TOOLCHAINS).intersection(host)} | _UNATTENDED
    environment["PATH"] = _absolute(environment.get("PATH", "")) or os.defpath
    return environment


def _absolute(path: str) -> str:
    """Remove relative folders, in which a script could place programs."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))


def secret_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables with names of secrets; from URLs only the password.

    Values that occur in ordinary output are skipped: short ones, numbers, words and paths.
    """
    secrets: dict[str, str] = {}
    for name, value in environment.items():
        secret = value.strip()
        if name.upper().replace("-", "_").rpartition("_")[2] in _ADDRESSES:
            secret = _password(secret)
        elif name in _FOLDERS or not (is_secret_name(name) or name.strip("_0123456789").upper() == "KEY"):
            continue
        if _is_distinctive(secret):
            secrets[name] = secret
    return secrets


def _password(address: str) -> str:
    from urllib.parse import urlsplit  # 5 ms, and few environments have a URL

    try:
        return urlsplit(address).password or ""
    except ValueError:  # not a URL after all
        return ""


def _is_distinctive(value: str) -> bool:
    is_path = value.startswith(("/", "~/", "./", "../")) and "=" not in value
    is_word = value.isalpha() and (value.islower() or value.istitle()) and len(value) < 16
    return len(value) >= MIN_SECRET and len(set(value)) >= 4 and not (value.isdecimal() or is_path or is_word)
