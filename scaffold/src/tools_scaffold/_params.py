"""`--params`: parameters in one line, such as `city:str "Name of the city", days:int=1`, and their Python code."""

from __future__ import annotations

import json
import keyword
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_scaffold._text import ScaffoldError, bracketed, quote, show

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLE = 'city:str "Name of the city", days:int=1, units:C|F=C, tags:list[str]?'


class ParameterType(NamedTuple):
    """The module that a type is imported from, empty for builtins, and a sample in JSON."""

    module: str
    sample: str | int | float | bool


TYPES = {
    "str": ParameterType("", "example"),
    "int": ParameterType("", 3),
    "float": ParameterType("", 1.5),
    "bool": ParameterType("", sample=True),
    "date": ParameterType("datetime", "2026-01-31"),
    "datetime": ParameterType("datetime", "2026-01-31T12:00:00+00:00"),
    "time": ParameterType("datetime", "12:30:00"),
    "Decimal": ParameterType("decimal", "1.5"),
    "Path": ParameterType("pathlib", "notes.txt"),
    "UUID": ParameterType("uuid", "6fa459ea-ee8a-4ca4-894e-db77e160355e"),
}


class Parameter(NamedTuple):
    """A parameter of the generated tool; `annotation` and `default` are Python code."""

    name: str
    annotation: str
    default: str | None
    description: str
    sample: Any
    imports: tuple[tuple[str, str], ...]  # pairs of module and name


_parameter = re.compile(
    r"""
    \s* (?P<name> \w+ ) \s* :
    \s* (?P<type> [^\s,?="|]+ (?: \s*\|\s* [^\s,?="|]+ )* )
    \s* (?P<optional> \? )?
    \s* (?: = \s* (?P<default> "[^"]*" | [^\s,"]+ ) )?
    \s* (?: " (?P<description> [^"]* ) " )?
    \s* (?: , | $ )
    """,
    re.VERBOSE,
)
_well_formed = re.compile("[a-z][a-z0-9_]{0,39}").fullmatch
_USED = frozenset({"dict", "self", "str"})  # names in the generated code
_list = re.compile(r"list\[(\w+)\]").fullmatch


def parse_params(text: str) -> tuple[Parameter, ...]:
    """Parse `--params`; required parameters come first, as Python demands.

    Raises:
        ScaffoldError: the text is not a list of parameters; the message quotes the invalid one.
    """
    if not text.isprintable():
        raise ScaffoldError("--params must be one printable line")
    text = text.strip()
    parameters: dict[str, Parameter] = {}
    position = 0
    while position < len(text):
        match = _parameter.match(text, position)
        if match is None:
            raise ScaffoldError(f"--params: {show(text[position:].strip())} is not understood; an example: {EXAMPLE}")
        name = match["name"]
        if name in parameters:
            raise ScaffoldError(f"--params: two parameters are called {name}")
        parameters[name] = _read(match)
        position = match.end()
    if not parameters:
        raise ScaffoldError(f"--params is empty; an example: {EXAMPLE}")
    return tuple(sorted(parameters.values(), key=lambda parameter: parameter.default is not None))


def signature(parameters: Iterable[Parameter], indent: str) -> str:
    """Return one line for each parameter, or several for a long one."""
    return "\n".join(_declaration(parameter, indent) for parameter in parameters)


def samples(parameters: Iterable[Parameter]) -> list[str]:
    """Return the items of a dictionary with a sample for each parameter."""
    return [f"{quote(parameter.name)}: {_literal(parameter.sample)}" for parameter in parameters]


def import_lines(parameters: Iterable[Parameter], *more: tuple[str, str]) -> str:
    """Return the imports from the standard library that the parameters need."""
    names: dict[str, set[str]] = {}
    for module, name in [*more, *(pair for parameter in parameters for pair in parameter.imports)]:
        names.setdefault(module, set()).add(name)
    return "\n".join(f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names))


def shell_arguments(parameters: Iterable[Parameter]) -> str:
    """Return a sample for each parameter, as `ask-tools call` takes them, with a space before each."""
    pairs = [(parameter.name, parameter.sample) for parameter in parameters]
    texts = [f"{name}={sample if isinstance(sample, str) else json.dumps(sample)}" for name, sample in pairs]
    return "".join(f" {shlex.quote(text)}" for text in texts)


def toml_arguments(parameters: Iterable[Parameter]) -> str:
    """Return the samples as the TOML member `, arguments = { ... }`, or nothing without parameters."""
    pairs = [f"{parameter.name} = {json.dumps(parameter.sample, ensure_ascii=False)}" for parameter in parameters]
    return f", arguments = {{ {', '.join(pairs)} }}" if pairs else ""


def question(opening: str, tool: str, parameters: Iterable[Parameter]) -> str:
    """Return a question that names the tool and the samples, as a TOML string."""
    samples = ((parameter.name.replace("_", " "), parameter.sample) for parameter in parameters)
    pairs = [f"{name} {json.dumps(sample, ensure_ascii=False)}" for name, sample in samples]
    text = f"{opening} {tool.replace('_', ' ')}{' with ' if pairs else ''}{' and '.join(pairs)}"
    return quote(text) if "'" in text else f"'{text}'"


def _declaration(parameter: Parameter, indent: str) -> str:
    default = f" = {parameter.default}" if parameter.default else ""
    parts = [parameter.annotation, quote(parameter.description)]
    return bracketed(f"{indent}{parameter.name}: Annotated[", parts, f"]{default},")


def _literal(sample: Any) -> str:
    if isinstance(sample, list):
        return f"[{', '.join(map(_literal, sample))}]"
    return quote(sample) if isinstance(sample, str) else repr(sample)


def _read(match: re.Match[str]) -> Parameter:
    name = match["name"]
    if not _well_formed(name) or keyword.iskeyword(name) or name in _USED:
        raise ScaffoldError(f"--params: {show(name)} cannot be used as a name; use a word such as city or max_days")
    description = (match["description"] or "").strip() or name.replace("_", " ").capitalize()
    annotation, sample, imports = _type(name, match["type"])
    default = match["default"]
    code = None if default is None else _default(name, annotation, default.strip('"'))
    if match["optional"]:
        annotation, code = f"{annotation} | None", code or "None"
    return Parameter(name, annotation, code, description, sample, imports)


def _type(name: str, text: str) -> tuple[str, Any, tuple[tuple[str, str], ...]]:
    """Return the annotation, a sample and the imports."""
    if "|" in text:
        choices = [choice.strip() for choice in text.split("|")]
        if not TYPES.keys().isdisjoint(choices) or "None" in choices:
            raise ScaffoldError(f"--params: {name} has a union type; use one type, and ? for an optional parameter")
        annotation = f"Literal[{', '.join(map(quote, choices))}]"
        if len(annotation.encode()) > 90:
            raise ScaffoldError(f"--params: the choices of {name} are too long for one line; generate fewer of them")
        return annotation, choices[0], (("typing", "Literal"),)
    inner = _list(text)
    item = inner[1] if inner else text
    if item not in TYPES:
        expected = f"{', '.join(TYPES)}, list[...] of these, or choices such as C|F"
        raise ScaffoldError(f"--params: {name} has the unknown type {show(text)}; use {expected}")
    module, sample = TYPES[item]
    return text, [sample] if inner else sample, ((module, item),) if module else ()


def _default(name: str, annotation: str, text: str) -> str:
    """Return the default as Python code."""
    if annotation == "str" or (annotation.startswith("Literal") and quote(text) in annotation):
        return quote(text)
    if annotation == "bool" and text.lower() in ("true", "false"):
        return text.capitalize()
    try:
        if annotation == "int":
            return str(int(text))
        if annotation == "float":
            return json.dumps(float(text), allow_nan=False).replace("e+", "e")  # as formatters write floats
    except ValueError:
        pass
    raise ScaffoldError(f"--params: {show(text)} is not a default for {name}: {annotation}; add others in the code")
