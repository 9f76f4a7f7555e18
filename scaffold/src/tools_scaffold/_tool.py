"""A tool to generate: its module, its test and its entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

from tools_scaffold._code import bracketed, import_lines, samples, shell_arguments, signature
from tools_scaffold._errors import ScaffoldError, check_line, show
from tools_scaffold._params import parse_params
from tools_scaffold._template import fill, render

if TYPE_CHECKING:
    from tools_scaffold._names import Names

PARAMS = 'text:str "Text to work on"'


class Style(NamedTuple):
    """One way to write a tool; the texts contain placeholders."""

    exported: str  # the object that the package exports
    instance: str  # an expression for the tool
    first_tool: str
    entry_points: dict[str, str]  # exported objects by the names under which they are registered
    body: str  # the code in front of the dictionary that the tool returns
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
        body="        answer: dict[str, Any] = {",
        module="toolset.py.tmpl",
        test="test_toolset.py.tmpl",
        imports=(("collections", "deque"),),
    ),
}


class ToolOptions(TypedDict, total=False):
    """The options that describe a tool, as `ask-tools new` and `ask-tools add` take them."""

    style: str
    params: str | None
    description: str | None


class Tool(NamedTuple):
    """A tool to generate."""

    names: Names
    exported: str
    entry_points: dict[str, str]  # references such as `tools_weather:weather`, by name
    command: str  # a call of it in the shell
    files: dict[str, str]  # its module and its test, by their paths in the package
    values: dict[str, str]  # texts for the placeholders of the template


def make_tool(names: Names, options: ToolOptions) -> Tool:
    """Make the code of a tool; ScaffoldError if an option is not usable."""
    name, description = options.get("style", "function"), options.get("description")
    if name not in STYLES:
        raise ScaffoldError(f"--style {show(name)} is not one of {', '.join(STYLES)}")
    if description is not None:
        check_line("description", description)
    style = STYLES[name]
    params = options.get("params")
    parameters = parse_params(PARAMS if params is None else params)
    required = [each for each in parameters if each.default is None]
    indent = style.body[: -len(style.body.lstrip())]
    values = {**names._asdict(), "camel": names.camel}
    values |= {key: fill(getattr(style, key), values) for key in ("exported", "instance", "first_tool")}
    values |= {
        "description": description or f"The {names.tool} tool for language models, agents and the shell.",
        "purpose": description or "Describe here what the tool does and when to use it.",
        "imports": import_lines(parameters, ("typing", "Annotated"), ("typing", "Any"), *style.imports),
        "parameters": signature(parameters, indent),
        "body": bracketed(style.body, [f'"{each.name}": {each.name}' for each in parameters], "}"),
        "arguments": bracketed("ARGUMENTS: dict[str, Any] = {", samples(parameters), "}"),
        "required": bracketed("arguments = {", samples(required), "}"),
        "shell_arguments": shell_arguments(required),
    }
    return Tool(
        names,
        values["exported"],
        {fill(key, values): fill(f"$package:{place}", values) for key, place in style.entry_points.items()},
        fill("ask-tools call $first_tool$shell_arguments", values),
        render({"src/$package/_$tool.py": style.module, "tests/test_$tool.py": style.test}, values),
        values,
    )
