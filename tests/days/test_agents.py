"""Days with models: a scripted model calls the tools, in our agent, in other frameworks and as an MCP client."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_agent import Agent, ScriptedProvider, SQLiteStore
from tools_core import ToolCall
from tools_runtime import Policy


def call(tool, /, **arguments):
    return ToolCall(None, tool, arguments)


def results(response):
    """Return the contents of the tool results, in their order."""
    return [message.content for message in response.messages if message.role == "tool"]


def test_an_agent_fixes_a_bug_and_commits(day):
    """A model looks around, finds the bug, fixes it, runs the program and commits; all in one run."""
    day.repository({"mean.py": "def mean(numbers):\n    return sum(numbers) / 2\n\n\nprint(mean([1, 2, 3]))\n"})
    model = ScriptedProvider(
        [call("list_directory"), call("grep", pattern="def mean"), call("read_file", path="mean.py")],
        call("edit_file", path="mean.py", old_string="/ 2", new_string="/ len(numbers)"),
        call("bash", command="python3 mean.py && git commit -qam 'Divide by the length' && git log -1 --format=%an"),
        "Fixed.",
    )
    agent = Agent(model=model, tools=day.registry, workspace=day.workspace, approve="all")
    response = agent.generate("The mean is wrong.")
    assert (response.outcome, response.content) == ("completed", "Fixed.")
    assert results(response)[-1].startswith("2.0\nAda Lovelace\n")


@pytest.mark.slow
def test_scripts_that_read_run_at_once_and_a_commit_waits(day):
    """A rule allows scripts that only read: git status and git diff run at once, a commit waits for the user."""
    day.repository({"a.txt": "1\n"})
    day.write({"a.txt": "2\n"})
    model = ScriptedProvider(
        call("bash", command="git status --short && git diff --stat && git log --oneline"),
        call("bash", command="git commit -qam 'Count on'"),
        "Committed.",
    )
    policy = Policy([{"decision": "allow", "tool": "bash", "read_only": True}])
    options = {"model": model, "tools": day.registry, "workspace": day.workspace, "policy": policy}
    with SQLiteStore(day.home / "sessions.db") as store:
        agent = Agent("commit", store=store, **options)
        response = agent.generate("Commit my change")
        assert " M a.txt" in results(response)[0] and response.interrupt_reason == "approval_required"
        (request,) = agent.session.pending_approvals
        assert request["arguments"]["command"] == "git commit -qam 'Count on'"
        assert day.shell("git log --format=%s") == "Start the project\n"
        agent.session.approve(request["call_id"])
        assert agent.generate().content == "Committed."
    assert day.shell("git log -1 --format=%s") == "Count on\n"


MORNING = """
import sys
from tools_agent import Agent, ScriptedProvider, SQLiteStore
from tools_core import Registry, ToolCall

def reply(request):
    done = sum(message.role == "tool" for message in request.messages)
    calls = [
        ("bash", {"command": "echo half > part.txt; cd sub; echo begun; touch ../begun; sleep 600", "session": "s"}),
        ("read_file", {"path": "part.txt"}),
        ("edit_file", {"path": "part.txt", "old_string": "half", "new_string": "whole"}),
        ("bash", {"command": "x=$((x + 1)); echo x=$x", "session": "s"}),
        ("bash", {"command": "git add . && git commit -qm 'Finish the part'"}),
    ]
    return ToolCall(None, *calls[done]) if done < len(calls) else "Finished."

registry = Registry()
registry.discover()
with SQLiteStore(sys.argv[1]) as store:
    agent = Agent("part", store=store, model=ScriptedProvider(default=reply), tools=registry, workspace=".",
                  approve="all", tool_timeout=None)
    response = agent.generate(*sys.argv[2:])
    print(response.outcome, response.content)
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_work_that_was_interrupted_continues_the_next_morning(day, end):
    """Ctrl-C, or a dead battery, in the middle of a command; a new process resumes the session and finishes."""
    day.repository({"sub/a.txt": "1\n", ".gitignore": "begun\n"})
    script, database = day.home / "agent.py", day.home / "sessions.db"
    script.write_text(MORNING)
    command = [sys.executable, script, database]
    with subprocess.Popen([*command, "Finish the part"], cwd=day.workspace, stdin=subprocess.DEVNULL) as evening:
        while not (day.workspace / "begun").exists():
            assert evening.poll() is None
        evening.send_signal(end)
        evening.wait(60)
    assert day.shell(f"{sys.executable} {script} {database}") == "completed Finished.\n"
    assert day.shell("git show HEAD:part.txt && git log -1 --format=%s") == "whole\nFinish the part\n"
    with SQLiteStore(database) as store:
        texts = [message.content for message in Agent("part", store=store, model=ScriptedProvider()).session]
    assert any("begun" in text or "outcome is unknown" in text for text in texts) and any(
        "x=1" in text for text in texts
    )


def test_users_with_equal_names_have_separate_files_sessions_and_jobs(new_day):
    """One process serves two users called ada at the same time: their files, sessions and jobs are separate."""
    days = [new_day("tenant0/ada"), new_day("tenant1/ada")]
    barrier = threading.Barrier(2)

    def work(number):
        day = days[number]
        day.repository({"notes.txt": f"notes of {number}\n"})
        replies = [
            call("read_file" if number == 0 else "file_info", path="notes.txt"),
            call("bash", command=f"user={number}", session="main"),
            call("python", code=f"user = {number}", session="main"),
            call("job_start", command=f"echo {number}; sleep 60"),
            [
                call("bash", command="echo $user; cat notes.txt", session="main"),
                call("python", code="user", session="main"),
            ],
            [call("job_output"), call("write_file", path="notes.txt", content=f"changed by {number}\n")],
            "Done.",
        ]

        def reply(request):
            barrier.wait(60)  # both users are at the same step
            return replies.pop(0)

        with SQLiteStore(day.workspace.parent / "sessions.db") as store:
            options = {"model": ScriptedProvider(default=reply), "tools": days[0].registry, "approve": "all"}
            return results(Agent("ada", store=store, workspace=day.workspace, **options).generate("Work"))

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(work, (0, 1)))
    for number, (*_, bash, python, jobs, _) in enumerate(answers):
        assert bash.startswith(f"{number}\nnotes of {number}\n") and python.startswith(f"=> {number}\n")
        assert f"echo {number}; sleep" in jobs and f"echo {1 - number}; sleep" not in jobs
    assert days[0].read("notes.txt") == "changed by 0\n"
    assert (
        days[1].read("notes.txt") == "notes of 1\n" and "not read" in answers[1][-1]
    )  # only the other user has read it
    days[0].uncommitted = [" M notes.txt"]


@pytest.mark.slow
def test_an_mcp_client_works_in_the_workspace(day):
    """A client of the official SDK reads, edits, runs and commits through `ask-tools serve`."""
    mcp = pytest.importorskip("mcp", reason="mcp is not installed")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    day.repository({"app.py": "print('old')\n"})
    words = ["-m", "tools_core", "serve", "--allow", "edit_file,bash,job_start"]
    server = StdioServerParameters(command=sys.executable, args=words, cwd=day.workspace, env=dict(os.environ))

    async def work():
        async with stdio_client(server) as streams, mcp.ClientSession(*streams) as client:
            await client.initialize()

            async def call(tool, **arguments):
                result = await client.call_tool(tool, arguments)
                return result.content[0].text

            assert "old" in await call("read_file", path="app.py")
            await call("edit_file", path="app.py", old_string="old", new_string="new")
            assert "new\n" in await call("bash", command="python3 app.py && git commit -qam 'Print new'")
            (job,) = re.findall(r"job-\w+", await call("job_start", command="echo ready; sleep 60"))
            assert "ready" in await call("job_output", id=job, wait_for="ready")
            assert "approval" in await call("write_file", path="other.py", content="")

    asyncio.run(asyncio.wait_for(work(), 120))
    assert day.shell("git log -1 --format='%an: %s'") == "Ada Lovelace: Print new\n"


FRAMEWORKS = """
import asyncio, json, sys
from tools_adapters import to_langchain, to_openai_agents, to_pydantic_ai
from tools_core import Context, Registry

registry = Registry()
registry.discover()
tools = [registry[name] for name in ("read_file", "edit_file", "bash")]
STEPS = [
    ("read_file", {"path": "log.txt"}),
    ("edit_file", {"path": "log.txt", "old_string": "end", "new_string": "NAME\\nend"}),
    ("bash", {"command": "git commit -qam 'Change by NAME' && cat log.txt"}),
]

def steps(name):
    return [(tool, json.loads(json.dumps(arguments).replace("NAME", name))) for tool, arguments in STEPS]

def langchain():
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    class Model(FakeMessagesListChatModel):
        def bind_tools(self, tools, **options):
            return self

    calls = [
        AIMessage("", tool_calls=[{"type": "tool_call", "id": tool, "name": tool, "args": arguments}])
        for tool, arguments in steps("langchain")
    ]
    agent = create_agent(Model(responses=[*calls, AIMessage("done")]), to_langchain(tools, approve="all"))
    return agent.invoke({"messages": "hi"})["messages"][-1].content

def pydantic_ai():
    from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    replies = iter([*(ToolCallPart(tool, arguments) for tool, arguments in steps("pydantic-ai")), TextPart("done")])
    agent = Agent(FunctionModel(lambda messages, info: ModelResponse([next(replies)])),
                  toolsets=[to_pydantic_ai(tools, approve="all")])
    return agent.run_sync("hi").output

def openai_agents():
    import agents
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    agents.set_trace_processors([])
    text = ResponseOutputText(type="output_text", text="done", annotations=[])
    replies = iter([
        *(ResponseFunctionToolCall(type="function_call", call_id=tool, name=tool, arguments=json.dumps(arguments))
          for tool, arguments in steps("openai-agents")),
        ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text]),
    ])

    class Model(agents.Model):
        async def get_response(self, *request, **options):
            return agents.ModelResponse([next(replies)], agents.Usage(), None)

        def stream_response(self, *request, **options):
            raise NotImplementedError

    agent = agents.Agent("worker", tools=to_openai_agents(tools, approve="all"), model=Model())
    return agents.Runner.run_sync(agent, "hi").final_output

print([framework() for framework in (langchain, pydantic_ai, openai_agents)])
"""


@pytest.mark.slow
def test_three_frameworks_use_the_same_tools_in_one_process(day, environment_with):
    """LangChain, pydantic-ai and the OpenAI Agents SDK read, edit and commit the same file, one after the other."""
    ours = ["tools-core", "tools-filesystem", "tools-shell", "packages/tools-runtime"]
    ours += ["packages/tools-adapters[langchain,pydantic-ai,openai-agents]"]
    python = environment_with("days", ours, ["langchain<2", "pydantic-ai-slim<3", "openai-agents<1"])
    day.repository({"log.txt": "end\n"})
    process = subprocess.run(
        [python, "-c", FRAMEWORKS],
        cwd=day.workspace,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert process.stdout == "['done', 'done', 'done']\n", process.stdout + process.stderr
    assert day.read("log.txt") == "langchain\npydantic-ai\nopenai-agents\nend\n"
    subjects = day.shell("git log --reverse --format='%an: %s'").splitlines()[1:]
    assert subjects == [f"Ada Lovelace: Change by {name}" for name in ("langchain", "pydantic-ai", "openai-agents")]
    model = ScriptedProvider(call("read_file", path="log.txt"), "Read.")
    assert (
        "openai-agents" in results(Agent(model=model, tools=day.registry, workspace=day.workspace).generate("Read"))[0]
    )


@pytest.mark.slow
def test_the_command_line_is_used_for_a_whole_task(day):
    """Do a task with `ask-tools` alone: discover, show, check and call tools, keep a session, run an agent."""
    day.repository({"todo.txt": "buy milk\n"})
    assert "edit_file" in day.ask_tools("list", "*file*")
    assert "old_string" in day.ask_tools("show", "edit_file")
    assert "buy milk" in day.ask_tools("call", "read_file", "path=todo.txt")
    day.ask_tools("call", "bash", "--yes", "--run", "mine", "session=s", "command=cd /tmp; item=tea")
    assert "tea /tmp" in day.ask_tools("call", "bash", "--yes", "--run", "mine", "session=s", "command=echo $item $PWD")
    day.ask_tools("call", "edit_file", "path=todo.txt", "old_string=milk", "new_string=tea", "--yes")
    day.ask_tools("call", "bash", "--yes", "command=git commit -qam 'Buy tea'")
    assert day.shell("git log -1 --format='%an: %s'") == "Ada Lovelace: Buy tea\n"
    wrong = day.ask_tools("call", "read_file", "path=tudo.txt", exit_code=1)
    assert "todo.txt" in wrong
    output = day.ask_tools("run", "Look around", "--model", "scripted:demo", "--session", "look", "--yes")
    assert "Done: summary.md has the list of files." in output
    assert "look" in day.ask_tools("sessions", "list")
    day.uncommitted = ["?? summary.md"]
