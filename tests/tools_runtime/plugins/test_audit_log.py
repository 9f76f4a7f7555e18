from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import threading
from hashlib import sha256

import pytest

from tools_core import Halt, Result, ToolCall, ToolError, tool
from tools_runtime import Executor, Runtime, hookimpl
from tools_runtime.plugins import AuditLog
from tools_runtime.plugins._log_file import LogFile
from tools_runtime.plugins._redact import Redactor


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@tool
def login(user: str, password: str = "", options: dict[str, object] | None = None) -> str:
    if user == "nobody":
        raise ToolError(f"no user {user} with {password}", "not_found")
    if user == "last":
        raise Halt("bye")
    return f"welcome {user}"


def test_a_call_is_one_line_when_it_starts_and_one_when_it_ends(run, calls, path):
    run([login], calls("login", {"user": "ann"}), [AuditLog(path)])
    first, last = lines(path)
    assert first["event"] == "start" and last["event"] == "end"
    assert first["run"] == last["run"] and first["id"] == last["id"] == "call-0"
    assert first["tool"] == "login" and first["arguments"] == {"user": "ann"} and first["pid"] == os.getpid()
    assert last["result"] == "ok" and last["seconds"] >= 0 and last["metadata"] == {}
    assert first["time"] <= last["time"] and first["time"].endswith("+00:00")
    assert "welcome" not in path.read_text()  # what tools return is not written


def test_errors_halts_unknown_tools_and_bad_arguments_are_written_as_what_they_are(run, calls, path):
    wanted = [
        *calls("login", {"user": "nobody"}, {"user": "last"}, {"user": 5}),
        ToolCall("x", "nothing"),
        ToolCall("y", "login", '{"password": "sesame'),
    ]
    run([login], wanted, [AuditLog(path)])
    ends = [line for line in lines(path) if line["event"] == "end"]
    said = {(line["result"], line.get("error_type")) for line in ends}
    assert said == {("error", "not_found"), ("halt", None), ("error", "validation_error"), ("error", "unknown_tool")}
    assert "sesame" not in path.read_text()
    assert any(line.get("arguments") == "<no JSON object: 20 characters>" for line in lines(path))


def test_both_lines_name_the_runtime(path):
    class Elsewhere(Runtime):
        pass

    hooks = [AuditLog(path)]
    for runtime in ("inline", "thread", "async", Elsewhere):
        Executor([login], runtime=runtime, hooks=hooks).call(ToolCall(None, "login", {"user": "ann"}))
    named = [line["runtime"] for line in lines(path)]
    assert named == [name for name in ("inline", "thread", "async", "Elsewhere") for _ in range(2)]


def test_approvals_and_other_metadata_are_in_the_last_line(path):
    class Approving:
        @hookimpl
        def after_tool_call(self, result):
            return result.with_metadata({"approval": {"by": "ann", "scope": "once"}})

    Executor([login], hooks=[AuditLog(path), Approving()]).call(ToolCall(None, "login", {"user": "a"}))
    assert lines(path)[1]["metadata"] == {"approval": {"by": "ann", "scope": "once"}}


def test_a_call_that_a_hook_inside_refuses_or_breaks_is_written_too(path):
    class Broken:
        @hookimpl
        def before_tool_call(self):
            raise RuntimeError("broken")

    Executor([login], hooks=[AuditLog(path), Broken()]).call(ToolCall(None, "login", {"user": "a"}))
    assert lines(path)[1]["error_type"] == "unavailable"


def test_a_call_whose_caller_is_cancelled_has_its_last_line(path, until):
    begun = threading.Event()

    @tool
    async def wait() -> None:
        begun.set()
        await asyncio.sleep(60)

    executor = Executor([wait], runtime="async", hooks=[AuditLog(path)])

    async def main():
        task = asyncio.create_task(executor.acall(ToolCall(None, "wait")))
        await until(begun.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [line.get("result") for line in lines(path)] == [None, "none"]


def test_secrets_are_hidden_at_any_depth_and_where_an_error_repeats_them(path):
    secret = "hunter22"  # noqa: S105  (a sample)
    options = {"a": [{"api_key": secret, "max_tokens": 100}], "headers": {"Cookie": {"raw": secret}}, "pin": "4321"}
    call = ToolCall(None, "login", {"user": "nobody", "password": "tr0ub4dor", "options": options})
    Executor([login], hooks=[AuditLog(path, redact=["4321"])]).call(call)
    text = path.read_text()
    assert secret not in text and "tr0ub4dor" not in text and "4321" not in text
    first, last = lines(path)
    assert first["arguments"]["options"]["a"] == [{"api_key": "[redacted]", "max_tokens": 100}]
    assert last["error"] == "no user nobody with [redacted]"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"options": '{"password": "hunter22"}'}, "got {'password': 'hunter22'}"),  # the tool gets the object
        ({"options": {"pin": 2222}}, "not 2222"),
        ({"password": "hunter22\\\n"}, "got 'hunter22\\\\\\n'"),
        ({"password": "hunter22\"'"}, 'got "hunter22\\"\'"'),
        ({"options": {"url": "https://ann:hunter22@example.org/"}}, "cannot open https://ann:hunter22@example.org/"),
        ({"options": {"url": "https://example.org/?a=1&api_key=hunter22#x"}}, "no access with hunter22"),
        ({"options": {"url": "postgres://ann:hunter22%40%2F@db/"}}, "no access with hunter22@/"),
        ({"password": "/hunter22 é"}, "no answer from https://example.org/?key=%2Fhunter22+%C3%A9"),
        ({"password": "@hunter22\ud800"}, "no answer from https://%40hunter22%ED%A0%80@example.org/"),
        ({"options": {"headers": ["Authorization: Bearer hunter22"]}}, "no access with hunter22"),
        ({"options": {"headers": {"Authorization": "Bearer hunter22"}, "script": "curl hunter22"}}, "no: hunter22"),
        ({"options": {"headers": [["Accept", "*/*"], ["Authorization", "Bearer hunter22"]]}}, "no: hunter22"),
        ({"options": {"env": [{"name": "DB_PASSWORD", "value": "hunter22"}, {"name": "A", "value": "b"}]}}, ""),
        ({"options": {"script": "cd /tmp; PASSWORD=hunter22 ./run"}}, "no access with hunter22"),
        ({"options": {"script": "note: see\nexport API_KEY='a hunter22'"}}, "no access with a hunter22"),
        ({"options": {"script": "mysql --user bob --password hunter22"}}, "no access with hunter22"),
        ({"options": {"script": 'curl -H "Authorization: Bearer hunter22" example.org'}}, "no: hunter22"),
        ({"options": {"settings": "user: bob\npassword: hunter22\n"}}, "no access with hunter22"),
        ({"options": {"code": "connect(token='hunter22', port=5432)"}}, "no access with hunter22"),
    ],
)
def test_secrets_are_hidden_however_they_are_written(path, arguments, error):
    @tool
    def fail(password: str = "", options: dict[str, object] | None = None) -> str:
        """Fail."""
        raise ToolError(error, "denied")

    Executor([fail], hooks=[AuditLog(path)]).call(ToolCall(None, "fail", arguments))
    assert "hunter22" not in path.read_text() and "2222" not in lines(path)[1]["error"]


@pytest.mark.parametrize(
    "script",
    [
        *("TOKEN=$TOKEN run", "f(token=token, auth=None)", "token = get_token()", "max_tokens=1000"),
        *(
            "password:\n  a: b",
            "echo the password",
            'env | grep -c "PASSWORD="',
            "--api-key",
            "[password]",
            "sort_key='name'",
        ),
    ],
)
def test_what_only_names_a_secret_is_written_as_it_is(path, script):
    @tool
    def run(script: str) -> None:
        """Run."""

    Executor([run], hooks=[AuditLog(path)]).call(ToolCall(None, "run", {"script": script}))
    assert lines(path)[0]["arguments"] == {"script": script}


def test_many_secrets_in_a_long_text_are_looked_for_within_bounds():
    for text in ("password: ", 'password="abcd" ', "--password abcd ", "password: $ ", "a: b=c ", "'password': "):
        assert len(Redactor().knowing({"text": text * 100_000})._values) <= 500


def test_a_validation_error_that_may_show_a_part_of_a_secret_is_not_written(path):
    executor = Executor([login], hooks=[AuditLog(path)])
    executor.call(ToolCall(None, "login", {"user": "a", "password": ["hunter22" * 50, 987654]}))
    executor.call(ToolCall(None, "login", {"user": "a", "options": 4}))
    assert "hunter" not in path.read_text() and "987654" not in path.read_text()
    assert [line.get("error") for line in lines(path)] == [
        None,
        "<not written: it may repeat what is secret>",
        None,
        "options must be an object or null, got 4",
    ]


@pytest.mark.parametrize(
    "user",
    ["\ud800 \x1b[0m\nline", "é" * 5000, "x" * 3_000_000],
    ids=["lone-surrogate-and-newline", "accents", "megabytes"],
)
def test_any_text_is_one_bounded_line(path, user):
    Executor([login], hooks=[AuditLog(path)]).call(ToolCall(user[:10], "login", {"user": user}))
    assert all(len(line) <= 65_537 for line in path.read_bytes().splitlines(keepends=True))
    first, _ = lines(path)
    if len(user) > 2000:
        digest = sha256(user.encode()).hexdigest()
        assert first["arguments"]["user"] == f"{user[:2000]}…[{len(user)} characters, sha256 {digest}]"


def test_structures_without_end_are_bounded(path):
    deep: dict[str, object] = {}
    for _ in range(500):
        deep = {"a": deep}
    strange = {"f": float("nan"), "i": 10**5000, "o": object(), 5: {1, 2}, "n": list(range(1000))}
    wide = {str(number): "x" * 1999 for number in range(1000)}
    executor = Executor([login], hooks=[AuditLog(path)])
    for options in (deep, strange, wide):
        executor.call(ToolCall(None, "login", {"user": "a", "options": options}))
    assert all(len(line) <= 65_537 for line in path.read_bytes().splitlines(keepends=True))
    first, _, second, _, third, _ = lines(path)
    assert "<nested too deeply>" in json.dumps(first)
    assert second["arguments"]["options"]["i"] == "<integer of 16610 bits>"
    assert third["cut"] > 65_536 and "arguments" not in third


def test_the_file_is_for_its_owner_alone_and_no_link_is_followed(path, tmp_path, caplog):
    path.write_text("")
    path.chmod(0o644)
    call = ToolCall(None, "login", {"user": "a"})
    Executor([login], hooks=[AuditLog(path)]).call(call)
    Executor([login], hooks=[AuditLog(tmp_path / "new")]).call(call)
    assert [stat.S_IMODE(file.stat().st_mode) for file in (path, tmp_path / "new")] == [0o600, 0o600]
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for bad, reason in [(link, "symbolic link"), (tmp_path / "pipe", ""), (tmp_path, "directory")]:
        refused = Executor([login], hooks=[AuditLog(bad, required=True)]).call(call)
        assert refused.error_type == "unavailable" and reason in refused.error_message.lower()
    assert not (tmp_path / "target").exists()


def test_a_full_disk_refuses_the_call_where_the_log_is_required_and_else_does_not(run, calls, caplog):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    # A limit on the size of files is the same to who writes as a full disk.
    script = """
import resource, signal, sys
from tools_core import ToolCall, tool
from tools_runtime import Executor
from tools_runtime.plugins import AuditLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
@tool
def work() -> str:
    return "done"
for required in (True, False):
    executor = Executor([work], hooks=[AuditLog(sys.argv[1], required=required)], plugins=False)
    results = [executor.call(ToolCall(None, "work")) for _ in range(6)]
    print(*[result.error_type or result.output for result in results])
print(results[-1].error_message, file=sys.stderr)
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script, f"{folder}/log"], capture_output=True, text=True, timeout=60, check=True
        )
    required, open_ = done.stdout.splitlines()
    assert required.startswith("done") and required.endswith("unavailable")
    assert open_ == "done done done done done done"
    assert "cannot be written" in done.stderr


def test_a_torn_line_is_ended_before_the_next(path):
    log = AuditLog(path)
    executor = Executor([login], hooks=[log])
    call = ToolCall(None, "login", {"user": "a"})
    executor.call(call)
    with path.open("a") as file:
        file.write('{"torn')
    log._file._is_torn = True
    executor.call(call)
    texts = path.read_text().splitlines()
    assert texts[2] == '{"torn' and len(texts) == 5 and json.loads(texts[3])["event"] == "start"


def test_a_file_that_has_grown_is_put_aside_and_so_many_are_kept(path):
    executor = Executor([login], hooks=[AuditLog(path, max_bytes=1000, backups=2)])
    for number in range(50):
        executor.call(ToolCall(str(number), "login", {"user": "a"}))
    names = sorted(file.name for file in path.parent.iterdir())
    assert names in (["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"], ["audit.jsonl.1", "audit.jsonl.2"])
    for file in path.parent.iterdir():
        assert file.stat().st_size < 1000 + 500 and stat.S_IMODE(file.stat().st_mode) == 0o600
        assert lines(file)


def test_of_two_writers_that_find_the_file_too_long_one_puts_it_aside(path):
    first, second = LogFile(path, 10, 5), LogFile(path, 10**9, 5)
    second.write(b"a line\n")
    late = os.dup(second._descriptor)
    first.write(b"a line of another one\n")
    path.write_text("the new file\n")
    try:
        second._rotate(late)  # it looked just before the other one had done it
    finally:
        os.close(late)
        first.close()
        second.close()
    assert path.read_text() == "the new file\n"
    assert path.with_name("audit.jsonl.1").read_text() == "a line\na line of another one\n"


def test_a_file_that_somebody_moves_away_is_made_anew(path):
    executor = Executor([login], hooks=[AuditLog(path)])
    call = ToolCall(None, "login", {"user": "a"})
    executor.call(call)
    path.rename(path.with_name("old"))
    executor.call(call)
    assert len(lines(path)) == len(lines(path.with_name("old"))) == 2


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
executor.execute([ToolCall(f"{sys.argv[3]}-{n}", "work", {"text": "x" * (n % 700)}) for n in range(300)])
"""


@pytest.mark.parametrize("size", [10**9, 20_000], ids=["one-file", "while-it-rotates"])
def test_processes_and_threads_share_a_file_and_lose_no_line(path, size):
    command = [sys.executable, "-c", WRITER, str(path), str(size)]
    writers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    found = [line for file in path.parent.iterdir() for line in lines(file)]
    expected = {(f"{writer}-{n}", event) for writer in range(4) for n in range(300) for event in ("start", "end")}
    assert len(found) == len(expected) == 2400
    assert {(line["id"], line["event"]) for line in found} == expected
    assert len(list(path.parent.iterdir())) == 1 or size < 10**9


def test_a_thousand_calls_in_one_event_loop_need_no_threads(calls, threads, path):
    @tool
    async def talk() -> None:
        await asyncio.sleep(0)
        threads.look()

    executor = Executor([talk], runtime="async", hooks=[AuditLog(path)])
    asyncio.run(executor.aexecute(calls("talk", *[{}] * 1000)))
    assert len(lines(path)) == 2000 and threads.most <= 2


def test_with_fsync_a_call_waits_for_the_disk_in_every_runtime(run, calls, path, monkeypatch):
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), fsync(descriptor)))
    [result] = run([login], calls("login", {"user": "a"}), [AuditLog(path, fsync=True)])
    assert result.is_ok and len(synced) == 2 and len(lines(path)) == 2


def test_options_that_mean_nothing_are_refused(path):
    for options in ({"max_bytes": 0}, {"backups": 0}):
        with pytest.raises(ValueError, match="1 or more"):
            AuditLog(path, **options)
    with pytest.raises(TypeError, match="not one string"):
        AuditLog(path, redact="secret")


def test_a_secret_result_metadata_is_hidden(path):
    @tool
    def work() -> Result:
        return Result.ok(None, metadata={"token": "abcdef", "note": "s3cret!"})

    Executor([work], hooks=[AuditLog(path, redact=["s3cret!"])]).call(ToolCall(None, "work"))
    assert lines(path)[1]["metadata"] == {"token": "[redacted]", "note": "[redacted]"}
