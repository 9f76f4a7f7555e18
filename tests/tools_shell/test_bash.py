from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_core import Context
from tools_shell import Bash, JobOutput, JobStart, Python


def test_a_failed_script_is_a_result_with_its_exit_code(bash):
    result = bash.call(command="echo out; exit 3")
    assert result.ok
    assert result.output == {"output": "out\n", "exit_code": 3, "timed_out": False}
    assert {"duration", "isolation", "not_isolated"} <= set(result.metadata)


def test_a_model_reads_the_output_and_then_the_exit_code(bash):
    assert re.fullmatch(r"out\n\[exit 3 after \d+\.\d s\]", bash.call(command="echo out; exit 3").content)
    assert re.fullmatch(r"no end\n\[exit 0 after .* s\]", bash.call(command="printf 'no end'").content)
    assert bash.call(command="kill -KILL $$").content.startswith("[exit 137 (SIGKILL) after ")


def test_long_output_is_cut_in_the_middle_for_models(bash):
    content = bash.call(command="seq 100000").content
    head, number, tail = re.split(r"\n\[\.\.\. ([\d,]+) characters omitted \.\.\.\]\n", content)
    shown = tail[: tail.index("\n100000\n") + len("\n100000\n")]
    assert head.startswith("1\n2\n")
    assert int(number.replace(",", "")) == 588_895 - len(head) - len(shown)
    assert 29_000 < len(content) <= 30_000
    assert content.endswith("[redirect long output to a file to read all of it]")
    assert "redirect" not in bash.call(command="echo '[... 3 more ...]'").content


NO_NETWORK = "this sandbox has no network"


def test_a_failure_without_network_is_explained_in_a_sandbox(bash, level):
    content = bash.call(command="echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6").content
    assert (NO_NETWORK in content) == (level in ("landlock", "bubblewrap"))


SHOWN = {
    "colours": (r"\e[1;31mred\e[0m\n", "red\n"),
    "a title": (r"\e]0;title\a\e]8;;http://x\e\\link\n", "link\n"),
    "progress": (r"10%%\r20%%\r100%%\ndone\n", "100%\ndone\n"),
    "windows": (r"a\r\nb\r\n", "a\nb\n"),
    "overstrike": (r"_\bb_\bo_\bl_\bd\n", "bold\n"),
    "zeros": (r"a\0b\n", "a\N{SYMBOL FOR NULL}b\n"),
    "a bell": (r"a\ab\n", "a\N{SYMBOL FOR BELL}b\n"),
    "text": (r"a\tb \u00e9\n", "a\tb \u00e9\n"),
}


@pytest.mark.parametrize("case", SHOWN)
def test_a_model_reads_output_as_a_terminal_shows_it(bash, case):
    printed, expected = SHOWN[case]
    result = bash.call(command=f"printf '{printed}'")
    assert result.content.startswith(f"{expected}[exit 0")


@pytest.mark.parametrize("level", ["bubblewrap"], indirect=True)
@pytest.mark.parametrize("text", ["touch: Read-only file system"])
def test_a_script_that_succeeds_gets_no_notes_about_the_sandbox(bash, root, text):
    (root / "log").write_text(text)
    assert bash.call(command="cat log").content.startswith(f"{text}\n[exit 0 after ")
    assert bash.call(command="cat log").content.count("[") == 1
    assert bash.call(command="cat log; exit 1").content.count("[") == 2
    code = "print(open('log').read())"
    assert Python(root).call(code=code).content.count("[") == 1
    assert Python(root).call(code=f"{code}\nraise OSError").content.count("\n[") == 2


@pytest.mark.parametrize(("script", "code", "signal"), [
    ("exit 137", 137, "SIGKILL"), ("kill -KILL $$", 137, "SIGKILL"), ("kill $$", 143, "SIGTERM"),
    ("exit 255", 255, None)
])  # fmt: skip
def test_an_exit_code_is_the_same_at_every_level(bash, root, level, script, code, signal):
    output = bash.call(command=script).output
    assert (output["exit_code"], output.get("signal")) == (code, signal)
    job = JobStart(root, sandbox=level).call(command=script).output["id"]
    output = JobOutput(root).call(id=job, until_end=True).output
    assert (output["exit_code"], output.get("signal")) == (code, signal)


@pytest.mark.parametrize(("level", "retries"), [("bubblewrap", "0"), ("contained", "undefined")], indirect=["level"])
def test_npm_fails_at_once_in_a_sandbox_without_network(bash, retries):
    assert bash.call(command="echo ${npm_config_fetch_retries-undefined}").output["output"] == f"{retries}\n"


def test_any_text_is_a_bash_script(bash):
    assert bash.call(command="a=(1 2 3); echo ${#a[@]} <(:) | wc -w").output["output"].strip() == "2"
    assert "-x: command not found" in bash.call(command="-x").output["output"]


def test_commands_get_an_empty_stdin_and_no_terminal(bash):
    result = bash.call(command="cat; read line || echo ended; (: < /dev/tty) 2> /dev/null || echo none")
    assert result.output["output"] == "ended\nnone\n"


def test_secrets_of_the_host_are_not_inherited(bash, monkeypatch):
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "BASH_ENV", "PYTHONPATH", "LC_SECRET"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("LC_TIME", "C")
    output = bash.call(command="env").output["output"]
    assert "canary" not in output
    assert "LC_TIME=C" in output
    assert "PATH=" in output


def test_the_host_may_add_to_the_environment(root):
    assert Bash(str(root), env={"COLOR": "green"}).call(command="echo $COLOR").output["output"] == "green\n"


def test_no_descriptor_of_the_host_is_inherited(bash, tmp_path):
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        output = bash.call(command="for fd in /proc/self/fd/*; do readlink $fd; done").output["output"]
    assert "secret" not in output


def test_only_files_persist_between_calls(bash):
    bash.call(command="cd /; x=1; echo kept > $OLDPWD/file")
    assert bash.call(command="echo $x$(cat file)").output["output"] == "kept\n"


def test_the_workdir_is_a_folder_inside_the_workspace(bash, root):
    (root / "inner").mkdir()
    (root / "file").write_text("")
    (root.parent / "root-evil").mkdir()
    (root / "out").symlink_to(root.parent)
    (root / "in").symlink_to(root / "inner")
    for workdir in ("inner", str(root / "inner"), "in", "inner/../inner/."):
        assert bash.call(command="pwd", workdir=workdir).output["output"] == f"{root}/inner\n"
    for workdir in ("..", "/", "out", "in/../..", f"{root}-evil", str(root.parent)):
        assert bash.call(command="pwd", workdir=workdir).error_type == "denied", workdir
    for workdir in ("missing", "file"):
        assert bash.call(command="pwd", workdir=workdir).error_type == "not_found"


def test_the_workspace_comes_from_the_tool_then_the_context_then_the_environment(tmp_path, monkeypatch):
    places = {name: tmp_path / name for name in ("setting", "context", "variable", "current")}
    for place in places.values():
        place.mkdir()
    script = {"command": "basename $PWD"}
    monkeypatch.chdir(places["current"])
    assert Bash().call(script).output["output"] == "current\n"
    monkeypatch.setenv("ASK_TOOLS_WORKSPACE", str(places["variable"]))
    assert Bash().call(script).output["output"] == "variable\n"
    context = Context(workspace=places["context"])
    assert Bash().call(script, context=context).output["output"] == "context\n"
    assert Bash(str(places["setting"])).call(script, context=context).output["output"] == "setting\n"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        pytest.param({"command": ""}, "validation_error", id="empty"),
        pytest.param({"command": " \n"}, "validation_error", id="blank"),
        pytest.param({"command": "a\0b"}, "validation_error", id="NUL"),
        pytest.param({"command": ["echo", "hi"]}, "validation_error", id="a list"),
        pytest.param({"command": ":", "timeout": 0}, "validation_error", id="no time"),
        pytest.param({"command": ":", "timeout": 601}, "validation_error", id="too much time"),
        pytest.param({"command": f": {'x' * 200_000}"}, "limit_exceeded", id="too long for the system"),
        pytest.param({"command": ":", "workdir": "a\0b"}, "validation_error", id="NUL in the workdir"),
    ],
)
def test_an_invalid_request_has_a_stable_error_type(bash, arguments, kind):
    assert bash.call(arguments).error_type == kind


def test_a_missing_shell_is_unavailable(root):
    bash = Bash(str(root), shell="/missing/bash")  # noqa: S604 - a tool's own setting, not subprocess
    assert bash.call(command=":").error_type == "unavailable"


ELSEWHERE = """
import ctypes, os, select, subprocess  # what the system itself loads
for name in ("O_PATH", "O_DIRECTORY", "killpg", "pidfd_open", "setsid", "waitid"):
    vars(os).pop(name, None)
del select.poll
os.name = "nt"
from tools_shell import Bash
print(Bash().call(command="echo").error_type)
"""


def test_tools_import_and_refuse_calls_on_other_systems():
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True)
    assert done.stdout == "unavailable\n"


def test_a_result_reports_its_isolation(bash, level):
    result = bash.call(command=":")
    assert result.metadata["isolation"] == level
    assert ("network" in result.metadata["not_isolated"]) == (level in {"none", "contained"})


def test_bash_requires_approval_and_is_destructive():
    assert Bash.requires_approval
    assert Bash().definition["annotations"] == {"destructive": True, "open_world": True}


FLOOD = """
import resource, sys
from tools_shell import Bash
bash = Bash(sys.argv[1])
bash.call(command="yes | head -c 2000000")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
output = bash.call(command="yes | head -c 200000000; echo end").output
shown = output["output"]
added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(added, len(shown), output["truncated"], shown.endswith("y\\nend\\n"))
"""


@pytest.mark.slow
def test_long_output_takes_bounded_memory_and_its_rest_is_counted(root):
    done = subprocess.run([sys.executable, "-c", FLOOD, root], capture_output=True, text=True, check=True)
    added, size, left_out, has_end = done.stdout.split()
    assert int(added) < 2 * 1024 * (1 if sys.platform == "linux" else 1024)  # ru_maxrss: KiB, on macOS bytes
    assert int(left_out) == 200_000_004 - 2 * 64 * 1024
    assert int(size) < 132_000
    assert has_end == "True"


@pytest.mark.parametrize("size", [131_071, 131_072])
def test_output_below_the_limit_is_complete(bash, size):
    output = bash.call(command=f"yes abcdefg | head -c {size}").output
    assert len(output["output"]) == size
    assert "truncated" not in output


def test_every_character_of_output_is_shown_or_counted(bash):
    output = bash.call(command="printf 'x'; yes '€' | tr -d '\\n' | head -c 600000").output
    head, middle, tail = output["output"].split("\n")
    assert middle == f"[... {output['truncated']:,} characters omitted ...]"
    assert output["truncated"] == 200_001 - len(head) - len(tail)
    assert set(tail) == {"€"}


@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=200))
def test_bytes_that_are_not_utf8_are_escaped(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    (folder / "data").write_bytes(data)
    output = Bash(folder, sandbox="none").call(command="cat data").output
    assert output["output"] == data.decode(errors="backslashreplace")


async def _three(bash):
    import asyncio

    return await asyncio.gather(*(bash.acall(command=f"echo {n}") for n in range(3)))


def test_calls_from_coroutines_run_side_by_side(bash):
    import asyncio

    assert [result.output["output"] for result in asyncio.run(_three(bash))] == ["0\n", "1\n", "2\n"]


async def _cancelled(bash, script, has_begun):
    import asyncio

    call = asyncio.create_task(bash.acall(command=script))
    await asyncio.to_thread(has_begun)
    call.cancel()
    await call


def test_cancelling_the_coroutine_of_a_call_ends_its_script(bash, lifeline):
    import asyncio

    script = f"exec 9> {lifeline.path}; echo begun >&9; sleep 900"
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(_cancelled(bash, script, lambda: lifeline.wait_for(b"begun\n")))
    assert lifeline.holders_are_gone()


def test_read_only_mode_refuses_commands_and_code(root, monkeypatch):
    monkeypatch.setenv("ASK_TOOLS_READ_ONLY", "1")
    for tool, arguments in ((Bash, {"command": "ls"}), (Python, {"code": "1"}), (JobStart, {"command": "ls"})):
        assert tool(root).call(arguments).error_type == "denied"


def test_a_removed_workspace_is_not_found(bash, root, tmp_path, monkeypatch, level):
    monkeypatch.chdir(root)
    root.rmdir()
    assert Bash(sandbox=level).call(command="echo").error_type == "not_found"
    monkeypatch.chdir(tmp_path)


def test_copies_of_a_tool_work(bash):
    import copy
    import pickle

    for tool in (copy.deepcopy(bash), pickle.loads(pickle.dumps(bash))):
        assert tool.call(command="echo works").output["output"] == "works\n"
