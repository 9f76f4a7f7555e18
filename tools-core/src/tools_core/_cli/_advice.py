"""Commands that install, upgrade or remove a package, as this copy of ask-tools was installed."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from shlex import quote

import tools_core


def install(package: str) -> str:
    """Return the command that installs a package beside ask-tools."""
    return _commands(package)[0]


def reinstall(package: str) -> str:
    """Return the commands for a package that is broken: one that upgrades it, and one that removes it."""
    return _commands(package)[1]


def _commands(package: str) -> tuple[str, str]:
    name = os.path.basename(sys.prefix)  # of the tool, where uv or pipx has installed it
    receipt = os.path.join(sys.prefix, "uv-receipt.toml")
    if archive := _archive():
        return f"build {archive} again with {package}", f"build {archive} again with a newer {package}, or without it"
    if os.path.exists(receipt):
        with open(receipt, "rb") as file:
            required = [each["name"] for each in tomllib.load(file)["tool"]["requirements"]]
        # Packages added with `--with` have to be named again.
        tool = " --with ".join([f"uv tool install {name}", *(each for each in required if each not in (name, package))])
        return f"{tool} --with {package}", f"uv tool upgrade {name}, or {tool}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        upgrade = f"pipx upgrade --include-injected {name}"
        return f"pipx inject {name} {package}", f"{upgrade}, or pipx uninject {name} {package}"
    pip, option = _pip()
    upgrade = f"{pip} install {option}{_folder(package) or f'-U {package}'}"
    return f"{pip} install {option}{package}", f"{upgrade}, or {pip} uninstall {option}{package}"


def _folder(package: str) -> str:
    """Return the argument that installs a package from the folder that it came from; empty for other packages."""
    try:
        source = json.loads(distribution(package).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return ""
    if "dir_info" not in source:
        return ""
    from urllib.parse import urlsplit  # rare; urllib.request brings sockets
    from urllib.request import url2pathname

    folder = quote(url2pathname(urlsplit(source["url"]).path))
    return f"--editable {folder}" if source["dir_info"].get("editable") else folder


def _archive() -> str:
    """Return the zip archive that contains ask-tools; empty if it was installed as files."""
    path = os.path.dirname(tools_core.__file__)
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path if os.path.isfile(path) else ""


def _pip() -> tuple[str, str]:
    """Return `pip` for the environment of this interpreter, and an option that names the environment."""
    is_active = sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV"))
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            is_made_by_uv = any(line.startswith("uv =") for line in file)  # it contains no pip
    except OSError:  # not a virtual environment
        is_made_by_uv = False
    if is_made_by_uv:
        return "uv pip", "" if is_active else f"--python {sys.executable} "
    return "pip" if is_active else f"{sys.executable} -m pip", ""
