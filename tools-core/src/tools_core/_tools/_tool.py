"""`Tool`: a name, a description, a schema, and code that only ever sees arguments which fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tools_core._definition._naming import check_name, derive_name
from tools_core._execution._body import arun, run
from tools_core._execution._outcome import fail, succeed
from tools_core._execution._prepare import NO_CONTEXT, prepare
from tools_core._values._effects import Effects
from tools_core._values._errors import DefinitionError
from tools_core._values._frozen import FrozenDict, FrozenList
from tools_core._values._result import Result

if TYPE_CHECKING:
    from tools_core._definition._parameter import Parameter
    from tools_core._definition._spec import Spec
    from tools_core._values._context import Context


class _Alias:
    """Another name of an attribute, on the class and on its instances."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        return getattr(owner if instance is None else instance, self.name)


HINTS = ("read_only", "destructive", "idempotent", "open_world")
# Claims that hold for the code of the class that makes them only.
_CLAIMS = ("read_only", "idempotent")


class Tool:
    """Subclass it and write `execute`; the signature is the schema, the docstring the description.

    ```python
    class SearchTool(Tool):
        \"\"\"Search the knowledge base.\"\"\"

        read_only = True

        def execute(self, query: Annotated[str, "What to look for"], limit: int = 10) -> list[str]:
            return find(query, limit)

    SearchTool().call({"query": "halting"}).output
    ```

    `execute` may be `async def`, may ask for the `Context` by annotation, returns any value or a `Result`, raises
    `ToolError` for an expected failure and `Halt` to end the conversation. Class attributes, all optional: `name`
    (derived from the class name: `SearchTool` is `search`), `description` (or `desc`), `parameters` (Parameter objects
    in place of hints) or `input_schema` (a ready JSON Schema, with `execute(self, **arguments)`), the hints
    `read_only`, `destructive`, `idempotent` and `open_world`, `timeout` (seconds), `requires_approval`, `repair`
    (False: repair no argument), `tags`, `stateful` (it keeps state in this process: no other may run it) and
    `manages_timeout` (it ends by the deadline of its Context itself, and is given 5 s more for that). A class that
    cannot work raises DefinitionError where it is defined. Restrictive attributes are inherited; `read_only` and
    `idempotent` are not by a class that overrides `execute`. `class Base(Tool, abstract=True)` is a base without
    an `execute`.
    """

    name: str
    description: str
    desc = _Alias("description")
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    parameters: Mapping[str, Parameter] | Any  # a class may assign a list, and reads a mapping
    annotations: Mapping[str, bool]
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

    _spec: Spec
    _is_abstract: ClassVar[bool] = True

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(vars(cls).get("desc"), str):
            cls.description = vars(cls)["desc"]
            del cls.desc
        if "annotations" in vars(cls):
            raise DefinitionError(f"{cls.__qualname__}: set {', '.join(HINTS)} as attributes in place of annotations")
        cls._is_abstract = abstract
        if not abstract:
            _define(cls)

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls._is_abstract:
            raise TypeError(f"{cls.__name__} does not define execute: subclass it, or use @tool on a function")
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name":
            check_name(value, type(self).__qualname__)
        super().__setattr__(name, value)

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        """The tool's own code: called with valid, converted arguments, by keyword."""
        raise NotImplementedError(f"{type(self).__name__} must implement execute")

    def call(self, arguments: Any = None, /, context: Any = NO_CONTEXT, **keywords: Any) -> Result:
        """Validate, run, and return a Result whatever happens; `call(...).unwrap()` returns the output or raises.

        `arguments` are a mapping, JSON text as a model sends it, a `ToolCall`, nothing, or keywords. Only
        KeyboardInterrupt, SystemExit and their like pass through. An `async def` is run to its end.
        """
        prepared = prepare(self, arguments, context, keywords)
        if isinstance(prepared, Result):
            return prepared
        ready, context, repairs = prepared
        try:
            value = run(self, ready, context)
        # The tool boundary: `fail` decides what becomes a Result and what passes through.
        except BaseException as error:  # noqa: BLE001
            return fail(error, repairs)
        return succeed(value, repairs)

    async def acall(self, arguments: Any = None, /, context: Any = NO_CONTEXT, **keywords: Any) -> Result:
        """`call` for coroutines: a synchronous `execute` runs in a worker thread, cancellation passes through."""
        prepared = prepare(self, arguments, context, keywords)
        if isinstance(prepared, Result):
            return prepared
        ready, context, repairs = prepared
        try:
            value = await arun(self, ready, context)
        except BaseException as error:  # noqa: BLE001  (see call)
            return fail(error, repairs)
        return succeed(value, repairs)

    def effects(
        self,
        arguments: Mapping[str, Any],  # noqa: ARG002  (these are for classes that override it)
        context: Context | None = None,  # noqa: ARG002
    ) -> Effects:
        """Return what one call would touch, before it is made: the hints of the tool, unless a class knows more.

        Policies decide by it. The arguments are as the caller gave them, and may be invalid; the context is the one
        that the call would have.
        """
        return Effects(self.annotations)

    def diagnose(self) -> Mapping[str, object]:
        """Return findings about this machine for `ask-tools doctor`; none by default.

        Plain JSON by short names, such as `{"isolation": "bubblewrap", "programs": {"rg": "/usr/bin/rg"}}`, with None
        for a program that is missing. Raise ToolError for what keeps the tool from working, saying what would help.
        """
        return {}

    @property
    def definition(self) -> dict[str, Any]:
        """`name`, `description` and `input_schema`, with `output_schema` and `annotations` where there are any.

        A copy, the caller's own.
        """
        input_schema, output_schema = self._spec.copy_of_schemas()
        made: dict[str, Any] = {"name": self.name, "description": self.description, "input_schema": input_schema}
        if output_schema is not None:
            made["output_schema"] = output_schema
        if self.annotations:
            made["annotations"] = dict(self.annotations)
        return made

    @property
    def tool_definition(self) -> dict[str, Any]:
        """`name`, `description` and `input_schema` alone."""
        return {"name": self.name, "description": self.description, "input_schema": self._spec.copy_of_schemas()[0]}

    @property
    def params_schema(self) -> dict[str, Any] | None:
        """A copy of the input schema; None for a tool that takes nothing."""
        schema = self._spec.copy_of_schemas()[0]
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
        """The same tool under another name."""
        import copy  # rare

        made = copy.copy(self)
        made.name = name
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name!r}>"


class _Parameters:
    """Gives the parameters of a class, and of its instances, when they are asked for."""

    __slots__ = ("spec",)

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def __get__(self, instance: object, owner: type | None = None) -> Mapping[str, Parameter]:
        return self.spec.parameters


def _define(cls: type[Tool]) -> None:
    from tools_core._definition._define import define, described  # programs that only call tools never load it

    own = vars(cls)
    where = f"{cls.__module__}.{cls.__qualname__}"
    if cls.execute is Tool.execute:
        raise DefinitionError(
            f"{where} implements nothing: write execute(self, ...), or class ...(Tool, abstract=True)"
        )
    cls.name = check_name(own["name"] if own.get("name") is not None else derive_name(cls.__name__), where)
    docstring = own.get("__doc__")
    if "execute" in own or "parameters" in own or "input_schema" in own or not hasattr(cls, "_spec"):
        spec = cls._spec = define(
            cls.execute,
            owner=where,
            bound=not isinstance(_declaration(cls, "execute"), staticmethod | classmethod),
            input_schema=_declared(cls, "input_schema"),
            parameters=_listed(_declared(cls, "parameters")),
            docstring=docstring,
        )
        found = spec.description
        cls.input_schema, cls.output_schema = spec.input_schema, spec.output_schema
        cls.parameters = _Parameters(spec)
    else:
        found = described(docstring)
    cls.description = _text(own.get("description") or found or getattr(cls, "description", ""), where)
    _set_attributes(cls, own, where)


def _declaration(cls: type, name: str) -> Any:
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))


def _declared(cls: type[Tool], name: str) -> Any:
    """Return the declaration of the class or an abstract base; those of a concrete parent are not mixed in."""
    for base in cls.__mro__:
        if base is not cls and not getattr(base, "_is_abstract", True):
            return None
        if base is not Tool and name in vars(base):
            return vars(base)[name]
    return None


def _listed(given: Mapping[str, Parameter] | Sequence[Parameter] | None) -> Sequence[Parameter]:
    return tuple(given.values()) if isinstance(given, Mapping) else tuple(given or ())


def _text(description: object, where: str) -> str:
    if not isinstance(description, str):
        raise DefinitionError(f"{where}: description must be text, got {type(description).__name__}")
    return description.strip()


def _set_attributes(cls: type[Tool], own: Mapping[str, Any], where: str) -> None:
    if "execute" in own:
        for name in _CLAIMS:
            if name not in vars(cls):
                setattr(cls, name, None)
    check_attributes(cls, where)
    cls.annotations = annotations_of(cls)
    cls.tags = FrozenList(cls.tags)


def annotations_of(tool: Any) -> Mapping[str, bool]:
    """The hints that are set, by name."""
    return FrozenDict({name: value for name in HINTS if (value := getattr(tool, name)) is not None})


def check_attributes(tool: Any, where: str) -> None:
    """Refuse attribute values that would be wrong, or silently without effect, later."""
    for name in (*HINTS, "requires_approval", "repair", "stateful", "manages_timeout"):
        value = getattr(tool, name)
        if not isinstance(value, bool) and not (value is None and name in HINTS):
            raise DefinitionError(f"{where}: {name} must be True or False, got {value!r}")
    if tool.read_only and tool.destructive:
        raise DefinitionError(f"{where} cannot be both read_only and destructive")
    limit = tool.timeout
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < 1e9):
        raise DefinitionError(f"{where}: timeout must be seconds above 0, or None for no limit; got {limit!r}")
    if isinstance(tool.tags, str) or not all(isinstance(tag, str) for tag in tool.tags):
        raise DefinitionError(f"{where}: tags must be a list of strings, got {tool.tags!r}")
