"""What is known of a tool once it is defined, and never changes after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tools_core._values._errors import DefinitionError, SchemaError
from tools_core._values._frozen import freeze, thaw

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core._definition._draft import Convert
    from tools_core._definition._parameter import Parameter
    from tools_core._jsonschema import Checked, Validator

_ASYNC = 0x80 | 0x200  # inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR, without importing inspect
_TAKES_KEYWORDS = 0x08  # inspect.CO_VARKEYWORDS


class Spec:
    """The frozen definition of one tool's arguments.

    `accepts` and `check` are the validator's own, each compiled at its first call.
    """

    __slots__ = (
        "_validator", "accepts", "check", "context", "convert", "input_schema", "is_async", "output_schema", "packed",
    )  # fmt: skip

    def __init__(
        self,
        input_schema: dict[str, Any],
        *,
        output_schema: dict[str, Any] | None = None,
        context: str | None = None,
        convert: Convert | None = None,
        is_async: bool = False,
        validator: Validator | None = None,
    ) -> None:
        self.input_schema: dict[str, Any] = freeze(input_schema)
        self.output_schema: dict[str, Any] | None = freeze(output_schema)
        self.context = context
        self.convert = convert
        self.is_async = is_async
        self.packed: bytes | None = None
        self._validator = validator
        self.accepts: Callable[[Any], bool] = self._first_accepts
        self.check: Callable[..., Checked] = self._first_check

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, read from the schema on first use."""
        from tools_core._definition._parameter import parameters_of  # calls and definitions never need it

        return parameters_of(self.input_schema)

    @property
    def validator(self) -> Validator:
        if self._validator is None:
            from tools_core._jsonschema import compile_schema  # the first call pays for the compiler

            self._validator = compile_schema(self.input_schema, trusted=True)
        return self._validator

    def _first_accepts(self, value: Any) -> bool:
        self.accepts = self.validator.accepts
        return self.accepts(value)

    def _first_check(self, value: Any, *, repair: bool = True) -> Checked:
        self.check = self.validator.check
        return self.check(value, repair=repair)

    def with_schemas(self, input_schema: dict[str, Any], output_schema: dict[str, Any] | None) -> Spec:
        """The same with other schemas."""
        return Spec(
            input_schema,
            output_schema=output_schema,
            context=self.context,
            convert=self.convert,
            is_async=self.is_async,
        )

    def copy_of_schemas(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Input and output schema as ordinary dicts that are the caller's own."""
        import marshal  # built in; the fastest deep copy of plain JSON data

        if self.packed is None:
            self.packed = marshal.dumps((thaw(self.input_schema), thaw(self.output_schema)))
        copies: tuple[dict[str, Any], dict[str, Any] | None] = marshal.loads(self.packed)  # noqa: S302  (packed just above)
        return copies


def spec_of(
    function: Callable[..., Any],
    *,
    owner: str,
    bound: bool = False,
    input_schema: Mapping[str, Any] | None = None,
    parameters: Sequence[Parameter] = (),
    docstring: str | None = None,
) -> tuple[Spec, str]:
    """Define a tool from its function, or from a ready JSON Schema; returns the description found as well.

    Raises DefinitionError (SchemaError for a schema) naming `owner` and what to write instead.
    """
    from tools_core._definition._signature import read_signature  # who only calls or lists tools never defines one

    if input_schema is not None:
        if parameters:
            raise DefinitionError(f"{owner} has both input_schema and parameters; keep one of them")
        return _spec_of_schema(function, owner, bound, input_schema), described(docstring or function.__doc__)
    signature = read_signature(function, bound=bound, parameters=parameters, docstring=docstring)
    spec = Spec(
        signature.input_schema,
        output_schema=signature.output_schema,
        context=signature.context,
        convert=signature.convert,
        is_async=is_async(function),
        # What our own hints read is known to be enforceable; what others wrote is refused here, if at all.
        validator=_compiled(signature.input_schema, owner) if signature.is_foreign else None,
    )
    return spec, signature.description


def is_async(function: Any) -> bool:
    """Return whether calling `function` gives a coroutine or an asynchronous generator."""
    function = getattr(function, "func", function)  # functools.partial
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", function)  # noqa: B004  (its code is wanted, not whether it is there)
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _ASYNC)


def described(docstring: str | None) -> str:
    """The part of a docstring that is for the model."""
    from tools_core._definition._docstring import parse_docstring  # a part of defining, see above

    return parse_docstring(docstring)[0] if docstring else ""


def _spec_of_schema(function: Callable[..., Any], owner: str, bound: bool, given: Mapping[str, Any]) -> Spec:
    from tools_core._definition._signature import context_parameter

    if not isinstance(given, Mapping):
        raise DefinitionError(f"{owner}: input_schema must be a JSON Schema as a dict, got {type(given).__name__}")
    schema: dict[str, Any] = {"type": "object", "properties": {}, **thaw(dict(given))}
    if schema["type"] != "object":
        raise DefinitionError(f'{owner}: input_schema must have "type": "object", because arguments are named')
    validator = _compiled(schema, owner)
    context = context_parameter(function)
    _check_names(function, owner, bound, schema, context)
    return Spec(schema, context=context, is_async=is_async(function), validator=validator)


def _compiled(schema: dict[str, Any], owner: str) -> Validator:
    from tools_core._jsonschema import compile_schema  # only a schema from outside is compiled before the first call

    try:
        return compile_schema(schema)
    except SchemaError as error:
        raise SchemaError(f"{owner}: {error}") from None


def _check_names(
    function: Callable[..., Any], owner: str, bound: bool, schema: Mapping[str, Any], context: str | None
) -> None:
    """Refuse a function that could not take what its schema allows."""
    code = getattr(function, "__code__", None)
    if code is None:  # a partial or a callable object: only calling it will tell
        return
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[bound:count])
    defaults = len(function.__defaults__ or ()) if hasattr(function, "__defaults__") else 0
    optional = {*code.co_varnames[code.co_argcount - defaults : code.co_argcount], *(function.__kwdefaults__ or {})}
    taken = {*names} - {context}
    takes_all = bool(code.co_flags & _TAKES_KEYWORDS)
    missing = [name for name in schema["properties"] if name not in taken]
    if not takes_all and (missing or schema.get("additionalProperties") is not False):
        problem = f"input_schema has {missing[0]!r}" if missing else "input_schema allows any further argument"
        raise DefinitionError(f"{owner}: {problem}, which the function does not take; add **arguments to it")
    unset = taken - optional - set(schema.get("required", ()))
    if unset:
        raise DefinitionError(f"{owner}: the function needs {min(unset)!r}, which input_schema does not require")
    own = code.co_varnames[0] if bound else None
    if own in schema["properties"]:
        raise DefinitionError(f"{owner}: an argument cannot be called {own!r}; the method's own first parameter is")
