"""`Server`: tools and results as clients see them, in both protocols."""

import base64

import anyio
import pytest
from mcp import Client, MCPError

from tools_core import Context, Halt, Image, Registry, Result, ToolError, tool
from tools_mcp import Server

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(16)


@tool(read_only=True)
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@tool(read_only=True)
def show(kind: str):
    """Return a result of some kind."""
    if kind == "text":
        return "plain"
    if kind == "image":
        return Image(PIXEL, "image/png")
    if kind == "record":
        return Result.ok({"code": 3}, content="ended with 3")
    if kind == "halt":
        raise Halt("enough")
    raise ToolError("it is broken")


def with_client(use, tools, mode, **options):
    async def main():
        async with Client(Server(tools).lowlevel, mode=mode, **options) as client:
            return await use(client)

    return anyio.run(main)


def error_of(use, tools, mode):
    """Make a request that the protocol refuses, and return the error."""

    async def fail(client):
        with pytest.raises(MCPError) as caught:
            await use(client)
        return caught.value.error

    return with_client(fail, tools, mode)


def call(mode, name, arguments, tools=(add, show)):
    return with_client(lambda client: client.call_tool(name, arguments), list(tools), mode)


def test_a_tool_is_listed_with_its_schemas_and_annotations(mode):
    [listed] = with_client(lambda client: client.list_tools(), [add], mode).tools
    assert (listed.name, listed.title, listed.description) == ("add", "Add", "Add two numbers.")
    assert listed.input_schema["required"] == ["a", "b"]
    assert listed.output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert listed.annotations.read_only_hint is True


def test_a_record_is_structured_content_and_text(mode):
    answer = call(mode, "add", {"a": 1, "b": 2})
    assert (answer.structured_content, answer.content[0].text, answer.is_error) == ({"sum": 3}, '{"sum":3}', False)


def test_text_and_images_are_content_blocks(mode):
    assert call(mode, "show", {"kind": "text"}).content[0].text == "plain"
    image = call(mode, "show", {"kind": "image"}).content[0]
    assert (image.type, image.mime_type) == ("image", "image/png")


def test_text_for_the_model_stands_beside_the_record_of_a_declared_output(mode):
    @tool(read_only=True)
    def run() -> dict[str, int]:
        """Run."""
        return Result.ok({"code": 3}, content="ended with 3")

    answer = call(mode, "run", {}, [run])
    assert (answer.content[0].text, answer.structured_content) == ("ended with 3", {"code": 3})


@pytest.mark.parametrize(
    ("output", "text"),
    [({"a": "x"}, 'a must be an integer, got "x"'), (None, "must be an object"), ("so much", "so much")],
    ids=["another type", "nothing", "text"],
)
def test_a_result_that_violates_the_output_schema_is_an_error(mode, output, text):
    @tool(read_only=True)
    def run() -> dict[str, int]:
        """Run."""
        return output

    answer = call(mode, "run", {}, [run])
    assert (answer.is_error, answer.structured_content) == (True, None)
    assert text in "".join(block.text for block in answer.content)


def test_a_failing_tool_is_a_result_with_an_error(mode):
    answer = call(mode, "show", {"kind": "?"})
    assert (answer.is_error, answer.content[0].text, answer.structured_content) == (True, "it is broken", None)


def test_invalid_arguments_are_a_result_that_the_model_can_read(mode):
    answer = call(mode, "add", {"a": "one"})
    assert answer.is_error
    assert "b is required" in answer.content[0].text


def test_a_halt_is_marked(mode):
    assert call(mode, "show", {"kind": "halt"}).meta["ask-tools/halted"] is True


def test_the_error_for_an_unknown_tool_names_similar_tools(mode):
    error = error_of(lambda client: client.call_tool("ad", {}), [add], mode)
    assert (error.code, error.message) == (-32602, "Unknown tool: ad; did you mean add?")


def test_a_name_that_the_protocol_refuses_is_replaced(mode):
    async def use(client):
        [listed] = (await client.list_tools()).tools
        return listed.name, await client.call_tool(listed.name, {"a": 1, "b": 1})

    name, answer = with_client(use, {"tools-math:add": add}, mode)
    assert (name, answer.structured_content) == ("tools-math_add", {"sum": 2})


def test_a_tool_that_cannot_be_loaded_hides_no_other(mode):
    class Broken(dict):
        def __getitem__(self, name):
            if name == "broken":
                raise ToolError("cannot be imported", "unavailable")
            return super().__getitem__(name)

    listed = with_client(lambda client: client.list_tools(), Broken(add=add, broken=add), mode)
    assert [item.name for item in listed.tools] == ["add"]


def test_a_server_of_some_tools_has_no_others(mode):
    @tool
    def write() -> str:
        """Write."""
        return "written"

    async def names(**options):
        async with Client(Server([add, show, write], **options).lowlevel, mode=mode) as client:
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("write", {})
            return [item.name for item in (await client.list_tools()).tools]

    assert anyio.run(lambda: names(only=["a*", "show"])) == ["add", "show"]
    assert anyio.run(lambda: names(read_only=True)) == ["add", "show"]


@pytest.mark.parametrize("name", ["only", "allow"])
def test_patterns_in_one_string_are_refused(name):
    with pytest.raises(TypeError, match="sequences of names"):
        Server([add], **{name: "add"})


def test_all_tools_are_listed_at_once_in_alphabetical_order(mode):
    many = {f"tool_{number:04}": add.renamed(f"tool_{number:04}") for number in range(2_001)}
    listing = with_client(lambda client: client.list_tools(), dict(reversed(many.items())), mode)
    assert ([item.name for item in listing.tools], listing.next_cursor) == (list(many), None)


def test_progress_arrives_in_order_and_only_forward(mode):
    @tool(read_only=True)
    def work(context: Context) -> str:
        """Work."""
        for done in (0, 1, 0.5, 2, float("nan"), 2):
            context.progress(done, 2, f"step {done} \udc80")
        return "done"

    reports = []

    async def use(client):
        async def report(done, total, message):
            reports.append((done, total, message))

        return await client.call_tool("work", {}, progress_callback=report)

    assert with_client(use, [work], mode).content[0].text == "done"
    assert reports == [(0, 2, "step 0 \ufffd"), (1, 2, "step 1 \ufffd"), (2, 2, "step 2 \ufffd")]


def test_the_last_of_many_progress_reports_arrives(mode):
    @tool(read_only=True)
    def work(context: Context) -> None:
        """Work."""
        for done in range(10_000):
            context.progress(done)

    reports = []

    async def use(client):
        async def report(done, *_):
            reports.append(done)

        await client.call_tool("work", {}, progress_callback=report)

    with_client(use, [work], mode)
    assert reports[-1] == 9_999
    assert reports == sorted(reports)


def test_a_cancelled_request_cancels_the_tool(mode):
    started, finished = anyio.Event(), anyio.Event()

    @tool(read_only=True)
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            finished.set()

    async def use(client):
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait", {})
            await started.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(30):
            await finished.wait()

    with_client(use, [wait], mode)


def test_clients_are_notified_when_a_tool_is_registered(mode):
    registry = Registry()
    registry.register(add)

    async def main():
        changed = anyio.Event()

        async def hear(message):
            if getattr(message, "method", "") == "notifications/tools/list_changed":
                changed.set()

        async with Client(Server(registry).lowlevel, mode=mode, message_handler=hear) as client:
            assert len((await client.list_tools()).tools) == 1
            if mode == "legacy":
                registry.register(show)
                with anyio.fail_after(30):
                    await changed.wait()
            else:
                async with client.listen(tools_list_changed=True) as events:
                    registry.register(show)
                    with anyio.fail_after(30):
                        await anext(aiter(events))
            assert len((await client.list_tools(cache_mode="refresh")).tools) == 2
            registry.unregister("add")
            assert len((await client.list_tools(cache_mode="refresh")).tools) == 1

    anyio.run(main)


def test_records_and_images_are_complete_if_text_is_cut(mode):
    @tool(read_only=True)
    def rows() -> dict[str, str]:
        """Return a long record."""
        return {"text": "x" * 100_000}

    @tool(read_only=True)
    def page() -> list:
        """Return a long text and an image."""
        return ["x" * 100_000, Image(PIXEL)]

    @tool(read_only=True)
    def draw() -> Image:
        """Return an image."""
        return Image(PIXEL)

    async def use(client):
        for _ in range(4):  # a loop, of which the model is warned
            results = [await client.call_tool(name, {}) for name in ("rows", "page", "draw")]
            assert results[0].structured_content == {"text": "x" * 100_000}
            assert len(results[0].content[0].text) < 31_000
            for result in results[1:]:
                assert not result.is_error
                images = [part for part in result.content if part.type == "image"]
                assert [base64.b64decode(image.data) for image in images] == [PIXEL]

    with_client(use, [rows, page, draw], mode)


@pytest.mark.parametrize("only", [[""], ["add", " "], [","]])
def test_an_empty_pattern_serves_no_tools(only):
    with pytest.raises(ValueError, match="empty pattern"):
        Server(only=only)


def test_a_server_of_tools_lists_no_resources_and_no_prompts(mode):
    async def main():
        async with Client(Server([]).lowlevel, mode=mode) as client:
            return (await client.list_resources()).resources, (await client.list_prompts()).prompts

    assert anyio.run(main) == ([], [])


PARAMETERS = [
    ({"type": "integer", "default": 100, "description": "Rows to return."}, "Rows to return (default: 100)."),
    ({"type": "string", "default": ".", "description": "Folder"}, 'Folder (default: ".").'),
    ({"type": "number", "default": 0.5}, "(default: 0.5)."),
    ({"type": "boolean", "default": True, "description": "Follow links."}, "Follow links (default: true)."),
    ({"type": "array", "default": ["a"], "description": "Names."}, 'Names (default: ["a"]).'),
    ({"default": "main", "description": "The default branch?"}, 'The default branch? (default: "main").'),
    ({"default": 30, "description": "Seconds; 30 by default."}, "Seconds; 30 by default."),
    ({"default": 30, "description": "Seconds (default 30)."}, "Seconds (default 30)."),
    ({"default": 30, "description": "Seconds, defaults to half a minute."}, "Seconds, defaults to half a minute."),
    ({"default": False, "description": "Only look."}, "Only look."),
    ({"default": None, "description": "A limit."}, "A limit."),
    ({"default": "x" * 100, "description": "A text."}, "A text."),
    ({"default": "a", "description": 3}, 3),
]


@pytest.mark.parametrize(("parameter", "description"), PARAMETERS)
def test_descriptions_state_the_defaults_that_some_clients_drop(parameter, description):
    nested = {"type": "array", "items": {"type": "object", "properties": {"inner": parameter}}}
    properties = {"outer": parameter, "rows": nested, "default": {"type": "string"}}
    listed = tool(lambda **_: "", name="look", input_schema={"type": "object", "properties": properties})
    received = with_client(lambda client: client.list_tools(), [listed], "legacy").tools[0].input_schema["properties"]
    assert received["outer"].get("description") == description
    assert received["outer"]["default"] == parameter["default"]
    assert received["rows"]["items"]["properties"]["inner"] == received["outer"]
    assert received["default"] == {"type": "string"}
    assert listed.input_schema["properties"]["outer"] == parameter
