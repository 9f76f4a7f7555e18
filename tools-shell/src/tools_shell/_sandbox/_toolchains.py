"""The folders of the user's programs: toolchains and environments, without secrets."""

from __future__ import annotations

import functools
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core.files import is_inside
from tools_shell._environment import TOOLCHAINS
from tools_shell._sandbox._packages import package_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Folders of version managers, package managers and compilers in the home.
_IN_HOME = """
.asdf .bun .cargo .deno .fnm .ghcup .goenv .jabba .jenv .juliaup .julia/juliaup .linuxbrew .nodenv .nvm .pyenv .rbenv
.rustup .rvm .sdkman .volta .conda/envs anaconda3 mambaforge micromamba miniconda3 miniforge3 go/pkg/mod sdk
.gradle/wrapper .m2/repository .m2/wrapper .local/lib .local/pipx .local/share/fnm .local/share/mise .local/share/pipx
.local/share/pnpm .local/share/rtx .local/share/uv/python .local/share/uv/tools
"""
# Files in the home with the versions that their programs run.
_VERSIONS = """
.asdfrc .config/mise/config.toml .java-version .node-version .nvmrc .python-version .ruby-version .tool-versions
"""
_OF_PROGRAMS = ("bin", "sbin", "shims", "condabin")
_OF_LIBRARIES = ("include", "lib", "lib64", "libexec", "node_modules", "pkgs", "share", "site-packages", "src")
_SHARED = (".local", ".config", ".cache", ".local/share", ".local/state", "Library")  # hold more than programs
_SECRET_FOLDERS = (".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh", ".config/gcloud")
# Files with tokens and passwords in folders of toolchains.
_SECRETS = frozenset((
    *(".condarc", ".git-credentials", ".netrc", ".npmrc", ".pypirc", ".yarnrc.yml", "_netrc", "auth.json"),
    *("auth.toml", "condarc", "credentials", "credentials.json", "credentials.toml", "gradle.properties", "npmrc"),
    *("pip.conf", "settings-security.xml", "settings.xml"),
))  # fmt: skip
# Files that have some at times, also below an environment.
_MAYBE_SECRET = frozenset(("config", "config.toml"))
_TOKEN = re.compile(rb"(?i)token|password|secret|api_?key|://[^/\s:@]*:[^/\s@]+@")
_DEEP = ("etc/npmrc", "pip.conf", "etc/conda/activate.d/env_vars.sh", "conda-meta/state", ".git/config")
_DEPTH = 5  # of such files, as in .nvm/versions/node/v22/etc
# What programs keep beside their `bin`, in folders that no version manager has made.
_OF_PROGRAM = re.compile(
    r"(?i)\.env(\..+)?|(config|settings|state|hosts|accounts?)\.(json|ya?ml|toml|ini)|.+\.(key|pem|p12|pfx)"
    r"|(.*[._-])?(access[._-]?token|tokens?|credentials?|secrets?|passwords?|keystores?)(\.(json|ya?ml|toml|txt|env|enc))?"
)
_MAX_ENTRIES = 2000  # of a folder of programs
_MAX_HOPS = 40
_MAX_READ = 1 << 20


def toolchains(writable: Sequence[str], system: Sequence[str]) -> Iterator[str]:
    """Yield the folders and files that the user's programs need and that commands cannot replace.

    `writable` are folders of commands, `system` folders are readable anyway. The user's home is never one of them.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    chosen = [*_of_path(writable, system, home), *(f"{home}/{name}" for name in (_IN_HOME + _VERSIONS).split())]
    chosen += [os.environ[name] for name in TOOLCHAINS if os.path.isabs(os.environ.get(name, ""))]
    chosen += [root for place in chosen for root in _environment(place, home)]
    safe = [place for place in dict.fromkeys(chosen) if not passes_through(place, writable)]
    safe += [folder for place in safe for folder in package_folders(place) if not passes_through(folder, writable)]
    safe = [each for place in safe for each in dict.fromkeys((place, os.path.realpath(place)))]
    shown = [each for each in safe if os.path.exists(each) and not _is_private(each, home)]
    shown += [link for link in _links(shown) if is_inside(os.path.realpath(link), shown)]
    for place in dict.fromkeys(shown):
        if not is_inside(place, (*writable, *system)):
            yield from _without_secrets(place, home)


def _of_path(writable: Sequence[str], system: Sequence[str], home: str) -> Iterator[str]:
    """Yield the folders of this Python and of PATH, their toolchains, and the targets of their links."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in [sys.prefix, sys.exec_prefix, sys.base_prefix, *filter(os.path.isabs, path)]:
        if passes_through(os.path.normpath(folder), writable):
            continue
        for place in dict.fromkeys((os.path.normpath(folder), os.path.realpath(folder))):
            if not is_inside(place, system):
                yield from (place, *_root_of(place, home), *_targets(place, home))


def _links(folders: Sequence[str]) -> Iterator[str]:
    """Yield the links on the way to the targets of links in folders of programs."""
    for folder in folders:
        if os.path.basename(folder) in _OF_PROGRAMS:
            for name in _names(folder):
                if os.path.islink(f"{folder}/{name}"):
                    yield from _hops(f"{folder}/{name}")


def _hops(link: str) -> Iterator[str]:
    """Yield the links that a link leads through, itself included."""
    here, parts = "", link.split("/")
    for _ in range(_MAX_HOPS):
        while parts:
            part = parts.pop(0)
            here = os.path.dirname(here) if part == ".." else f"{here}/{part}" if part not in ("", ".") else here
            if os.path.islink(here):
                break
        else:
            return
        yield here
        target = os.readlink(here)
        here, parts = "" if target.startswith("/") else os.path.dirname(here), [*target.split("/"), *parts]


def passes_through(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path passes through one of the folders: commands that can write there control where it leads."""
    parts = path.split("/")
    return any(is_inside(os.path.realpath("/".join(parts[:end]) or "/"), folders) for end in range(1, len(parts) + 1))


def root_of_program(program: str) -> str:
    """Return the folder above the nearest `bin` of a program, or else the program itself."""
    home = os.path.realpath(os.path.expanduser("~"))
    folder = os.path.dirname(program)
    while folder != os.path.dirname(folder):
        if os.path.basename(folder) in _OF_PROGRAMS:
            return next(iter(_root_of(folder, home)), program)
        folder = os.path.dirname(folder)
    return program


def _root_of(folder: str, home: str) -> Iterator[str]:
    root = os.path.dirname(folder)
    if os.path.basename(folder) in _OF_PROGRAMS and not _is_private(root, home):
        yield root


def _is_private(path: str, home: str) -> bool:
    """Return whether a path contains the home or what other programs keep in it, or is in a folder of secrets."""
    shared = (home, *(f"{home}/{name}" for name in _SHARED))
    secret = [f"{home}/{name}" for name in _SECRET_FOLDERS]
    return path == "/" or any(is_inside(each, [path]) for each in shared) or is_inside(path, secret)


def _targets(folder: str, home: str) -> Iterator[str]:
    """Yield what the links in a folder of programs need."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False):
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                if os.path.isfile(target) and not is_inside(target, [folder]):
                    root = root_of_program(target)
                    yield target if _is_private(root, home) else root


def _environment(place: str, home: str) -> Iterator[str]:
    """Yield the installation behind a virtual environment, and those behind the environments in a folder of them."""
    environments = [place, *(f"{place}/{name}" for name in _names(place))]
    for environment in environments:
        python = f"{environment}/bin/python"
        if os.path.exists(f"{environment}/pyvenv.cfg") and os.path.exists(python):
            root = root_of_program(os.path.realpath(python))
            if not _is_private(root, home):
                yield root


def _names(folder: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)[:_MAX_ENTRIES]
    return []


def _without_secrets(path: str, home: str) -> Iterator[str]:
    """Yield a path, or the entries of a folder that contains secrets, without these."""
    secrets = _secrets_in(path, home)
    waiting = [path]
    while waiting:
        place = waiting.pop()
        if not any(is_inside(secret, [place]) for secret in secrets):
            yield place
        elif place not in secrets:
            waiting += [f"{place}/{name}" for name in _names(place)]


@functools.lru_cache(1024)
def _secrets_in(path: str, home: str) -> frozenset[str]:
    """Return the paths of files with secrets near the top of a folder, or the path itself."""
    if not os.path.isdir(path):
        return frozenset([path] if _is_secret(path) else [])
    near = [name for name in _names(path) if os.path.isdir(f"{path}/{name}")]
    folders = [path, *(f"{path}/{name}" for name in near)]
    found = [f"{folder}/{name}" for folder in folders for name in _names(folder)]
    found += [file for folder in _folders_below(path) for name in _DEEP if os.path.lexists(file := f"{folder}/{name}")]
    secret = {each for each in found if not os.path.isdir(each) and _is_secret(each)}
    known = [f"{home}/{name}" for name in _IN_HOME.split()]
    if is_inside(path, [home]) and not is_inside(path, known) and os.path.basename(path) not in _OF_PROGRAMS:
        own = [folder for folder in folders if os.path.basename(folder) not in _OF_LIBRARIES]
        secret |= {f"{folder}/{name}" for folder in own for name in _names(folder) if _OF_PROGRAM.fullmatch(name)}
    return frozenset(secret)


def _folders_below(path: str) -> Iterator[str]:
    """Yield a folder and those in it that may be environments, level by level."""
    level = [path]
    for _ in range(_DEPTH):
        yield from level
        level = [each for folder in level for each in _subfolders(folder)]


def _subfolders(folder: str) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [
            entry.path
            for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)
            if entry.is_dir(follow_symlinks=False) and entry.name not in _OF_LIBRARIES
        ]
    return []


def _is_secret(path: str) -> bool:
    name = os.path.basename(path)
    if name in _MAYBE_SECRET:
        with suppress(OSError), open(path, "rb") as file:
            return bool(_TOKEN.search(file.read(_MAX_READ)))
    return name in _SECRETS or path.endswith(_DEEP)
