"""`define`: from a function, with type hints, Parameters or a JSON Schema, to the Spec of a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from tools_core._definition._docstring import parse_docstring
from tools_core._definition._hints._annotations import Schema, Unsupported
from tools_core._definition._hints._classes import object_schema, with_default
from tools_core._definition._hints._converters import Converter, Problems
from tools_core._definition._hints._generics import Binding
from tools_core._definition._hints._metadata import check_default, field_default, is_field
from tools_core._definition._hints._models import is_model
from tools_core._definition._hints._reader import Reader
from tools_core._definition._hints._signature import MISSING, Signature, read_signature
from tools_core._definition._parameter import Parameter, schema_of_parameters
from tools_core._definition._spec import Arguments, Spec, check_defaults, checked_examples, is_async
from tools_core._values._context import Context
from tools_core._values._errors import DefinitionError, InvalidArguments, SchemaError
from tools_core._values._frozen import frozen
from tools_core._values._problem import Problem


def define(
    function: Callable[..., Any],
    *,
    owner: str = "the tool",
    bound: Binding | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Parameter] | Sequence[Parameter] = (),
    examples: Iterable[Mapping[str, Any]] = (),
    docstring: str | None = None,
) -> Spec:
    """Define a tool by its function, or by a method that is `bound` to a class.

    Parameters or an `input_schema` replace the type hints, and the `docstring` of a class comes before the one of the
    function. Raises DefinitionError, or SchemaError for an invalid schema; `owner` is the tool in their messages.
    """
    signature = read_signature(function, bound=bound)
    description, texts = parse_docstring(signature.docstring)
    class_description, class_texts = parse_docstring(docstring)
    texts = class_texts | texts
    if input_schema is not None and parameters:
        raise DefinitionError(f"{owner} has both input_schema and parameters; keep one of them")
    try:
        if input_schema is not None:
            spec = _from_schema(signature, owner, _copied(input_schema, f"{owner}: input_schema"))
        elif parameters:
            declared = parameters.values() if isinstance(parameters, Mapping) else parameters
            spec = _from_parameters(signature, owner, tuple(declared))
        else:
            spec = _from_hints(signature, texts)
    except SchemaError as error:
        raise SchemaError(f"{owner}: {error}") from None
    if input_schema is None and not parameters:
        check_defaults(spec, signature.name)
    _add_texts(spec, signature, texts, has_schema=input_schema is not None)
    lost = "".join(f"\n{name}: {texts[name]}" for name in spec.unused_docs)
    spec.description = (class_description or description) + (f"\n{lost}" if lost else "")
    spec.is_async = is_async(function)
    if output_schema is not None:
        spec.output_schema = _copied(output_schema, f"{owner}: output_schema")
    spec.examples = frozen(checked_examples(spec, owner, examples))
    spec.input_schema, spec.output_schema = frozen(spec.input_schema), frozen(spec.output_schema)
    return spec


def _add_texts(spec: Spec, signature: Signature, texts: Mapping[str, str], *, has_schema: bool) -> None:
    """Add the texts of the docstring to declared parameters without one; the others stay in the description."""
    properties = spec.input_schema["properties"] = dict(spec.input_schema["properties"])
    names = {name for name in signature.defaults if name not in properties}  # such as that of the Context
    for name, schema in properties.items():
        is_described = isinstance(schema, dict) and "description" in schema  # a schema may be a boolean
        if name in texts and not is_described and not has_schema:
            properties[name] = {**schema, "description": texts[name]}
            is_described = True
        if is_described:
            names.add(name)
    spec.unused_docs = [name for name in texts if name not in names]


def model_text(docstring: str | None) -> str:
    """Return the part of a docstring that models read."""
    return parse_docstring(docstring)[0]


def _copied(schema: object, owner: str) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise DefinitionError(f"{owner} must be a dict, got {type(schema).__name__}")
    return dict(schema)


def _from_hints(signature: Signature, texts: Mapping[str, str]) -> Spec:
    """Read type hints, defaults and docstring."""
    _check_kinds(signature)
    parameters = _Parameters(signature)
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
    )


def _check_kinds(signature: Signature) -> None:
    for parameter in signature.parameters:
        problem = f"{signature.name}: arguments are passed by name, "
        if parameter.kind is parameter.VAR_POSITIONAL:
            name = parameter.name
            raise DefinitionError(f"{problem}which `*{name}` cannot take; write `{name}: list[str]` instead")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise DefinitionError(f"{problem}and `{parameter.name}` is positional-only; remove the `/`")


class _Parameters:
    """The parameters of a signature while they are read; `add` raises Unsupported."""

    def __init__(self, signature: Signature) -> None:
        self.reader = Reader(signature.module, signature.local)
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
        if hint is MISSING and type(default) not in (str, int, float, bool):
            raise Unsupported("it has no type hint", "add one, as in `count: int`")
        if is_field(default):
            hint, default = Annotated[hint, default], MISSING
        schema, convert = self.reader.read(type(default) if hint is MISSING else hint)
        check_default(default)
        field = next(filter(is_field, reversed(getattr(hint, "__metadata__", ()))), None)
        if default is MISSING and field is not None and (factory := field_default(field)):
            self.factories[name], default = factory, field.default
        if text and (is_model(hint) or "description" not in schema):
            schema = {**schema, "description": text}
        if default is MISSING:
            self.schema["required"].append(name)
        else:
            schema = with_default(schema, default)
        self.schema["properties"][name] = schema
        if convert:
            self.converters[name] = convert

    def add_keywords(self, hint: Any) -> None:
        if getattr(get_origin(hint), "_name", None) == "Unpack":  # **options: Unpack[Options]
            properties, required, converters, _ = self.reader.read_members(get_args(hint)[0])
            self.schema["properties"] |= properties
            self.schema["required"] += required
            self.converters |= converters
            return
        schema, self.extra = ({}, None) if hint is MISSING else self.reader.read(hint)
        self.schema["additionalProperties"] = schema or True


def _conversion(
    names: Iterable[str],
    converters: Mapping[str, Converter],
    factories: Mapping[str, Callable[[], Any]],
    extra: Converter | None = None,
) -> Callable[[Arguments, Sequence[Problem]], Arguments] | None:
    """Return a function that converts valid arguments and adds defaults; None if there is nothing to do."""
    if not (converters or factories or extra):
        return None

    def convert(arguments: Arguments, schema_problems: Sequence[Problem]) -> Arguments:
        problems = Problems(schema_problems)
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
    reader = Reader(signature.module, signature.local, is_output=True)
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


def _from_schema(signature: Signature, owner: str, input_schema: dict[str, Any]) -> Spec:
    schema: dict[str, Any] = {"type": "object", "properties": {}, **input_schema}
    if schema["type"] != "object":
        raise DefinitionError(f'{owner}: input_schema must have "type": "object", because arguments have names')
    spec = Spec(input_schema=schema, context=_context_of(signature))
    _check_names(signature, owner, spec, schema.get("required", ()))
    return spec


def _from_parameters(signature: Signature, owner: str, parameters: Sequence[Parameter]) -> Spec:
    _check_kinds(signature)
    schema = schema_of_parameters(owner, parameters)
    factories = {item.name: item.default_argument for item in parameters if item.has_default}
    converters = {item.name: convert for item in parameters if (convert := item.converter)}
    spec = Spec(
        input_schema=schema,
        output_schema=_returned_schema(signature),
        context=_context_of(signature),
        convert=_conversion(schema["properties"], converters, factories),
    )
    _check_names(signature, owner, spec, [*schema["required"], *factories])
    return spec


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


def _check_names(signature: Signature, owner: str, spec: Spec, always: Iterable[str]) -> None:
    """Refuse a function that cannot take what its schema allows; every call has the arguments `always`."""
    defaults = {name: default for name, default in signature.defaults.items() if name != spec.context}
    for name in spec.input_schema["properties"]:
        if name not in defaults and not signature.keywords:
            raise DefinitionError(f"{owner}: the function does not take the argument {name!r}; add it, or **arguments")
    if not signature.keywords and spec.input_schema.get("additionalProperties") is not False:
        raise DefinitionError(f"{owner}: input_schema allows any further argument; add **arguments to the function")
    always = set(always)
    for name, default in defaults.items():
        if default is MISSING and name not in always:
            raise DefinitionError(f"{owner}: the function needs {name!r}; require it, or give it a default")
