"""Gather the pages of the site in .cache/site, from which `make docs` builds it.

The pages are README.md, docs/, the READMEs of the packages and examples, and one page for each shipped tool, written
from its definition. Links between them lead to the pages of the site, links to other files to the repository.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools_core import EntryPoint, Registry, Tool

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / ".cache/site"
REPOSITORY = "https://github.com/ask-tools/ask-tools/blob/main"
SHIPPED = ("tools-filesystem", "tools-shell", "tools-sql", "tools-web")
LINK_OR_CODE = re.compile(
    r"^```.*?^```$|`[^`\n]+`|(!?\[(?:[^\[\]]|`[^`]*`)*\])\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)", re.DOTALL | re.MULTILINE
)


def sources() -> dict[Path, str]:
    """Return the pages of the repository and their places on the site."""
    pages = {ROOT / "README.md": "index.md", ROOT / "CONTRIBUTING.md": "contributing.md"}
    pages |= {page: f"{page.parent.name}.md" for page in [ROOT / "examples/README.md"]}
    pages |= {page: page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    for pattern in ("tools-*/README.md", "scaffold/README.md", "packages/*/README.md"):
        pages |= {page: f"packages/{page.parent.name}.md" for page in ROOT.glob(pattern)}
    return pages


def with_links_of_the_site(text: str, page: Path, pages: dict[Path, str]) -> str:
    """Replace the links of a page of the repository by links of the site."""

    def replacement(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]  # code
        target = (page.parent / match[2]).resolve()
        if target in pages:
            address = os.path.relpath(pages[target], Path(pages[page]).parent)
        elif target.is_relative_to(ROOT / "docs/images"):
            address = os.path.relpath(target.relative_to(ROOT / "docs"), Path(pages[page]).parent)
        else:
            address = f"{REPOSITORY}/{target.relative_to(ROOT).as_posix()}"
        return f"{match[1]}({address}{match[3] or ''})"

    return LINK_OR_CODE.sub(replacement, text)


def shipped_tools() -> Iterator[tuple[str, Tool]]:
    """Yield the tools of our packages with the name of their package."""
    registry = Registry(auto=True)
    for name in registry:
        origin = registry.origin(name)
        if isinstance(origin, EntryPoint) and origin.distribution in SHIPPED:
            yield origin.distribution, registry[name]


def tool_page(package: str, tool: Tool) -> str:
    """Return the page of a tool: its description, parameters, examples and definition."""
    definition = tool.definition
    marks = {"read-only": tool.read_only, "destructive": tool.destructive, "asks first": tool.requires_approval}
    facts = [f"[{package}](../packages/{package}.md)", *(mark for mark, holds in marks.items() if holds)]
    schema: dict[str, Any] = definition["input_schema"]
    required = schema.get("required", [])
    rows = ["| parameter | type | description |", "|---|---|---|"]
    for name, parameter in schema.get("properties", {}).items():
        default = "required" if name in required else f"default `{json.dumps(parameter.get('default'))}`"
        text = " ".join(str(parameter.get("description", "")).split()).replace("|", "\\|")
        rows.append(f"| `{name}` | {type_of(parameter)}, {default} | {text} |")
    return "\n".join(
        [
            f"# {tool.name}\n",
            f"{' · '.join(facts)}\n",
            "A model reads this description:\n",
            *(f"> {line}".rstrip() for line in quoted(definition["description"]).splitlines()),
            "",
            "## Parameters\n",
            *rows,
            "\n## Definition\n",
            f"`ask-tools show {tool.name} --json` prints it, and `ask-tools schema {tool.name} --for openai` the",
            "definition in the format of a provider.\n",
            f"```json\n{json.dumps(definition, indent=2, ensure_ascii=False)}\n```",
            "",
        ]
    )


def quoted(description: str) -> str:
    """Return a description as Markdown. Paragraphs with several lines are examples of a format."""
    paragraphs = description.split("\n\n")
    return "\n\n".join(f"```text\n{text}\n```" if "\n" in text else text for text in paragraphs)


def type_of(schema: dict[str, Any]) -> str:
    """Return the type of a parameter in words."""
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(type_of(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"array of {type_of(schema.get('items', {}))}"
    kind = schema.get("type", "any")
    return kind if isinstance(kind, str) else " or ".join(kind)


def main() -> None:
    """Write all pages."""
    shutil.rmtree(SITE, ignore_errors=True)
    pages = sources()
    texts = {target: with_links_of_the_site(page.read_text("utf-8"), page, pages) for page, target in pages.items()}
    texts |= {f"tools/{tool.name}.md": tool_page(package, tool) for package, tool in shipped_tools()}
    for target, text in texts.items():
        path = SITE / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if (ROOT / "docs/images").is_dir():
        shutil.copytree(ROOT / "docs/images", SITE / "images")
    shutil.copy(ROOT / "docs/site.css", SITE / "site.css")


if __name__ == "__main__":
    main()
