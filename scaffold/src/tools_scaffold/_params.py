"""`--params`: the parameters of a tool in one line, such as `city:str "Name of the city", days:int=1`."""

from __future__ import annotations

import json
import keyword
import re
from typing import Any, NamedTuple

from tools_scaffold._errors import ScaffoldError, show

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
    """One parameter of the generated tool; `annotation` and `default` are Python code."""

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
_USED = frozenset({"dict", "self", "str"})  # by the generated code
_list = re.compile(r"list\[(\w+)\]").fullmatch


def parse_params(text: str) -> tuple[Parameter, ...]:
    """Parse `--params`; required parameters come first, as Python demands.

    Raises:
        ScaffoldError: the text is not a list of parameters; the message quotes the faulty one.
    """
    if not text.isprintable() or "\\" in text:
        raise ScaffoldError("--params must be one printable line without backslashes")
    text = text.strip()
    found: dict[str, Parameter] = {}
    position = 0
    while position < len(text):
        match = _parameter.match(text, position)
        if match is None:
            raise ScaffoldError(f"--params: {show(text[position:].strip())} is not understood; an example: {EXAMPLE}")
        name = match["name"]
        if name in found:
            raise ScaffoldError(f"--params: two parameters are called {name}")
        found[name] = _read(match)
        position = match.end()
    if not found:
        raise ScaffoldError(f"--params is empty; an example: {EXAMPLE}")
    return tuple(sorted(found.values(), key=lambda each: each.default is not None))


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
        annotation = f"Literal[{', '.join(map(json_text, choices))}]"
        if len(annotation.encode()) > 90:
            raise ScaffoldError(f"--params: the choices of {name} are too long for one line; generate fewer of them")
        return annotation, choices[0], (("typing", "Literal"),)
    inner = _list(text)
    known = TYPES.get(inner[1] if inner else text)
    if known is None:
        expected = f"{', '.join(TYPES)}, list[...] of these, or choices such as C|F"
        raise ScaffoldError(f"--params: {name} has the unknown type {show(text)}; use {expected}")
    imports = ((known.module, inner[1] if inner else text),) if known.module else ()
    return text, [known.sample] if inner else known.sample, imports


def _default(name: str, annotation: str, text: str) -> str:
    """Return the default as Python code."""
    if annotation == "str" or (annotation.startswith("Literal") and json_text(text) in annotation):
        return json_text(text)
    if annotation == "bool" and text.lower() in ("true", "false"):
        return text.capitalize()
    try:
        if annotation == "int":
            return str(int(text))
        if annotation == "float":
            return json.dumps(float(text), allow_nan=False).replace("e+", "e")  # as formatters write it
    except ValueError:
        pass
    raise ScaffoldError(f"--params: {show(text)} is not a default for {name}: {annotation}; add others in the code")


def json_text(text: str) -> str:
    """Quote text; valid in Python, JSON and TOML."""
    return json.dumps(text, ensure_ascii=False)
