"""Options of tools: no option is lost, and a misspelt option is refused."""

import functools

import pytest

from tools_core import DefinitionError, Registry, Tool, Toolset, tool


class Mixin:
    """A plain class that toolsets share."""

    @tool(requires_approval=True)
    def remove(self, path: str) -> str:
        """Remove a file."""
        return f"removed {path}"


def test_tool_options_on_execute_are_refused():
    with pytest.raises(DefinitionError, match=r"Remove\.execute: set the options of @tool as class attributes"):

        class Remove(Tool):
            """Remove a file."""

            @tool(requires_approval=True)
            def execute(self, path: str) -> None: ...


@pytest.mark.parametrize("decorate", [lambda f: tool(staticmethod(f)), lambda f: staticmethod(tool(f)), tool])
def test_tool_options_on_a_static_execute_are_refused(decorate):
    def execute(path: str) -> None:
        """Remove a file."""

    with pytest.raises(DefinitionError, match="as class attributes"):
        type("Remove", (Tool,), {"execute": decorate(execute)})


def test_options_pass_through_other_decorators():
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    class Files(Toolset):
        @logged
        @tool(requires_approval=True)
        def remove(self, path: str) -> str:
            """Remove a file."""
            return f"removed {path}"

    remove = Files().tool("remove")
    assert remove.requires_approval and remove.call(path="a").output == "removed a"


def test_a_mixin_of_a_toolset_keeps_its_options():
    class Files(Mixin, Toolset):
        """Files."""

    files = Files()
    assert files.tool("remove").requires_approval
    assert files.remove("a") == files.tool("remove").call(path="a").output == "removed a"


def test_a_decorated_method_of_another_class_cannot_be_registered():
    class Files:
        @tool(requires_approval=True)
        def remove(self, path: str) -> str:
            """Remove a file."""
            return path

    with pytest.raises(DefinitionError, match="needs a class that inherits from Toolset"):
        Registry().register(Files().remove)


def test_a_class_cannot_be_decorated():
    with pytest.raises(DefinitionError, match=r"Search is a class: write class Search\(Tool\)"):

        @tool(requires_approval=True)
        class Search:
            """Search."""


def test_a_toolset_without_methods_has_no_tools():
    class Empty(Toolset):
        """Empty."""

    class Full(Empty):
        def count(self) -> int:
            """Count."""
            return 1

    with pytest.raises(DefinitionError, match="Empty has no tools: write a public method"):
        Registry().register(Empty())
    with pytest.raises(DefinitionError, match="Empty has no tools"):
        Empty().tools
    assert [count.name for count in Full().tools] == ["full_count"]


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("requires_aproval", "requires_approval"),
        ("requiresApproval", "requires_approval"),
        ("needs_approval", "requires_approval"),
        ("human_approval", "requires_approval"),
        ("approval_mode", "requires_approval"),
        ("requires_confirmation", "requires_approval"),
        ("require_confirmation", "requires_approval"),
        ("needsConfirmation", "requires_approval"),
        ("args_schema", "input_schema"),
        ("params", "parameters"),
        ("identifier", "name"),
        ("readOnlyHint", "read_only"),
    ],
)
def test_a_class_attribute_with_the_word_of_another_framework_is_refused(name, option):
    with pytest.raises(DefinitionError, match=f"no option '{name}'; did you mean '{option}'"):
        type("Remove", (Tool,), {name: True, "execute": lambda self: None})


@pytest.mark.parametrize(
    "name",
    [
        "_readonly",
        "timeout_s",
        "readonly",
        "parameter",
        "idempotency",
        "description_",
        "approved_by",
        "limit",
        "confirm",
    ],
)
def test_private_names_and_helper_attributes_are_allowed(name):
    new_tool = type("Remove", (Tool,), {name: "x", "params_of": lambda self: 1, "execute": lambda self: None})
    assert getattr(new_tool, name) == "x"


def test_an_instance_cannot_lose_approval_by_a_misspelt_attribute():
    class Remove(Tool):
        """Remove."""

        def __init__(self) -> None:
            self.params = {"of": "a helper"}
            self.requires_aproval = True

        def execute(self) -> None: ...

    with pytest.raises(DefinitionError, match="did you mean 'requires_approval'"):
        Remove()


def test_an_unknown_decorator_option_is_refused_with_a_suggestion():
    with pytest.raises(DefinitionError, match="no option 'readonly'; did you mean 'read_only'"):
        tool(lambda: 1, name="one", readonly=True)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match="no option 'colour'; it has name, description"):
        tool(lambda: 1, name="one", colour="red")  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match="did you mean 'read_only'"):

        class Notes(Toolset):
            @tool(readonly=True)  # type: ignore[call-overload]
            def add(self) -> None: ...


@pytest.mark.parametrize("word", ["needs_approval", "requires_confirmation", "requiresApproval"])
def test_a_word_for_approval_on_a_toolset_class_is_refused(word):
    with pytest.raises(DefinitionError, match=r"Notes: set requires_approval on its methods: @tool\("):
        type("Notes", (Toolset,), {word: True, "add": lambda self: None})


def test_options_of_tools_on_a_toolset_class_are_refused():
    with pytest.raises(DefinitionError, match=r"Notes: set requires_approval on its methods: @tool\("):
        type("Notes", (Toolset,), {"requires_approval": True, "add": lambda self: None})


def test_hints_that_an_instance_sets_have_their_effect():
    class Query(Tool):
        """Query a database."""

        def __init__(self, read_only: bool) -> None:
            self.read_only = read_only

        def execute(self) -> None: ...

    query = Query(read_only=True)
    assert query.annotations == query.definition["annotations"] == query.effects({}).annotations == {"read_only": True}
    assert Query.annotations == {}


@pytest.mark.parametrize(
    ("name", "value"), [("read_only", "yes"), ("timeout", -1), ("tags", "files"), ("description", 5), ("verify", 1)]
)
def test_invalid_options_are_refused_on_instances_and_functions(name, value):
    new_tool = tool(lambda: 1, name="one")
    with pytest.raises(DefinitionError, match=name):
        setattr(new_tool, name, value)
    with pytest.raises(DefinitionError, match=name):
        tool(lambda: 1, **{"name": "one", name: value})


@pytest.mark.parametrize("name", ["annotations", "input_schema", "output_schema", "parameters", "examples"])
def test_derived_attributes_cannot_be_set_on_an_instance(name):
    with pytest.raises(AttributeError, match=f"{name} cannot be changed"):
        setattr(tool(lambda: 1, name="one"), name, {})


def test_a_description_may_be_a_property():
    class Read(Tool):
        def __init__(self, root: str) -> None:
            self.root = root

        @property
        def description(self) -> str:  # type: ignore[override]
            return f"Read files below {self.root}."

        def execute(self) -> None: ...

    class Notes(Toolset):
        def __init__(self, owner: str) -> None:
            self.owner = owner

        @property
        def description(self) -> str:  # type: ignore[override]
            return f"Notes of {self.owner}."

        def add(self, text: str) -> None:
            """Add a note."""

    assert Read("/a").definition["description"] == "Read files below /a."
    assert Notes("Ada").tool("add").description == "Add a note.\n\nNotes of Ada."


def test_changes_of_the_tools_of_a_toolset_are_kept():
    class Notes(Toolset):
        def add(self, text: str) -> None:
            """Add a note."""

    notes = Notes()
    notes.tools[0].timeout = 5
    assert notes.tools[0].timeout == notes.tool("add").timeout == 5
    assert Notes().tools[0].timeout is None
