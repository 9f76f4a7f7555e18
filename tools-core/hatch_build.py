"""Carries the scaffold into tools-core, so that `pip install tools-core` alone has `ask-tools new`.

A `force-include` of `../scaffold/src/tools_scaffold` would do in a checkout. But wheels are built from the
source distribution, where `../` holds nothing of ours: so that one carries the scaffold under `src/`, and a
wheel takes it from whichever of the two places exists.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CARRIED = "tools_scaffold"


class CarryScaffold(BuildHookInterface[Any]):
    """Adds `tools_scaffold` to the wheel and to the source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the scaffold's folder and its place in what is being built."""
        if version == "editable":
            return  # `dev-mode-dirs` serves it from the checkout
        place = f"src/{CARRIED}" if self.target_name == "sdist" else CARRIED
        build_data["force_include"][str(find_scaffold(Path(self.root)))] = place


def find_scaffold(root: Path) -> Path:
    """Find the scaffold beside tools-core in a checkout, or inside it in an unpacked source distribution."""
    beside = root.parent / "scaffold" / "src" / CARRIED
    inside = root / "src" / CARRIED
    for folder in (inside, beside):
        if (folder / "__init__.py").is_file():
            return folder
    raise FileNotFoundError(f"tools-core carries {CARRIED}, which is neither in {inside} nor in {beside}")
