"""`Tool`: a name, a description, a schema, and code that receives only valid arguments."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from inspect import getattr_static
from typing import Any, ClassVar, Self

from tools_core._definition._define import define, model_text
from tools_core._definition._hints._generics import binding_of_method
from tools_core._definition._parameter import Parameter
from tools_core._definition._spec import Spec
from tools_core._execution._body import arun, run
from tools_core._execution._outcome import fail, succeed
from tools_core._execution._prepare import prepare, valid_arguments
from tools_core._tools._derived import Derived, derived
from tools_core._tools._options import (
    FLAGS,
    HINTS,
    OPTIONS,
    SCHEMAS,
    check_class_attributes,
    check_hints,
    check_name,
    check_option,
    derive_name,
    is_computed,
    no_option,
    right_word,
)
from tools_core._values._context import Context
from tools_core._values._effects import Effects
from tools_core._values._errors import DefinitionError
from tools_core._values._errors import Halt as _Halt
from tools_core._values._result import Result


def _annotations(tool: Any) -> dict[str, bool]:
    return {name: value for name in HINTS if (value := getattr(tool, name)) is not None}


class Tool:
    """Subclass it and write `execute`; the signature becomes the schema, the docstring the description.

    ```python
    class SearchTool(Tool):
        \"\"\"Search the knowledge base.\"\"\"

        read_only = True

        def execute(self, query: Annotated[str, "Words to look for"], limit: int = 10) -> list[str]:
            return find(query, limit)

    SearchTool().call({"query": "halting"}).output
    ```

    `execute` may be `async def`, may ask for the `Context` by annotation, returns any value or a `Result`, raises
    `ToolError` for an expected failure and `Halt` to end the conversation. Options are class attributes:

    - `name` (derived from the class name: `SearchTool` is `search`) and `description` (or `desc`)
    - `parameters` (Parameter objects instead of type hints), `input_schema` (a JSON Schema, with
      `execute(self, **arguments)`), `output_schema`, and `examples`: valid arguments, as a list of dicts
    - the hints `read_only`, `destructive`, `idempotent` and `open_world`
    - `timeout` in seconds, `requires_approval`, `tags`, `repair` (False: do not repair arguments)
    - `stateful`: the tool keeps state in this process, so no other process may run it
    - `manages_timeout`: the tool ends by the deadline of its Context, and has 5 more seconds for that
    - `deferred`: models find the definition by search; `verify`: the name of a read-only tool that finds out whether a
      call with an unknown outcome had its effect

    A class that cannot work raises DefinitionError when it is defined. Subclasses inherit options, but not `read_only`
    and `idempotent` of a parent whose `execute` they override. `class Base(Tool, abstract=True)` is a base without
    `execute`.
    """

    Halt = _Halt  # as `DoesNotExist` of a model in Django

    name: str
    description: str
    desc: str = derived(lambda tool: tool.description)
    input_schema: Mapping[str, Any] = derived(lambda tool: tool._spec.input_schema)
    output_schema: Mapping[str, Any] | None = derived(lambda tool: tool._spec.output_schema)
    # A class declares a list, and reads a mapping by name.
    parameters: Mapping[str, Parameter] | Any = derived(lambda tool: tool._spec.parameters)
    examples: Sequence[Mapping[str, Any]] = derived(lambda tool: tool._spec.examples)
    annotations: Mapping[str, bool] = derived(_annotations)
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    timeout: float | None = None
    requires_approval: bool = False
    repair: bool = True
    tags: Sequence[str] = ()
    stateful: bool = False
    manages_timeout: bool = False
    deferred: bool = False
    verify: str | None = None

    _spec: Spec
    _schemas: ClassVar[Mapping[str, Any]] = {}  # the options that its Spec is built from
    _is_abstract: ClassVar[bool] = True

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        owner = f"{cls.__module__}.{cls.__qualname__}"
        if "annotations" in vars(cls):
            raise DefinitionError(f"{owner}: set {', '.join(HINTS)} as attributes instead of annotations")
        check_class_attributes(cls, owner)
        if isinstance(vars(cls).get("desc"), str):
            cls.description = vars(cls)["desc"]
            del cls.desc
        cls._is_abstract = abstract
        if not abstract:
            _define(cls, owner)

    def __new__(cls, *args: Any, **options: Any) -> Self:
        if cls._is_abstract:
            raise TypeError(f"{cls.__name__} does not define execute: subclass it, or use @tool on a function")
        if (args or options) and cls.__init__ is object.__init__:
            raise TypeError(f"{cls.__name__}() takes no arguments")
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OPTIONS:
            check_option(name, value, type(self).__qualname__)
        elif (option := right_word(name)) == "requires_approval" and not callable(value):
            raise DefinitionError(no_option(type(self).__qualname__, name, option))
        super().__setattr__(name, value)
        if name in HINTS:
            check_hints(self, type(self).__qualname__)

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work; called with valid, converted arguments, by keyword."""
        raise NotImplementedError(f"{type(self).__name__} must implement execute")

    def call(self, arguments: Any = None, /, context: Context | None = None, **keywords: Any) -> Result:
        """Validate, run, and return a Result whatever happens; `call(...).unwrap()` returns the output or raises.

        `arguments` are a mapping, JSON text as a model sends it, a `ToolCall`, nothing, or keywords. Only
        KeyboardInterrupt, SystemExit and similar exceptions pass through. An `async def` is run to its end.
        """
        repairs: Sequence[str] = ()
        try:
            values, context, repairs = prepare(self, arguments, context, keywords)
            value = run(self, values, context)
        # The tool boundary: `fail` decides what becomes a Result and what passes through.
        except BaseException as error:  # noqa: BLE001
            return fail(error, repairs)
        return succeed(value, repairs)

    async def acall(self, arguments: Any = None, /, context: Context | None = None, **keywords: Any) -> Result:
        """`call` for coroutines: a synchronous `execute` runs in a worker thread, cancellation passes through."""
        repairs: Sequence[str] = ()
        try:
            values, context, repairs = prepare(self, arguments, context, keywords)
            value = await arun(self, values, context)
        except BaseException as error:  # noqa: BLE001  (see call)
            return fail(error, repairs)
        return succeed(value, repairs)

    def valid_arguments(self, arguments: Any) -> dict[str, Any]:
        """Return the arguments as the schema has them: validated and repaired, but not converted to Python types.

        Raises:
            InvalidArguments: They cannot be read, or do not fit the schema.
        """
        return valid_arguments(self, arguments)

    def effects(
        self,
        arguments: Mapping[str, Any],  # noqa: ARG002  (for classes that override it)
        context: Context | None = None,  # noqa: ARG002  (overridden by tools that use it)
    ) -> Effects:
        """Return what a call would touch: by default the hints of the tool.

        Policies decide by it. Override it if the effects depend on the arguments. They are as the caller sent them, and
        may be invalid; the context is the one of the call.
        """
        return Effects(self.annotations)

    def diagnose(self) -> Mapping[str, object]:
        """Return facts about this machine for `ask-tools doctor`; none by default.

        Plain JSON by short names, such as `{"isolation": "bubblewrap", "programs": {"rg": "/usr/bin/rg"}}`, with None
        for a missing program; `warnings` is a list of sentences. Raise ToolError if the tool cannot work here, with
        advice.
        """
        return {}

    @property
    def definition(self) -> dict[str, Any]:
        """`tool_definition`, with `output_schema`, `annotations` and `examples`, if there are any; read-only."""
        definition = self.tool_definition
        if (output_schema := self.output_schema) is not None:
            definition["output_schema"] = output_schema
        if annotations := self.annotations:
            definition["annotations"] = annotations
        if examples := self.examples:
            definition["examples"] = examples
        return definition

    @property
    def tool_definition(self) -> dict[str, Any]:
        """`name`, `description` and `input_schema` alone."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    @property
    def params_schema(self) -> dict[str, Any] | None:
        """The input schema; None for a tool without parameters."""
        schema: Any = self.input_schema
        return schema if schema.get("properties") or schema.get("additionalProperties") is not False else None

    @property
    def is_async(self) -> bool:
        """Return whether `execute` is a coroutine function."""
        return self._spec.is_async

    @property
    def takes_context(self) -> bool:
        """Return whether `execute` asks for the Context."""
        return self._spec.context is not None

    def renamed(self, name: str) -> Self:
        """Return the same tool under another name."""
        renamed = copy.copy(self)
        renamed.name = name
        return renamed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name!r}>"


def _define(cls: type[Tool], owner: str) -> None:
    """Build the Spec of a class, and check its options."""
    attributes = vars(cls)
    if cls.execute is Tool.execute:
        raise DefinitionError(
            f"{owner} does not define execute(self, ...); for a base class, write class ...(Tool, abstract=True)"
        )
    docstring, execute = attributes.get("__doc__"), getattr_static(cls, "execute")
    function = getattr(execute, "__func__", execute)
    if isinstance(function, Tool) or hasattr(function, "__tool_options__"):
        raise DefinitionError(f"{owner}.execute: set the options of @tool as class attributes of the tool")
    if attributes.keys() & {"execute", "__orig_bases__", *SCHEMAS} or not hasattr(cls, "_spec"):
        cls._schemas = _schemas_of(cls)
        bound = None if isinstance(execute, staticmethod | classmethod) else binding_of_method(cls, "execute")
        cls._spec = define(cls.execute, owner=owner, bound=bound, docstring=docstring, **cls._schemas)
        text = cls._spec.description
        for schema in SCHEMAS:
            setattr(cls, schema, vars(Tool)[schema])
    else:
        text = model_text(docstring)
    name: Any = attributes.get("name")
    if not is_computed(name):
        cls.name = check_name(derive_name(cls.__name__) if name is None else name, owner)
    description: Any = attributes.get("description") or text or getattr(cls, "description", "")
    if not is_computed(description):
        check_option("description", description, owner)
        cls.description = description.strip()
    for claim in _claims_about_other_code(cls):
        setattr(cls, claim, None)
    for option in (*HINTS, *FLAGS, "timeout", "tags", "verify"):
        check_option(option, getattr(cls, option), owner)
    check_hints(cls, owner)


def _claims_about_other_code(cls: type[Tool]) -> list[str]:
    """Return the inherited claims about the `execute` of a parent that a class replaces; an abstract base has none."""
    if "execute" not in vars(cls):
        return []
    owners: dict[str, Any] = {
        claim: next(base for base in cls.__mro__ if claim in vars(base)) for claim in ("read_only", "idempotent")
    }
    return [
        claim
        for claim, owner in owners.items()
        if owner is not cls and ("execute" in vars(owner) or not getattr(owner, "_is_abstract", True))
    ]


def _schemas_of(cls: type[Tool]) -> dict[str, Any]:
    """Collect the options for the Spec from a class and its bases.

    The options of a concrete parent describe its own `execute`. They do not apply to another `execute`.
    """
    values = {name: getattr_static(cls, name) for name in SCHEMAS}
    schemas = {name: value for name, value in values.items() if not isinstance(value, Derived)}
    is_replaced = not vars(cls).keys().isdisjoint({"execute", "input_schema", "parameters"})
    return schemas if is_replaced else {**cls._schemas, **schemas}
