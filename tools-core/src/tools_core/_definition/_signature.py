"""From a function to the definition of a tool: schema, description, and the conversion of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._definition._docstring import parse_docstring
from tools_core._definition._draft import Draft, is_builtin, is_context
from tools_core._definition._hints import Reader, Schema, Unsupported
from tools_core._definition._hints._functions import MISSING, Function, read_function
from tools_core._values._errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_core._definition._draft import Convert
    from tools_core._definition._parameter import Parameter


class Signature:
    """The parts of a tool that come from a function's signature and docstring."""

    __slots__ = ("context", "convert", "description", "input_schema", "is_foreign", "output_schema")

    def __init__(
        self,
        input_schema: Schema,
        context: str | None,
        convert: Convert | None,
        description: str,
        output_schema: Schema | None,
        is_foreign: bool,
    ) -> None:
        self.input_schema = input_schema
        self.context = context  # the name of the parameter that is injected and never shown
        self.convert = convert
        self.description = description
        self.output_schema = output_schema
        self.is_foreign = is_foreign  # somebody else's objects or classes wrote a part of the schema


def read_signature(
    function: Callable[..., Any],
    *,
    bound: bool = False,
    parameters: Sequence[Parameter] = (),
    docstring: str | None = None,
) -> Signature:
    """Define a tool by its function; DefinitionError names the function, the parameter and a fix.

    `bound` leaves out `self`. `parameters`, if there are any, are shown in place of the signature.
    `docstring` is that of a class, and goes before the function's own.
    """
    shape = read_function(function, bound=bound)
    _refuse_positional(shape)
    description, texts = parse_docstring(shape.docstring)
    if docstring:
        first, more = parse_docstring(docstring)
        description, texts = first or description, {**more, **texts}
    draft = Draft(shape)
    if parameters:
        draft.declare(parameters)
    else:
        draft.infer(texts)
    output_schema = _output_schema(shape)
    return Signature(
        draft.schema, draft.context, draft.conversion(), description, output_schema, draft.reader.is_foreign
    )


def context_parameter(function: Callable[..., Any]) -> str | None:
    """Return the name of the parameter that is annotated `Context`."""
    shape = read_function(function)
    for name in shape.defaults:
        try:
            if is_context(shape.hint(name)):
                return name
        except Unsupported:  # a hint that cannot be evaluated is none of a Context that exists
            continue
    return None


def _refuse_positional(shape: Function) -> None:
    if shape.star is not None:
        raise DefinitionError(
            f"{shape.name}: arguments are passed by name, which `*{shape.star}` cannot take; "
            f"write `{shape.star}: list[str]` or the like"
        )
    if shape.by_position:
        raise DefinitionError(
            f"{shape.name}: arguments are passed by name, and `{shape.by_position[-1]}` is positional-only; "
            "remove the `/`"
        )


def _output_schema(shape: Function) -> Schema | None:
    """Read the return type, if its JSON is an object; a type that JSON cannot describe is no error here."""
    try:
        hint = shape.hint("return")
        if hint is MISSING or is_builtin(hint):
            return None
        reader = Reader(is_output=True)
        schema, _ = reader.read(hint)
    except Unsupported:
        return None
    definition = reader.defs.get(schema.get("$ref", "").removeprefix("#/$defs/"), schema)
    if definition.get("type") != "object":
        return None
    schema = {"type": "object", **schema}
    return {**schema, "$defs": reader.defs} if reader.defs else schema
