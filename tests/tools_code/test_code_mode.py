"""Code that calls tools, in an agent, an executor and alone."""

import asyncio
import json
import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tools_agent import Agent, AnthropicProvider, OpenAIProvider, ScriptedProvider, ToolFinished, ToolResult
from tools_code import CodeMode
from tools_core import Context, Halt, Registry, Tool, ToolCall, Toolset, tool
from tools_runtime import Executor, Policy, ToolBugError, hookimpl
from tools_shell import Python


@tool(read_only=True)
def price(item: str, count: int = 1) -> int:
    """Look up the price of fruit."""
    if item == "stone":
        raise LookupError("no such fruit")
    return len(item) * count


@tool(requires_approval=True)
def order(item: str) -> dict[str, str]:
    """Order fruit."""
    return {"ordered": item}


def run(code, *tools, hooks=(), policy=None, approve=None, **options):
    """Run code in an agent, and return the result of `run_code`."""
    model = ScriptedProvider(ToolCall(None, "run_code", {"code": code}), "Done.")
    mode = CodeMode(tools or [price, order], **options)
    with Agent(model=model, tools=[mode], hooks=hooks, policy=policy, approve=approve) as agent:
        agent.generate("Go.")
        return next(message.result for message in agent.session if isinstance(message, ToolResult))


def test_the_result_has_the_output_and_the_last_value():
    result = run("print(price('fig'))\nprice('apple', count=2)")
    assert str(result) == "3\n=> 10"


def test_results_are_python_values():
    assert str(run("order('fig')['ordered'].upper()", approve="all")) == "=> 'FIG'"


def test_a_failed_call_is_an_exception_with_the_error_of_the_tool():
    code = "try:\n    price('stone')\nexcept ToolError as error:\n    print(error.error_type, error)"
    assert str(run(code)) == "execution_error LookupError: no such fruit"
    assert 'unknown argument "colour"' in str(run("price('fig', colour='red')"))


def test_the_traceback_of_an_exception_shows_the_code():
    result = str(run("def double(x):\n    return x * missing\ndouble(2)"))
    assert "return x * missing" in result
    assert "NameError" in result
    lines = str(run("price('stone')")).splitlines()
    assert [line.strip() for line in lines[1:3]] == ['File "<code 2>", line 1, in <module>', "price('stone')"]
    assert lines[-1] == "ToolError: LookupError: no such fruit"
    assert "__call__" not in "".join(lines)


@pytest.mark.parametrize(
    "line",
    [
        "import asyncio; print(await asyncio.gather(*(meet.aio(n, attempt) for n in (1, 2, 3))))",
        "from multiprocessing.pool import ThreadPool as P; print(P(3).starmap(meet, [(n, attempt) for n in [1,2,3]]))",
    ],
    ids=["gather", "threads"],
)
def test_calls_of_tasks_and_threads_run_at_once(line):
    # Calls of threads run at once if they are made at once: a busy machine may start a thread too late, for many times.
    barriers = [threading.Barrier(3, timeout=1) for _ in range(60)]

    @tool(read_only=True)
    def meet(number: int, attempt: int) -> int:
        """Wait for two others."""
        barriers[attempt].wait()
        return number

    code = f"for attempt in range(60):\n    try:\n        {line}\n        break\n    except ToolError:\n        pass"
    assert str(run(code, meet)) == "[1, 2, 3]"


def secret_prices():
    deny = {"tool": "price", "decision": "deny", "reason": "prices are secret"}
    return Policy([deny, {"tool": "run_code", "decision": "allow"}], files=(), project=False)


def test_the_policy_of_the_agent_decides_about_the_calls_of_code():
    assert "prices are secret" in str(run("price('fig')", policy=secret_prices()))


def test_calls_ask_for_approval_and_run_hooks_like_direct_calls():
    requests = []
    started = []

    class Log:
        @hookimpl
        def start_tool_call(self, call, tool, context):
            started.append(call.name)

    def approve(request):
        requests.append((request.call.name, request.call.arguments))
        return True

    run("order('fig')\nprice('fig')", hooks=[Log()], approve=approve)
    assert requests == [("order", {"item": "fig"})]
    assert started == ["run_code", "order", "price"]


def test_events_of_calls_reach_the_stream_of_the_agent():
    model = ScriptedProvider(ToolCall(None, "run_code", {"code": "price('fig')"}), "Done.")
    agent = Agent(model=model, tools=[CodeMode([price])])
    events = [event for event in agent.stream("Go.") if isinstance(event, ToolFinished)]
    assert [(event.call.name, event.agent) for event in events] == [("price", "run_code"), ("run_code", None)]


def test_tools_see_the_workspace_and_the_identity_of_the_run(tmp_path):
    contexts = []

    @tool
    def look(context: Context) -> None:
        """Look."""
        contexts.append((context.workspace, context.run_id, context.state["user"]))

    calls = [ToolCall(None, "look", {}), ToolCall(None, "run_code", {"code": "look()"})]
    model = ScriptedProvider(calls, "Done.")
    agent = Agent(model=model, tools=[look, CodeMode([look])], workspace=tmp_path, context={"user": "ada"})
    agent.generate("Look.")
    direct, coded = contexts
    assert direct == coded


def test_bugs_of_tools_are_raised_from_code_if_the_agent_is_strict():
    @tool
    def buggy() -> str:
        """Fail."""
        return undefined_name  # noqa: F821

    model = ScriptedProvider(ToolCall(None, "run_code", {"code": "buggy()"}))
    agent = Agent(model=model, tools=[CodeMode([buggy])], error_policy="strict_bugs")
    with pytest.raises(ToolBugError, match="the tool 'buggy' has a bug: NameError"):
        agent.generate("Go.")


def test_a_halt_in_code_ends_the_conversation():
    @tool
    def stop() -> str:
        """Stop."""
        raise Halt("enough")

    model = ScriptedProvider(ToolCall(None, "run_code", {"code": "stop()\nprint('never')"}))
    response = Agent(model=model, tools=[CodeMode([stop])]).generate("Go.")
    assert (response.outcome, response.content) == ("halted", "enough")


def test_endless_calls_and_endless_code_are_stopped():
    result = run("print('first', flush=True)\nwhile True: price('fig')", max_calls=3)
    assert (result.error_type, str(result)) == ("limit_exceeded", "first\n[stopped at the limit of 3 calls]")
    result = run("print('first')\nwhile True: pass", timeout=0.5)
    assert result.error_type == "timeout_error"
    assert str(result).startswith("first\n")


def test_the_time_of_calls_and_approvals_does_not_count_for_the_limit():
    released = threading.Event()

    def approve(request):
        threading.Timer(1.2, released.set).start()
        return released.wait()

    assert str(run("print(order('fig')['ordered'])", approve=approve, timeout=1)) == "fig"


def test_interrupting_the_agent_ends_the_code():
    model = ScriptedProvider(ToolCall(None, "run_code", {"code": "price('fig')\nwhile True: pass"}))
    agent = Agent(model=model, tools=[CodeMode([price])])
    stream = agent.stream("Go.")
    for event in stream:
        if isinstance(event, ToolFinished) and event.call.name == "price":
            agent.interrupt("enough")
    assert stream.response.interrupt_reason == "enough"


def test_code_cannot_reach_files_or_forge_calls(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    result = str(run(f"import os\nprint(os.listdir())\nprint(open({str(secret)!r}).read())"))
    assert result.startswith("[]\n")
    assert "Error" in result
    forged = """
import os
for number in range(3, 64):
    try:
        os.write(number, b'{"id": "x"}\\n')
    except OSError:
        pass
price("fig")
"""
    assert run(forged).error_type == "validation_error"


def test_folders_of_killed_processes_are_removed_after_a_week(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = Path(str(run("import os\nprint(os.getcwd())")))
    assert not folder.exists()
    folder.mkdir()  # as after `kill -9`
    (folder / "file").touch()
    run("1")
    assert folder.exists()
    os.utime(folder, (0, 0))
    run("1")
    assert not folder.exists()


def test_code_that_runs_code_is_refused():
    with pytest.raises(ValueError, match="code cannot run code"):
        CodeMode([price, CodeMode([price])])


def test_code_without_a_sandbox_needs_approval():
    assert CodeMode([price]).requires_approval is False
    assert CodeMode([price], python=Python(sandbox="none")).requires_approval is True


@pytest.mark.parametrize("level", ["none", "contained", "landlock", "bubblewrap"])
def test_code_runs_at_every_level_of_isolation(level):
    python = Python(sandbox=level)
    if level not in ("none", "contained") and python.call({"code": "1"}).error_type == "unavailable":
        pytest.skip(f"this system does not support {level}")
    assert str(run("print(price('fig'))", python=python, approve="all")) == "3"


def test_a_policy_of_an_executor_holds_for_the_calls_of_code():
    with Executor([CodeMode([price])], policy=secret_prices()) as executor:
        assert "prices are secret" in str(executor.call_tool("run_code", {"code": "price('fig')"}))
    with Executor([CodeMode([order])], approve=lambda request: request.call.name == "order") as executor:
        assert str(executor.call_tool("run_code", {"code": "order('fig')['ordered']"})) == "=> 'fig'"


def test_code_without_an_agent_calls_only_tools_without_approval():
    registry = Registry()
    registry.register(CodeMode([price, order]))
    assert str(registry.call(ToolCall(None, "run_code", {"code": "price('fig')"}))) == "=> 3"
    result = registry.call(ToolCall(None, "run_code", {"code": "order('fig')"}))
    assert result.error_type == "approval_required"


def test_asynchronous_agents_run_code():
    @tool
    async def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    model = ScriptedProvider(ToolCall(None, "run_code", {"code": "print([double(n) for n in range(3)])"}), "Done.")
    agent = Agent(model=model, tools=[CodeMode([double])])
    asyncio.run(agent.agenerate("Go."))
    assert "[0, 2, 4]" in [message.content for message in agent.session]


# Stubs


def test_the_description_shows_tools_as_typed_functions():
    description = CodeMode([price, order]).description
    assert 'def price(item: str, count: int = 1) -> int:\n    """Look up the price of fruit."""' in description
    assert "def order(item: str) -> dict[str, str]:" in description


class Shop(Toolset):
    @tool
    def open(self) -> str:
        """Open the shop."""
        return "open"


@pytest.mark.parametrize("tools", [Shop(), [Shop()], {"shop_open": price}, price.renamed("shop_open")])
def test_code_mode_takes_the_tools_that_an_agent_takes(tools):
    assert "def shop_open(" in CodeMode(tools).description


def test_signatures_have_types_defaults_and_literals():
    definition = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["C", "F"], "default": "C", "description": "Unit of the temperature."},
            "days": {"type": "array", "items": {"type": "integer"}},
            "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "max-age": {"type": "integer"},
            "any": True,
        },
        "required": ["days"],
        "additionalProperties": False,
    }  # fmt: skip

    class Weather(Tool):
        """Look up the weather."""

        name = "get-weather"
        input_schema = definition

        def execute(self, **arguments):
            return arguments

    mode = CodeMode([Weather()])
    signature = (
        "def get_weather(days: list[int], unit: Literal['C', 'F'] = 'C', place: {\"lat\": float} = ..., "
        "note: str | None = ..., any: Any = ..., **arguments) -> Any:"
    )
    assert signature in mode.description
    assert "unit: Unit of the temperature." in mode.description
    assert "max-age: int" in mode.description
    result = str(run("```python\nget_weather([1], 'F', **{'max-age': 3})\n```", Weather()))
    assert result == "=> {'days': [1], 'unit': 'F', 'max-age': 3}"


def test_names_of_builtins_and_of_our_functions_are_free_for_tools():
    @tool(name="print")
    def show(text: str) -> str:
        """Print on paper."""
        return f"printed {text}"

    @tool(name="search_tools")
    def search(query: str) -> str:
        """Search a shed."""
        return f"no {query} in the shed"

    assert str(run("print(print_2('a'))\nprint(search_tools_2('hammer'))", show, search)) == (
        "printed a\nno hammer in the shed"
    )


def test_a_wrong_search_is_an_exception_of_the_code():
    code = "try:\n    search_tools('x', limit='many')\nexcept ToolError as error:\n    print(error.error_type)"
    assert str(run(code)) == "validation_error"


def test_code_searches_among_many_tools():
    def lookup(number):
        subject = "weather" if number == 77 else f"table {number}"

        @tool(name=f"lookup_{number}", description=f"Look up the {subject}. " * 4)
        def function(city: str) -> str:
            return city

        return function

    tools = [lookup(number) for number in range(200)]
    mode = CodeMode(tools)
    assert "search_tools(query" in mode.description
    assert "def lookup_77" not in mode.description
    result = str(run("print(search_tools('weather', limit=1))\nprint(lookup_77('Oslo'))", *tools))
    assert result.startswith("def lookup_77(city: str) -> str:")
    assert result.endswith("Oslo")


# Providers


def openai(path, body):
    if body["messages"][-1]["role"] == "tool":
        return chunks({"content": f"It is {body['messages'][-1]['content']}."}, "stop")
    function = {"name": "run_code", "arguments": json.dumps({"code": "print(price('fig') + price('pear'))"})}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return chunks({"tool_calls": [call]}, "tool_calls")


def chunks(delta, reason):
    return [{"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}]


def anthropic(path, body):
    last = body["messages"][-1]["content"]
    if isinstance(last, list) and last[0]["type"] == "tool_result":
        content = last[0]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        block, reason = {"type": "text", "text": ""}, "end_turn"
        deltas = [{"type": "text_delta", "text": f"It is {text}."}]
    else:
        block = {"type": "tool_use", "id": "call_1", "name": "run_code", "input": {}}
        code = json.dumps({"code": "print(price('fig') + price('pear'))"})
        deltas, reason = [{"type": "input_json_delta", "partial_json": code}], "tool_use"
    message = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize(
    ("provider", "reply", "path"), [(OpenAIProvider, openai, "/v1"), (AnthropicProvider, anthropic, "")]
)
def test_code_runs_for_models_behind_an_api(model_server, provider, reply, path):
    with closing(provider("model", base_url=f"{model_server(reply).url}{path}", api_key="none")) as model:
        assert Agent(model=model, tools=[CodeMode([price])]).generate("Add the prices.").content == "It is 7."
