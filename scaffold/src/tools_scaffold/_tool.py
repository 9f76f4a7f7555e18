"""A tool to generate: its module, its test and its entry points.

Sources in the template that end in `.tmpl` contain `$name` placeholders for `string.Template`; other files are copied.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from tools_scaffold._params import (
    import_lines,
    parse_params,
    question,
    samples,
    shell_arguments,
    signature,
    toml_arguments,
)
from tools_scaffold._text import ScaffoldError, bracketed, check_line, docstring, import_line, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_scaffold._names import Names

FOLDER = Path(__file__).parent / "template"
PARAMS = 'text:str "Text to work on"'

_import_line = re.compile(r"^from (\S+) import (\w+)$", re.MULTILINE)


class Style(NamedTuple):
    """A way to write a tool; the texts contain placeholders."""

    exported: str  # the object that the package exports
    instance: str  # an expression for the tool
    first_tool: str
    entry_points: dict[str, str]  # exported objects, by the names of their tools
    body: str  # the code before the dictionary that the tool returns
    module: str
    test: str
    imports: tuple[tuple[str, str], ...] = ()


STYLES = {
    "function": Style(
        exported="$tool",
        instance="$tool",
        first_tool="$tool",
        entry_points={"$tool": "$tool"},
        body="    return {",
        module="function.py.tmpl",
        test="test_tool.py.tmpl",
    ),
    "class": Style(
        exported="${camel}Tool",
        instance="${camel}Tool()",
        first_tool="$tool",
        entry_points={"$tool": "${camel}Tool"},
        body="        return {",
        module="class.py.tmpl",
        test="test_tool.py.tmpl",
    ),
    "toolset": Style(
        exported="${camel}Tools",
        instance='${camel}Tools().tool("lookup")',
        first_tool="${tool}_lookup",
        entry_points={
            "${tool}_lookup": "${camel}Tools.lookup",
            "${tool}_history": "${camel}Tools.history",
        },
        body="        _answer: dict[str, Any] = {",
        module="toolset.py.tmpl",
        test="test_toolset.py.tmpl",
        imports=(("collections", "deque"),),
    ),
}


class ToolOptions(TypedDict, total=False):
    """The options of `ask-tools new` and `ask-tools add` that describe a tool."""

    style: str
    params: str | None
    description: str | None


class Tool(NamedTuple):
    """A tool to generate."""

    names: Names
    exported: str
    entry_points: dict[str, str]  # references such as `tools_weather:weather`, by name
    command: str  # a shell command that calls the tool
    files: dict[str, str]  # the module, the test and the cases, by path in the package
    values: dict[str, str]  # texts for the placeholders of the template


def make_tool(names: Names, options: ToolOptions) -> Tool:
    """Generate the code of a tool; ScaffoldError if an option is invalid."""
    style = STYLES.get(options.get("style", "function"))
    if style is None:
        raise ScaffoldError(f"--style {show(options.get('style'))} is not one of {', '.join(STYLES)}")
    description = options.get("description")
    if description is not None:
        check_line("description", description)
    params = options.get("params")
    parameters = parse_params(PARAMS if params is None else params)
    required = [parameter for parameter in parameters if parameter.default is None]
    indent = style.body[: -len(style.body.lstrip())]
    values = {**names._asdict(), "camel": names.camel}
    values |= {key: fill(getattr(style, key), values) for key in ("exported", "instance", "first_tool")}
    summary = description or f"The {names.tool} tool for language models, agents and the shell."
    values |= {
        "description": summary,
        "summary": docstring(summary),
        "purpose": docstring(description or "Describe here what the tool does and when to use it."),
        "imports": import_lines(parameters, ("typing", "Annotated"), ("typing", "Any"), *style.imports),
        "parameters": signature(parameters, indent),
        "body": bracketed(style.body, [f'"{parameter.name}": {parameter.name}' for parameter in parameters], "}"),
        "arguments": bracketed("ARGUMENTS: dict[str, Any] = {", samples(parameters), "}"),
        "required": bracketed("arguments = {", samples(required), "}"),
        "shell_arguments": shell_arguments(required),
        "eval_arguments": toml_arguments(required),
    }
    openings = {
        "question": "Use",
        "request": "Please use",
        "wish": "I want you to use",
        "result": "Show me the result of",
    }
    values |= {f"eval_{key}": question(opening, values["first_tool"], required) for key, opening in openings.items()}
    return Tool(
        names,
        values["exported"],
        {fill(key, values): fill(f"$package:{place}", values) for key, place in style.entry_points.items()},
        fill("ask-tools call $first_tool$shell_arguments", values),
        render(
            {
                "evals/$tool.toml": "eval.toml.tmpl",
                "src/$package/_$tool.py": style.module,
                "tests/test_$tool.py": style.test,
            },
            values,
        ),
        values,
    )


def render(sources: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each file, by its path in the package."""
    files: dict[str, str] = {}
    for path, source in sources.items():
        text = (FOLDER / source).read_text(encoding="utf-8")
        if source.endswith(".tmpl"):
            text = _import_line.sub(lambda line: import_line(line[1], line[2]), fill(text, values))
        files[fill(path, values)] = text
    return files


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in `text`."""
    return Template(text).substitute(values)
