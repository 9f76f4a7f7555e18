"""From a function, or a ready JSON Schema for it, to the Spec of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools_core._definition._docstring import parse_docstring
from tools_core._definition._draft import Draft, is_context
from tools_core._definition._hints import Reader, Schema, Unsupported
from tools_core._definition._hints._functions import MISSING, Function, read_function
from tools_core._definition._parameter import object_schema
from tools_core._definition._spec import Spec, is_async
from tools_core._values._errors import DefinitionError, SchemaError
from tools_core._values._frozen import thaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tools_core._definition._draft import Arguments
    from tools_core._definition._parameter import Parameter
    from tools_core._jsonschema import Validator
    from tools_core._values._problem import Problem


def define(
    function: Callable[..., Any],
    *,
    owner: str = "the tool",
    bound: bool = False,
    input_schema: Mapping[str, Any] | None = None,
    parameters: Sequence[Parameter] = (),
    docstring: str | None = None,
) -> Spec:
    """Define a tool by its function. DefinitionError (SchemaError for a schema) says what to write instead.

    `bound` leaves out `self`. `parameters`, if there are any, are shown in place of the signature, and so is a ready
    `input_schema`. `docstring` is that of a class, and goes before the function's own. `owner` is for messages.
    """
    shape = read_function(function, bound=bound)
    if input_schema is not None:
        if parameters:
            raise DefinitionError(f"{owner} has both input_schema and parameters; keep one of them")
        spec = _of_schema(shape, owner, input_schema, is_async=is_async(function))
        spec.description = described(docstring or function.__doc__)
        return spec
    _refuse_positional(shape)
    description, texts = parse_docstring(shape.docstring)
    if docstring:
        first, more = parse_docstring(docstring)
        description, texts = first or description, {**more, **texts}
    if parameters:
        spec = _of_parameters(shape, owner, parameters, is_async=is_async(function))
        spec.description = description
        return spec
    draft = Draft(shape)
    draft.infer(texts)
    return Spec(
        draft.schema,
        description=description,
        output_schema=_output_schema(shape),
        context=draft.context,
        convert=draft.conversion(),
        is_async=is_async(function),
        # Schemas of our own hints can be enforced; those that a library or user wrote are examined.
        validator=_compiled(draft.schema, owner) if draft.reader.is_foreign else None,
    )


def described(docstring: str | None) -> str:
    """Return the part of a docstring that is for the model."""
    return parse_docstring(docstring)[0]


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
    """Read the return type, if its JSON is an object; a type that JSON cannot describe is not an error here."""
    try:
        hint = shape.hint("return")
        if hint is MISSING:
            return None
        reader = Reader(is_output=True)
        schema, _ = reader.read(hint)
    except Unsupported:
        return None
    definition = reader.defs.get(schema.get("$ref", "").removeprefix("#/$defs/"), schema)
    if definition.get("type") != "object" or len(definition) == 1:  # such as a bare dict
        return None
    schema = {"type": "object", **schema}
    return {**schema, "$defs": reader.defs} if reader.defs else schema


def _of_schema(shape: Function, owner: str, given: Mapping[str, Any], *, is_async: bool) -> Spec:
    if not isinstance(given, Mapping):
        raise DefinitionError(f"{owner}: input_schema must be a JSON Schema as a dict, got {type(given).__name__}")
    schema: dict[str, Any] = {"type": "object", "properties": {}, **thaw(dict(given))}
    if schema["type"] != "object":
        raise DefinitionError(f'{owner}: input_schema must have "type": "object", because arguments are named')
    validator = _compiled(schema, owner)
    context = _context_of(shape)
    _check_names(shape, owner, schema, context, schema.get("required", ()))
    return Spec(schema, context=context, is_async=is_async, validator=validator)


def _of_parameters(shape: Function, owner: str, parameters: Sequence[Parameter], *, is_async: bool) -> Spec:
    schema = object_schema(owner, parameters)
    context = _context_of(shape)
    optional = [one for one in parameters if one.has_default]
    _check_names(shape, owner, schema, context, [*schema["required"], *(one.name for one in optional)])

    def convert(arguments: Arguments, _found: Sequence[Problem] = ()) -> Arguments:
        return {one.name: one.default for one in optional} | arguments

    return Spec(
        schema,
        output_schema=_output_schema(shape),
        context=context,
        convert=convert if optional else None,
        is_async=is_async,
    )


def _context_of(shape: Function) -> str | None:
    """Find the parameter that takes the Context; other hints of these functions are not used."""
    for name in shape.defaults:
        with suppress(Unsupported):
            if is_context(shape.hint(name)):
                return name
    return None


def _compiled(schema: dict[str, Any], owner: str) -> Validator:
    from tools_core._jsonschema import compile_schema  # only a schema from outside is compiled before the first call

    try:
        return compile_schema(schema)
    except SchemaError as error:
        raise SchemaError(f"{owner}: {error}") from None


def _check_names(
    shape: Function, owner: str, schema: Mapping[str, Any], context: str | None, given: Iterable[str]
) -> None:
    """Refuse a function that could not take what its schema allows; `given` are the arguments of every call."""
    taken = {name: default for name, default in shape.defaults.items() if name != context}
    for name in schema["properties"]:
        if name == shape.bound or (name not in taken and not shape.keywords):
            raise DefinitionError(f"{owner}: the function does not take the argument {name!r}; add it, or **arguments")
    if not shape.keywords and schema.get("additionalProperties") is not False:
        raise DefinitionError(f"{owner}: input_schema allows any further argument; add **arguments to the function")
    unset = [name for name, default in taken.items() if default is MISSING and name not in given]
    if unset:
        raise DefinitionError(f"{owner}: the function needs {unset[0]!r}; require it, or give it a default")
