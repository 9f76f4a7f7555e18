"""The plugin of llm in its command, `to_llm` and `from_llm`, with a model that answers as told."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import runpy
import subprocess
import sys
from importlib import import_module
from typing import Any

import llm
import pytest
from samples import PNG, fail, leave, picture, removal, weather

from tools_adapters import from_llm, to_llm
from tools_core import Context, DefinitionError, Image, Result

# A model for the command and the library. It runs the calls of the prompt, and repeats their results.
MODEL = """
import json

import llm


def turn(prompt, response):
    if prompt.tool_results:
        return json.dumps([each.output for each in prompt.tool_results])
    for name, arguments in json.loads(prompt.prompt):
        response.add_tool_call(llm.ToolCall(name=name, arguments=arguments))
    return ""


class Scripted(llm.Model):
    model_id = "scripted"
    supports_tools = True

    def execute(self, prompt, stream, response, conversation):
        yield turn(prompt, response)


class AsyncScripted(llm.AsyncModel):
    model_id = "scripted"
    supports_tools = True

    async def execute(self, prompt, stream, response, conversation):
        yield turn(prompt, response)


@llm.hookimpl
def register_models(register):
    register(Scripted(), AsyncScripted())
"""
INSTALLED = '''
from tools_core import Context, Halt, tool

notes = {}


@tool
def note(text: str, context: Context, times: int = 1) -> str:
    """Write a note."""
    notes.setdefault(context.run_id, []).append(text)
    return f"{len(notes[context.run_id])} notes"


@tool(requires_approval=True)
def erase(path: str) -> str:
    """Erase a file."""
    return f"erased {path}"


@tool(input_schema={"type": "object", "properties": {"from": {"type": "string"}, "any": True}})
def stop(**arguments) -> str:
    """End the conversation."""
    raise Halt("the end")
'''
POINTS = {
    "fine_tools": """\
[ask_tools.tools]
note = fine:note
erase = fine:erase
Stop = fine:stop
[llm]
scripted = scripted
""",
    "broken_tools": "[ask_tools.tools]\nbroken = broken:it\n",
}


@pytest.fixture
def command(tmp_path):
    """`command(*words)` runs llm, with two more distributions installed, of which one is broken."""
    (tmp_path / "logs-off").touch()  # no database, which takes time to make
    (tmp_path / "scripted.py").write_text(MODEL)
    (tmp_path / "fine.py").write_text(INSTALLED)
    (tmp_path / "broken.py").write_text("import missing_module")
    for name, points in POINTS.items():
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(points)
    folder = str(tmp_path)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": folder, "HOME": folder, "LLM_USER_PATH": folder}

    def command(*words, stdin=subprocess.DEVNULL, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        options["env"] = environ | options.get("env", {})
        return subprocess.run([sys.executable, "-m", "llm", *words], stdin=stdin, text=True, check=False, **options)

    return command


def test_every_installed_tool_is_listed_and_a_broken_one_says_why(command):
    done = command("tools", "list")
    assert done.returncode == 0, done.stderr
    assert "note(*, text: str, times: int = 1) (plugin: ask-tools)\n\n  Write a note." in done.stdout
    assert "stop(*, any=None) (plugin" in done.stdout
    assert "Unavailable: `broken` of broken-tools 1.0 is unavailable: ModuleNotFoundError" in done.stdout
    assert "llm_version" in done.stdout


def test_a_tool_runs_in_the_command_and_its_calls_are_one_run(command):
    calls = json.dumps([["note", {"text": "a"}], ["note", {"text": 1}], ["note", {"text": "b"}], ["broken", {}]])
    done = command("-m", "scripted", "-T", "note", "-T", "broken", calls)
    assert done.returncode == 0, done.stderr
    first, second, third, fourth = json.loads(done.stdout)
    assert (first, third) == ("1 notes", "2 notes")
    assert second.startswith("Error: text")
    assert fourth.startswith("Error: `broken` of broken-tools 1.0 is unavailable")


def test_packages_of_tools_that_a_command_does_not_use_are_not_imported(command, tmp_path):
    (tmp_path / "broken.py").write_text("raise SystemExit('imported')")
    code = "import sys, llm; print('note' in llm.get_tools(), 'fine' in sys.modules)"
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_an_unreadable_lock_allows_no_tool_and_llm_works(command):
    done = command("tools", "list", env={"ASK_TOOLS_LOCK": "missing.lock"})
    assert done.returncode == 0
    assert "llm_version" in done.stdout
    assert "note" not in done.stdout
    assert "missing.lock" in done.stderr


def test_an_llm_without_tools_can_load_the_plugin(monkeypatch):
    monkeypatch.delattr(llm, "Tool")
    runpy.run_module("tools_adapters._llm")


REFUSED = "Error: erase was not approved. Do not work around this. Tell the user, or continue without it."
ERASE = ("-m", "scripted", "-T", "erase", json.dumps([["erase", {"path": "a.txt"}]]))


def test_a_tool_that_requires_approval_is_refused_without_a_terminal(command):
    refused = command(*ERASE)
    assert json.loads(refused.stdout) == [REFUSED]
    assert refused.stderr.endswith("no terminal to ask at; ASK_TOOLS_LLM_APPROVE=all allows it\n")
    assert json.loads(command(*ERASE, env={"ASK_TOOLS_LLM_APPROVE": "all"}).stdout) == ["erased a.txt"]


@pytest.mark.parametrize(
    ("words", "answer", "result"),
    [([], b"y\n", "erased a.txt"), ([], b"n\n", REFUSED), (["--ta"], b"y\n", "erased a.txt")],
)
def test_a_terminal_is_asked_once(command, words, answer, result):
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    done = command(*words, *ERASE, stdin=theirs, stderr=theirs)
    prompt = os.read(ours, 9999)
    os.close(ours)
    os.close(theirs)
    assert done.stdout.endswith(f'["{result}"]\n')
    assert (prompt.decode() + done.stdout).count("[y/N]") == 1
    assert "a.txt" in prompt.decode()


def test_a_halt_ends_the_command(command):
    done = command("-m", "scripted", "-T", "stop", json.dumps([["stop", {}]]))
    assert (done.returncode, done.stdout.strip(), done.stderr) == (1, "", "Error: the end\n")


@pytest.fixture
def models(tmp_path, monkeypatch):
    """The scripted model of the command, synchronous and asynchronous."""
    (tmp_path / "scripted_models.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "scripted_models", raising=False)
    models = import_module("scripted_models")
    return models.Scripted(), models.AsyncScripted()


def chain(models, tools, *calls, asynchronous=False, **options):
    results = []
    model, tools = models[asynchronous], to_llm(tools, asynchronous=asynchronous, **options)
    response = model.chain(json.dumps(calls), tools=tools, after_call=lambda *about: results.append(about[2]))
    asyncio.run(response.text()) if asynchronous else response.text()
    return sorted(results, key=lambda result: result.tool_call_id)  # an AsyncModel sorts results by their end


BOTH = pytest.mark.parametrize("asynchronous", [False, True])


@BOTH
def test_the_tool_validates_and_repairs_a_call_and_a_failure_raises(models, asynchronous):
    assert to_llm(weather)[0].input_schema == weather.input_schema
    calls = [("weather", {"city": "Oslo", "days": "3"}), ("weather", {"days": "x"}), ("fail", {})]
    context = Context(run_id="talk")
    first, second, third = chain(models, [weather, fail], *calls, asynchronous=asynchronous, context=context)
    output = json.loads(first.output)
    assert (output["days"], output["run"], first.exception) == (3, "talk", None)
    assert second.output == 'Error: city is required: a string; days must be an integer, got "x"'
    assert (third.output, third.exception.type) == ("Error: no such city", "not_found")


@BOTH
def test_a_halt_pauses_the_chain_and_carries_the_result(models, asynchronous):
    with pytest.raises(llm.PauseChain, match="bye") as paused:
        chain(models, [leave], ("leave", {}), asynchronous=asynchronous)
    assert paused.value.result == Result.halt("bye")


def test_pictures_and_pdfs_are_attachments(models):
    (result,) = chain(models, [picture], ("picture", {}))
    assert result.output.startswith("see\n")
    assert [(attachment.type, attachment.content[:4]) for attachment in result.attachments] == [
        ("image/png", PNG[:4]),
        ("application/pdf", b"%PDF"),
    ]


@BOTH
def test_a_call_that_requires_approval_is_refused_without_it(models, asynchronous):
    remove, removed = removal()
    (result,) = chain(models, [remove], ("remove", {"path": "a"}), asynchronous=asynchronous)
    assert result.output.startswith("Error: remove needs approval by the user and was not run")
    assert (result.exception.type, removed) == ("approval_required", [])
    allowed = {"approve": lambda request: True, "asynchronous": asynchronous}
    (result,) = chain(models, [remove], ("remove", {"path": "a"}), **allowed)
    assert result.output == "removed a"


def test_their_tools_become_ours():
    class Notes(llm.Toolbox):
        def add(self, text: str, llm_tool_call: Any = None) -> str:
            """Add a note."""
            return f"{llm_tool_call.tool_call_id}: {text}"

    def divide(number: int) -> int:
        """Divide 10."""
        return 10 // number

    async def show() -> llm.ToolOutput:
        """Show a picture."""
        return llm.ToolOutput("here", [llm.Attachment(type="image/png", content=PNG)])

    def ask() -> str:
        """Ask."""
        raise llm.PauseChain("wait for the user")

    tools = {tool.name: tool for tool in from_llm([Notes, divide, llm.Tool.function(show), ask])}
    assert tools["Notes_add"].call({"text": "a"}, Context(call_id="call_1")).output == "call_1: a"
    assert tools["divide"].description == "Divide 10."
    assert tools["divide"].call(number=5).output == 2
    assert "division" in (tools["divide"].call(number=0).error or "")
    assert tools["divide"].call(number="x").error_type == "validation_error"
    assert tools["show"].call().content == ("here", Image(PNG))
    with pytest.raises(DefinitionError, match=r"\.odd: the schema at #/properties/a/type"):
        from_llm([llm.Tool("odd", "Odd.", {"properties": {"a": {"type": "picture"}}}, ask)])
    paused = tools["ask"].call()
    assert (paused.halted, paused.error) == (True, "wait for the user")
