"""Commands that install, upgrade or remove a package, as this copy of ask-tools was installed."""

from __future__ import annotations

import os
import sys

import tools_core


def install(package: str) -> str:
    """Return the command that installs a package beside ask-tools."""
    name = os.path.basename(sys.prefix)
    if archive := _archive():
        return f"build {archive} again with {package}"
    if _is_uv_tool():
        return _uv_tool([*_uv_packages(), package])
    if _is_pipx():
        return f"pipx inject {name} {package}"
    return f"{_pip('install')} {package}"


def reinstall(package: str) -> str:
    """Return the commands for a package that is broken: one that upgrades it, and one that removes it."""
    name = os.path.basename(sys.prefix)
    if archive := _archive():
        return f"build {archive} again with a newer {package}, or without it"
    if _is_uv_tool():
        rest = [each for each in _uv_packages() if each != package]
        return f"uv tool upgrade {name}, or {_uv_tool(rest)}"
    if _is_pipx():
        return f"pipx upgrade --include-injected {name}, or pipx uninject {name} {package}"
    return f"{_pip('install')} -U {package}, or {_pip('uninstall')} {package}"


def _archive() -> str:
    """Return the zip archive that contains ask-tools; empty if it was installed as files."""
    path = os.path.dirname(tools_core.__file__)
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path if os.path.isfile(path) else ""


def _is_uv_tool() -> bool:
    return os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml"))


def _is_pipx() -> bool:
    return os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json"))


def _uv_packages() -> list[str]:
    """Return the packages that were added with `--with`, which the next `uv tool install` must repeat."""
    import tomllib

    with open(os.path.join(sys.prefix, "uv-receipt.toml"), "rb") as file:
        required = tomllib.load(file).get("tool", {}).get("requirements", [])
    return [each["name"] for each in required if each["name"] != os.path.basename(sys.prefix)]


def _uv_tool(packages: list[str]) -> str:
    return " --with ".join([f"uv tool install {os.path.basename(sys.prefix)}", *packages])


def _pip(action: str) -> str:
    """Return `pip install` or `pip uninstall` for the environment of this interpreter."""
    is_active = sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV"))
    if _has_uv_made_it():
        return f"uv pip {action}" if is_active else f"uv pip {action} --python {sys.executable}"
    return f"pip {action}" if is_active else f"{sys.executable} -m pip {action}"


def _has_uv_made_it() -> bool:
    """Say whether uv created this virtual environment: then there is no pip in it."""
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            return any(line.startswith("uv =") for line in file)
    except OSError:
        return False
