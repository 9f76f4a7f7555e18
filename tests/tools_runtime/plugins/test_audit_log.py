from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys

import pytest

from tools_core import Context, Halt, Result, ToolCall, ToolError, tool
from tools_runtime import Executor
from tools_runtime.plugins import AuditLog, Cache, Retry


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@tool
def login(user: str, password: str = "") -> str:
    if user == "unknown":
        raise ToolError(f"no user {user} with {password}\nand more", "not_found")
    if user == "last":
        raise Halt("bye")
    return f"welcome {user}"


def test_a_call_has_one_line_when_it_starts_and_one_when_it_ends(run, calls, path):
    run([login], calls("login", {"user": "ann"}), [AuditLog(path)], Context(run_id="run-7"))
    first, last = lines(path)
    for line, event in ((first, "start"), (last, "end")):
        assert (line["event"], line["run"], line["id"], line["tool"]) == (event, "run-7", "call-0", "login")
        assert line["pid"] == os.getpid() and line["runtime"] in ("inline", "thread", "async")
    assert first["arguments"] == {"user": "ann"} and first["attempt"] == 0
    assert (last["result"], last["attempt"], last["bytes"]) == ("ok", 1, len("welcome ann")) and last["seconds"] >= 0
    assert first["time"] <= last["time"] and first["time"].endswith("+00:00")


def test_neither_output_nor_metadata_of_a_tool_is_written(path, call):
    @tool
    def bash(command: str) -> Result:
        if command == "slow":
            return Result.error("Timed out after 1 s\nPRIVATE", type="timeout_error", metadata={"stdout": "PRIVATE"})
        return Result.ok("PRIVATE", content="PRIVATE", metadata={"stdout": "PRIVATE"})

    for command in ("slow", "fast"):
        call(bash, [AuditLog(path)], command=command)
    assert "PRIVATE" not in path.read_text()
    assert lines(path)[1]["error"] == "Timed out after 1 s"


def test_errors_halts_unknown_tools_and_bad_arguments_are_written_as_such(run, calls, path):
    expected = [
        *calls("login", {"user": "unknown"}, {"user": ["sesame"]}),
        ToolCall("x", "nothing"),
        ToolCall("y", "login", '{"password": "sesame'),
        ToolCall("z", "login", {"user": "last"}),
    ]
    run([login], expected, [AuditLog(path)])
    ends = [line for line in lines(path) if line["event"] == "end"]
    assert {(line["result"], line.get("error_type"), "error" in line) for line in ends} == {
        ("error", "not_found", True),
        ("halted", None, False),
        ("error", "validation_error", False),  # its message repeats arguments
        ("error", "unknown_tool", True),
    }
    assert [line["arguments"] for line in lines(path) if line["id"] == "y" and line["event"] == "start"] == [
        "<not a JSON object>"
    ]


def test_an_error_is_its_first_line_without_secrets_and_clipped(path, call):
    call(login, [AuditLog(path, redact=["tr0ub4dor"])], user="unknown", password="tr0ub4dor")  # noqa: S106  (a sample)
    call(login, [AuditLog(path)], user="unknown", password="x" * 1000)
    assert lines(path)[1]["error"] == "no user unknown with [redacted]"
    assert len(lines(path)[3]["error"]) < 250


def test_the_log_names_the_approver_scope_and_key(path):
    @tool(requires_approval=True)
    def deploy() -> str:
        return "done"

    def ann(request):
        return "run"

    executor = Executor([deploy], hooks=[AuditLog(path)], approve=ann, plugins=False)
    executor.call(ToolCall(None, "deploy"), context=Context(run_id="run-7"))
    approval = lines(path)[1]["approval"]
    assert (approval["by"], approval["scope"]) == ("ann", "run") and approval["key"].startswith("run-7.")


def test_each_retry_has_a_line(path):
    answers = iter([Result.error("busy", type="unavailable"), Result.ok("here")])

    @tool(read_only=True)
    def fetch() -> Result:
        return next(answers)

    executor = Executor([fetch], hooks=[AuditLog(path), Cache(), Retry(first=0)], plugins=False)
    context = Context()
    for _ in range(2):
        executor.call(ToolCall(None, "fetch"), context=context)
    assert [(line["event"], line["attempt"], line.get("error_type")) for line in lines(path)] == [
        ("start", 0, None),
        ("retry", 2, "unavailable"),
        ("end", 2, None),
        ("start", 0, None),
        ("end", 0, None),  # answered by the cache
    ]


def test_identify_adds_members_to_each_line(path, call):
    log = AuditLog(path, identify=lambda context: {"user": context.state["user"], "pid": "forged"})
    call(login, [log], Context(state={"user": "ann"}), user="x")
    assert [(line["user"], line["pid"]) for line in lines(path)] == [("ann", os.getpid())] * 2


def test_a_cancelled_call_has_an_end_line(path):
    async def main():
        started = asyncio.Event()

        @tool
        async def wait() -> None:
            started.set()
            await asyncio.Event().wait()

        executor = Executor([wait], runtime="async", hooks=[AuditLog(path)], plugins=False)
        task = asyncio.create_task(executor.acall(ToolCall(None, "wait")))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [line.get("error_type") for line in lines(path)] == [None, "cancelled"]


@pytest.mark.parametrize("user", ["\ud800 \x1b[0m\nline", "x" * 3_000_000], ids=["surrogate", "megabytes"])
def test_any_text_is_one_bounded_line(path, user):
    Executor([login], hooks=[AuditLog(path)]).call(ToolCall(user, "login", {"user": user}))
    assert all(len(line) <= 65_537 for line in path.read_bytes().splitlines(keepends=True))
    assert [line["event"] for line in lines(path)] == ["start", "end"]


def test_values_without_end_are_bounded(path, call):
    deep: dict[str, object] = {}
    for _ in range(500):
        deep = {"a": deep}
    strange = {"f": float("nan"), "i": 10**5000, "o": object(), 5: {1, 2}}
    wide = {str(number): "x" * 1999 for number in range(1000)}

    @tool
    def work(options: dict[str, object]) -> None:
        pass

    for options in (deep, strange, wide):
        call(work, [AuditLog(path)], options=options)
    first, second, third = (line["arguments"] for line in lines(path) if line["event"] == "start")
    assert "<nested too deeply>" in json.dumps(first)
    assert second["options"]["i"] == "<integer of 16610 bits>"
    assert third.endswith(" bytes>")


def test_the_file_is_private_and_no_link_is_followed(path, tmp_path, call):
    path.write_text("")
    path.chmod(0o644)
    call(login, [AuditLog(path)], user="a")
    call(login, [AuditLog(tmp_path / "new")], user="a")
    assert [stat.S_IMODE(file.stat().st_mode) for file in (path, tmp_path / "new")] == [0o600, 0o600]
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for bad in (link, tmp_path / "pipe", tmp_path):
        assert call(login, [AuditLog(bad, required=True)], user="a").error_type == "unavailable"
    assert not (tmp_path / "target").exists()


def test_a_required_log_refuses_calls_if_writing_fails(path, run, calls, caplog):
    path.mkdir()
    for required, expected in ((True, "unavailable"), (False, None)):
        [result] = run([login], calls("login", {"user": "a"}), [AuditLog(path, required=required)])
        assert result.error_type == expected
    assert "cannot be written" in caplog.text

    def identify(context):
        raise KeyError("user")

    log = AuditLog(path.with_name("other"), required=True, identify=identify)
    assert run([login], calls("login", {"user": "a"}), [log])[0].error_type == "unavailable"


def test_a_large_file_is_rotated_and_a_number_of_files_remains(path, call):
    log = AuditLog(path, max_bytes=2000, backups=2)
    for _ in range(50):
        call(login, [log], user="a")
    files = sorted(path.parent.iterdir())
    assert {file.name for file in files} >= {"audit.jsonl.1", "audit.jsonl.2"} and len(files) <= 3
    for file in files:
        assert file.stat().st_size < 3000 and stat.S_IMODE(file.stat().st_mode) == 0o600
        assert lines(file)


WRITER = """
import sys
from tools_core import ToolCall, tool
from tools_runtime import Executor
from tools_runtime.plugins import AuditLog
@tool
def work(text: str) -> None:
    pass
executor = Executor([work], runtime="thread", hooks=[AuditLog(sys.argv[1], max_bytes=int(sys.argv[2]), backups=1000)])
print("ready", flush=True)
sys.stdin.readline()
executor.execute([ToolCall(f"{sys.argv[3]}-{n}", "work", {"text": "x" * (n % 700)}) for n in range(100)])
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [10**9, 20_000], ids=["one-file", "while-it-rotates"])
def test_processes_and_threads_share_a_file_and_lose_no_line(path, size):
    command = [sys.executable, "-c", WRITER, str(path), str(size)]
    writers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(3)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    records = [line for file in path.parent.iterdir() for line in lines(file)]
    expected = {(f"{writer}-{n}", event) for writer in range(3) for n in range(100) for event in ("start", "end")}
    assert len(records) == len(expected) and {(line["id"], line["event"]) for line in records} == expected


def test_invalid_options_are_refused(path):
    for options in ({"max_bytes": 0}, {"backups": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            AuditLog(path, **options)
    with pytest.raises(TypeError, match="not one string"):
        AuditLog(path, redact="secret")
