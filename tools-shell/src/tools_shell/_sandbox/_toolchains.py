"""The folders of the user's programs: toolchains and environments, without secrets."""

from __future__ import annotations

import functools
import glob
import os
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
_OF_PROGRAMS = ("bin", "sbin", "shims")
_SHARED = (".local", ".config", ".cache", ".local/share", ".local/state", "Library")  # hold more than programs
_SECRET_FOLDERS = (".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh", ".config/gcloud")
# Files with tokens and passwords in folders of toolchains.
_SECRETS = frozenset((
    *(".git-credentials", ".netrc", ".npmrc", ".pypirc", ".yarnrc.yml", "_netrc", "auth.json", "auth.toml"),
    *("credentials", "credentials.json", "credentials.toml", "gradle.properties", "npmrc", "pip.conf"),
    *("settings-security.xml", "settings.xml"),
))  # fmt: skip
_DEPTH = 5  # of the folders `etc` of Node, such as .nvm/versions/node/v22/etc
_MAX_ENTRIES = 2000  # of a folder of programs


def toolchains(writable: Sequence[str], system: Sequence[str]) -> Iterator[str]:
    """Yield the folders and files that the user's programs need and that commands cannot replace.

    `writable` are folders of commands, `system` folders are readable anyway. The user's home is never one of them.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    chosen = [*_of_path(writable, system, home), *(f"{home}/{name}" for name in _IN_HOME.split())]
    chosen += [os.environ[name] for name in TOOLCHAINS if os.path.isabs(os.environ.get(name, ""))]
    chosen += [root for place in chosen for root in _environment(place, home)]
    safe = [place for place in dict.fromkeys(chosen) if not passes_through(place, writable)]
    safe += [folder for place in safe for folder in package_folders(place) if not passes_through(folder, writable)]
    for place in safe:
        for each in dict.fromkeys((place, os.path.realpath(place))):
            if os.path.exists(each) and not _is_private(each, home) and not is_inside(each, (*writable, *system)):
                yield from _without_secrets(each)


def _of_path(writable: Sequence[str], system: Sequence[str], home: str) -> Iterator[str]:
    """Yield the folders of this Python and of PATH, their toolchains, and the targets of their links."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in [sys.prefix, sys.exec_prefix, sys.base_prefix, *filter(os.path.isabs, path)]:
        if passes_through(os.path.normpath(folder), writable):
            continue
        for place in dict.fromkeys((os.path.normpath(folder), os.path.realpath(folder))):
            if not is_inside(place, system):
                yield from (place, *_root_of(place, home), *_targets(place, home))


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


def _without_secrets(path: str) -> Iterator[str]:
    """Yield a path, or the entries of a folder that contains secrets, without these."""
    secrets = _secrets_in(path)
    waiting = [path]
    while waiting:
        place = waiting.pop()
        if not any(is_inside(secret, [place]) for secret in secrets):
            yield place
        elif place not in secrets:
            waiting += [f"{place}/{name}" for name in _names(place)]


@functools.lru_cache(1024)
def _secrets_in(path: str) -> frozenset[str]:
    """Return the paths of files with secrets near the top of a folder, or the path itself."""
    if not os.path.isdir(path):
        return frozenset([path] if os.path.basename(path) in _SECRETS else [])
    near = [name for name in _names(path) if os.path.isdir(f"{path}/{name}")]
    folders = [path, *(f"{path}/{name}" for name in near)]
    found = [f"{folder}/{name}" for folder in folders for name in _names(folder) if name in _SECRETS]
    found += [each for depth in range(_DEPTH) for each in glob.glob(f"{glob.escape(path)}/{'*/' * depth}etc/npmrc")]
    return frozenset(each for each in found if not os.path.isdir(each))
