"""Write docs/api.md from signatures and docstrings; a test fails if the page is stale.

python docs/generate_api.py            write the page
python docs/generate_api.py --check    exit with 1 if it is stale
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tools_agent
import tools_runtime
import tools_runtime.hookspecs
import tools_runtime.plugins

PAGE = Path(__file__).with_name("api.md")
INTRODUCTION = """\
# API

<!-- Written by docs/generate_api.py from signatures and docstrings. Do not edit. -->

Every option of the classes of tools-agent and tools-runtime. The classes of tools-core have tables in their own pages:
[tools](tools.md), [results](results.md), [context](context.md), [registry](registry.md) and [formats](formats.md).
"""
SECTIONS: dict[str, list[type]] = {
    "Agents": [tools_agent.Agent, tools_agent.Session, tools_agent.Response, tools_agent.Window, tools_agent.Guardrail],
    "Models": [
        tools_agent.OpenAIProvider,
        tools_agent.Retry,
        tools_agent.TextMode,
        tools_agent.ScriptedProvider,
        tools_agent.TestModel,
    ],
    "Runtime": [
        tools_runtime.Executor,
        tools_runtime.Policy,
        tools_runtime.ThreadRuntime,
        tools_runtime.AsyncRuntime,
        tools_runtime.ProcessRuntime,
    ],
    "Plugins": [getattr(tools_runtime.plugins, name) for name in sorted(tools_runtime.plugins.__all__)],
}
# The classes whose methods users call; the others are only constructed.
WITH_METHODS = {
    tools_agent.Agent,
    tools_agent.Session,
    tools_agent.Response,
    tools_agent.Guardrail,
    tools_runtime.Executor,
    tools_runtime.Policy,
}
HOOKS = {name for name in vars(tools_runtime.hookspecs) if name.endswith("_tool_call") or name == "on_event"}
SECTION = re.compile(r"^(Args|Attributes|Raises):(.*)$", re.MULTILINE)
ENTRY = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def main() -> int:
    """Write or check the page, and return the exit code."""
    page = render()
    if "--check" in sys.argv:
        return PAGE.read_text(encoding="utf-8") != page
    PAGE.write_text(page, encoding="utf-8")
    return 0


def render() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for title, classes in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [part for cls in classes for part in describe(cls)]
    return "\n".join(parts)


def describe(cls: type) -> Iterator[str]:
    """Yield the parts of the section on a class."""
    doc = inspect.getdoc(cls) or ""
    yield f"### {cls.__name__}\n"
    yield f"```text\n{signature(cls.__name__, cls)}\n```\n"
    yield f"{prose(doc)}\n"
    options = dict(ENTRY.findall(doc)) | dict(
        ENTRY.findall(inspect.getdoc(inspect.getattr_static(cls, "__init__")) or "")
    )
    for base in cls.__mro__[1:-1] if not options else ():
        options |= dict(ENTRY.findall(inspect.getdoc(base) or ""))
    if options:
        defaults = {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}
        yield "| option | default | meaning |\n|---|---|---|"
        for name, meaning in options.items():
            default = defaults.get(name, inspect.getattr_static(cls, name, inspect.Parameter.empty))
            yield f"| `{name}` | {value(default)} | {cell(meaning)} |"
        yield ""
    if cls in WITH_METHODS:
        yield "| method or attribute | purpose |\n|---|---|"
        for name, summary in public(cls):
            yield f"| `{name}` | {cell(summary)} |"
        yield ""


def public(cls: type) -> Iterator[tuple[str, str]]:
    """Yield the signature and the first sentence of each documented method and property."""
    for name, member in vars(cls).items():
        if name.startswith("_") or name in HOOKS:
            continue
        function = getattr(member, "__func__", getattr(member, "_function", member))
        doc = inspect.getdoc(member) if member.__doc__ is not None else None
        if isinstance(member, property):
            yield name, first_sentence(doc or "")
        elif inspect.isfunction(function) and doc:
            yield signature(name, function), first_sentence(doc)


def signature(name: str, function: Callable[..., Any]) -> str:
    """Return a signature without annotations, on one line."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    text = str(inspect.Signature(parameters))
    if getattr(function, "__annotations__", {}).get("options") == "Unpack[RunOptions[ContextT]]":
        text = text.replace("**options", "*, files=None, context=None, session=None")
    return name + re.sub(r"<(?:built-in )?function (\w+).*?>", r"\1", text).replace("<factory>", "...")


def prose(doc: str) -> str:
    """Return the text of a docstring before its sections, with code blocks that are not run."""
    text = doc[: match.start()] if (match := SECTION.search(doc)) else doc
    text = re.sub(r"(?m)^ *>>> .*\n(?: +(?:>>>|\.\.\.|[^\s].*).*\n?)*", "", text)
    return text.replace("```python", "```text").strip()


def first_sentence(doc: str) -> str:
    """Return the first sentence of a docstring."""
    return re.split(r"(?<=[.:])\s*\n|\n\n", doc, maxsplit=1)[0].rstrip(":")


def cell(text: str) -> str:
    """Return text for a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def value(default: Any) -> str:
    """Return a default value as code."""
    if default is inspect.Parameter.empty:
        return "required"
    return f"`{getattr(default, '__name__', repr(default))}`"


if __name__ == "__main__":
    sys.exit(main())
