"""`define`: from a function, with type hints, Parameters or a JSON Schema, to the Spec of a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from tools_core._definition._docstring import parse_docstring
from tools_core._definition._hints._annotations import Reading, Schema, Unsupported
from tools_core._definition._hints._classes import object_schema, with_default
from tools_core._definition._hints._converters import Converter, Problems
from tools_core._definition._hints._metadata import annotate, field_default, is_field
from tools_core._definition._hints._models import is_model
from tools_core._definition._hints._reader import Reader
from tools_core._definition._hints._signature import MISSING, Signature, read_signature
from tools_core._definition._parameter import Parameter, schema_of_parameters
from tools_core._definition._spec import Arguments, Convert, Spec, check_defaults, checked_examples, is_async
from tools_core._values._context import Context
from tools_core._values._errors import DefinitionError, InvalidArguments, SchemaError
from tools_core._values._problem import Problem


def define(
    function: Callable[..., Any],
    *,
    owner: str = "the tool",
    bound: bool = False,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Parameter] | Sequence[Parameter] | None = None,
    examples: Iterable[Mapping[str, Any]] = (),
    docstring: str | None = None,
) -> Spec:
    """Define a tool by its function. Raises DefinitionError, or SchemaError for an invalid schema.

    Args:
        function: The code of the tool.
        owner: The tool in error messages.
        bound: Whether the first parameter of the function is `self`.
        input_schema: A JSON Schema that replaces the type hints.
        output_schema: A JSON Schema that replaces the return type.
        parameters: Parameters that replace the type hints.
        examples: Valid arguments.
        docstring: The docstring of a class. It comes before the docstring of the function.
    """
    signature = read_signature(function, bound=bound)
    description, texts = parse_docstring(signature.docstring)
    if docstring:
        class_description, class_texts = parse_docstring(docstring)
        description, texts = class_description or description, class_texts | texts
    if input_schema is not None:
        if parameters:
            raise DefinitionError(f"{owner} has both input_schema and parameters; keep one of them")
        spec = _from_schema(signature, owner, input_schema)
    else:
        _check_kinds(signature)
        spec = _from_parameters(signature, owner, parameters) if parameters else _from_hints(signature, texts)
        names = {*spec.input_schema["properties"], *signature.defaults, signature.bound}
        spec.unused_docs = () if signature.keywords else tuple(name for name in texts if name not in names)
    spec.description, spec.is_async = description, is_async(function)
    if output_schema is not None:
        spec.output_schema = _output_schema(output_schema, owner)
    if not spec.is_trusted:
        _compile(spec, owner)
    if input_schema is None and not parameters:
        check_defaults(spec, signature.name)
    spec.examples = checked_examples(spec, owner, examples)
    return spec


def model_text(docstring: str | None) -> str:
    """Return the part of a docstring that models read."""
    return parse_docstring(docstring)[0]


def _check_kinds(signature: Signature) -> None:
    if signature.star is not None:
        raise DefinitionError(
            f"{signature.name}: arguments are passed by name, which `*{signature.star}` cannot take; "
            f"write `{signature.star}: list[str]` instead"
        )
    if signature.positional_only:
        raise DefinitionError(
            f"{signature.name}: arguments are passed by name, and `{signature.positional_only[-1]}` is "
            "positional-only; remove the `/`"
        )


def _from_hints(signature: Signature, texts: Mapping[str, str]) -> Spec:
    """Read type hints, defaults and docstring."""
    parameters = _Parameters()
    name = ""
    try:
        for name, default in signature.defaults.items():
            parameters.add(name, signature.hint(name), default, texts.get(name))
        if signature.keywords:
            name = f"**{signature.keywords}"
            parameters.add_keywords(signature.hint(signature.keywords))
    except Unsupported as error:
        raise DefinitionError(f"{signature.name}: the parameter `{name}`: {error}") from error
    schema = parameters.schema
    if parameters.reader.defs:
        schema["$defs"] = parameters.reader.defs
    return Spec(
        input_schema=schema,
        output_schema=_returned_schema(signature),
        context=parameters.context,
        convert=_conversion(schema["properties"], parameters.converters, parameters.factories, parameters.extra),
        is_trusted=not parameters.reader.is_foreign,
    )


class _Parameters:
    """The parameters of a signature while they are read; `add` raises Unsupported."""

    def __init__(self) -> None:
        self.reader = Reader()
        self.schema = object_schema({}, [])
        self.converters: dict[str, Converter] = {}
        self.extra: Converter | None = None  # of the values in **kwargs
        self.factories: dict[str, Callable[[], Any]] = {}  # of defaults that the function itself does not have
        self.context: str | None = None

    def add(self, name: str, hint: Any, default: Any, text: str | None) -> None:
        if _is_context(hint):
            if self.context is not None:
                raise Unsupported(f"is a second Context beside `{self.context}`", "keep one")
            self.context = name
            return
        if name.startswith("_"):
            raise Unsupported("parameter names must not start with an underscore", "rename it")
        if hint is MISSING and type(default) not in (str, int, float, bool):
            raise Unsupported("it has no type hint", "add one, as in `count: int`")
        reading = self.reader.read(type(default) if hint is MISSING else hint)
        field = next(filter(is_field, (default, *getattr(hint, "__metadata__", ()))), None)
        if field is not None and field is default:
            self.reader.is_foreign = True
            reading, default = annotate(reading, [field]), MISSING
        if default is MISSING and field is not None and (factory := field_default(field)):
            self.factories[name], default = factory, field.default
        self._add_reading(name, reading, default, text if is_model(hint) or "description" not in reading[0] else None)

    def _add_reading(self, name: str, reading: Reading, default: Any, text: str | None) -> None:
        schema, convert = reading
        if text:
            schema = {**schema, "description": text}
        if default is MISSING:
            self.schema["required"].append(name)
        else:
            schema = with_default(schema, default)
        self.schema["properties"][name] = schema
        if convert:
            self.converters[name] = convert

    def add_keywords(self, hint: Any) -> None:
        schema, self.extra = ({}, None) if hint is MISSING else self.reader.read(hint)
        self.schema["additionalProperties"] = schema or True


def _conversion(
    names: Iterable[str],
    converters: Mapping[str, Converter],
    factories: Mapping[str, Callable[[], Any]],
    extra: Converter | None = None,
) -> Convert | None:
    """Return a function that converts valid arguments and adds defaults; None if there is nothing to do."""
    if not (converters or factories or extra):
        return None
    names = frozenset(names)

    def convert(arguments: Arguments, known_problems: Sequence[Problem] = ()) -> Arguments:
        problems = Problems(known_problems)
        converted = dict(arguments)
        for name, value in arguments.items():
            converter = converters.get(name) if name in names else extra
            if converter is not None:
                converted[name] = converter(value, (None, name), problems)
        if problems:
            raise InvalidArguments(problems)
        for name, factory in factories.items():
            if name not in converted:
                converted[name] = factory()
        return converted

    return convert


def _returned_schema(signature: Signature) -> Schema | None:
    """Read the return type if its JSON is an object. A type without a JSON Schema is not an error here."""
    reader = Reader(is_output=True)
    try:
        hint = signature.hint("return")
        if hint is MISSING:
            return None
        schema, _ = reader.read(hint)
    except Unsupported:
        return None
    definition = reader.defs.get(schema.get("$ref", "").removeprefix("#/$defs/"), schema)
    if definition.get("type") != "object" or len(definition) == 1:  # such as a bare dict
        return None
    schema = {"type": "object", **schema}
    return {**schema, "$defs": reader.defs} if reader.defs else schema


def _from_schema(signature: Signature, owner: str, input_schema: Mapping[str, Any]) -> Spec:
    if not isinstance(input_schema, Mapping):
        raise DefinitionError(f"{owner}: input_schema must be a dict, got {type(input_schema).__name__}")
    schema: dict[str, Any] = {"type": "object", "properties": {}, **deepcopy(dict(input_schema))}
    if schema["type"] != "object":
        raise DefinitionError(f'{owner}: input_schema must have "type": "object", because arguments have names')
    spec = Spec(input_schema=schema, context=_context_of(signature))
    _compile(spec, owner)
    _check_names(signature, owner, spec, schema.get("required", ()))
    return spec


def _from_parameters(
    signature: Signature, owner: str, parameters: Mapping[str, Parameter] | Sequence[Parameter]
) -> Spec:
    parameters = tuple(parameters.values()) if isinstance(parameters, Mapping) else tuple(parameters)
    schema = schema_of_parameters(owner, parameters)
    factories = {parameter.name: parameter.copy_default for parameter in parameters if parameter.has_default}
    converters = {parameter.name: convert for parameter in parameters if (convert := parameter.converter)}
    spec = Spec(
        input_schema=schema,
        output_schema=_returned_schema(signature),
        context=_context_of(signature),
        convert=_conversion(schema["properties"], converters, factories),
    )
    _check_names(signature, owner, spec, [*schema["required"], *factories])
    return spec


def _output_schema(output_schema: object, owner: str) -> Schema:
    if not isinstance(output_schema, Mapping):
        raise DefinitionError(f"{owner}: output_schema must be a dict, got {type(output_schema).__name__}")
    return deepcopy(dict(output_schema))


def _context_of(signature: Signature) -> str | None:
    """Find the parameter that receives the Context, in a function whose other hints do not matter."""
    for name in signature.defaults:
        with suppress(Unsupported):
            if _is_context(signature.hint(name)):
                return name
    return None


def _is_context(hint: Any) -> bool:
    """Return whether a hint is Context, or Context | None."""
    if hint is Context:
        return True
    return get_origin(hint) in (Annotated, Union, UnionType) and any(map(_is_context, get_args(hint)))


def _compile(spec: Spec, owner: str) -> None:
    try:
        spec.validator  # noqa: B018  (compiles)
    except SchemaError as error:
        raise SchemaError(f"{owner}: {error}") from None


def _check_names(signature: Signature, owner: str, spec: Spec, always: Iterable[str]) -> None:
    """Refuse a function that cannot take what its schema allows; every call has the arguments `always`."""
    defaults = {name: default for name, default in signature.defaults.items() if name != spec.context}
    for name in spec.input_schema["properties"]:
        if name == signature.bound or (name not in defaults and not signature.keywords):
            raise DefinitionError(f"{owner}: the function does not take the argument {name!r}; add it, or **arguments")
    if not signature.keywords and spec.input_schema.get("additionalProperties") is not False:
        raise DefinitionError(f"{owner}: input_schema allows any further argument; add **arguments to the function")
    always = set(always)
    for name, default in defaults.items():
        if default is MISSING and name not in always:
            raise DefinitionError(f"{owner}: the function needs {name!r}; require it, or give it a default")
