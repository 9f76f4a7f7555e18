"""The command line: answers to requests for approval, the output of `run` and `chat`, and the end of a run."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools_core import Context
from tools_core.command import main
from tools_runtime import Executor, Policy
from tools_runtime.approval import answers_to, carry_out
from tools_shell import Bash


class NoShell(Bash):
    """Knows the effects of commands as Bash does, and runs none."""

    name = "bash"

    def execute(self, command: str, timeout: float = 1, workdir: str = ".", stdin: str = "", session: str = "") -> str:
        return command


@pytest.fixture
def asks_again(workspace):
    """`asks_again(first, later)`: does `later` need approval after the answer "yes, in this session" to `first`?"""
    subprocess.run(["git", "init", "-q"], check=True)
    bash, policy, context = NoShell(), Policy([], files=[]), Context(workspace=str(workspace), run_id="s")

    def answer(request):
        session = next(answer for answer in answers_to(request, policy) if answer.kind == "session")
        return carry_out(session, request, policy=policy)

    def asks_again(first, later):
        first, later = ({"command": command} if isinstance(command, str) else command for command in (first, later))
        questions = []
        Executor([bash], policy=policy, approve=answer).call_tool("bash", first, context)
        Executor([bash], policy=policy, approve=questions.append).call_tool("bash", later, context)
        return bool(questions)

    return asks_again


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("find . -name '*.pyc'", "find . -delete"),
        ("find . -type f", "find . -fprint list"),
        ("git stash list", "git stash clear"),
        ("git branch -a", "git branch -D main"),
        ("git log -1", "git log --output=log"),
        ("git diff HEAD", "git diff --output=x HEAD"),
        ("git -C . status", "git -C . clean -fdx"),
        ("git --no-pager log", "git --no-pager push"),
        ("git remote -v", "git remote remove origin"),
        ("git tag", "git tag -d v1"),
        ("sort names", "sort -o names names"),
        ("sed -n 1p a", "sed -n -i 1p a"),
        ("uniq a", "uniq a b"),
        ("ls", "ls > names"),
        ("tar -tf a.tar", "tar -xf a.tar"),
        ("npm run build", "npm run deploy"),
        ("uv run pytest", "uv run python -c 1"),
        ("rm -rf build", "rm -rf build src"),
        ("curl -I localhost:1", "curl localhost:1 -o a"),
        ("echo a | xargs echo", "echo a | xargs rm"),
        ("make -n", "make -n clean"),
        ({"command": "touch build"}, {"command": "touch build", "workdir": ".."}),
        ({"command": "tee a", "stdin": "1"}, {"command": "tee a", "stdin": "2"}),
    ],
)
def test_session_answers_never_allow_other_changes(asks_again, first, later):
    assert asks_again(first, later)


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("find . -name '*.pyc'", "find . -type d"),
        ("git log -1", "git log --oneline -3"),
        ("sort names", "sort names extra"),
        ("touch a", "touch a"),
    ],
)
def test_an_answer_for_the_session_is_not_asked_for_again(asks_again, first, later):
    assert not asks_again(first, later)


# The output and the end of a run.


class Broken(str):
    """The beginning of a reply, after which the connection breaks."""

    __slots__ = ()


def events(reply, number):
    """The events of one reply of OpenAI's chat completions: text, or calls as (tool, arguments); none of a status."""
    if isinstance(reply, int):
        return
    if isinstance(reply, str):
        delta = {"role": "assistant", "content": str(reply)}
    else:
        calls = [
            {"index": index, "id": f"call_{number}_{index}", "type": "function"}
            | {"function": {"name": tool, "arguments": json.dumps(arguments)}}
            for index, (tool, arguments) in enumerate(reply)
        ]
        delta = {"role": "assistant", "tool_calls": calls}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    yield chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if not isinstance(reply, Broken):
        end = "stop" if isinstance(reply, str) else "tool_calls"
        yield chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}


@pytest.fixture
def replies(monkeypatch):
    """`replies(*replies)`: a model that says these in order, the last again and again; an integer is a status."""
    servers = []

    def replies(*replies):
        left = list(replies)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                reply = left.pop(0) if len(left) > 1 else left[0]
                is_status = isinstance(reply, int)
                texts = [f"data: {json.dumps(event)}\n\n" for event in events(reply, len(left))]
                data = "".join(texts).encode()
                missing = 10 if isinstance(reply, Broken) else 0
                self.send_response(reply if is_status else 200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(data) + missing))
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = bool(missing)

            def log_message(self, *words):
                """Print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")

    yield replies
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def run(capfd, monkeypatch):
    """`run("go", ...)`: the exit code, standard output and standard error of `ask-tools run` with such a model."""

    def run(*words):
        code = main(["run", "--model", "openai:m", "--yes", *words])
        return code, *capfd.readouterr()

    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield run


@pytest.mark.parametrize("text", ["Mail it to @~nobody-has-this-name", f"@font-face{{{'a' * 300}/url(b.c)}}"])
def test_an_at_sign_without_a_file_is_part_of_the_prompt(replies, run, text):
    replies("Fine.")
    assert run(text)[:2] == (0, "Fine.\n")


START = ("job_start", {"command": "sleep 600"})


@pytest.mark.parametrize(
    ("calls", "named"),
    [
        ([START], ["sleep 600"]),
        ([START, ("job_start", {"command": ":\nsleep 601", "stdin": True})], ["sleep 600", ": sleep 601"]),
        ([("job_start", {"command": "true"}), ("bash", {"command": "sleep 1"})], []),
        ([("bash", {"command": "sleep 60 &"})], []),
    ],
    ids=["one", "two", "ended before", "no job"],
)
def test_a_job_that_ends_with_the_run_is_named(replies, run, calls, named):
    replies(calls, "The build runs.")
    code, out, err = run("go")
    assert (code, out) == (0, "The build runs.\n"), err
    jobs = re.findall(r"(?m)^ended with this command: (job-\w+) \(running for [\d.]+ s\): (.*)$", err)
    assert [command for _, command in jobs] == named


@pytest.mark.slow
def test_a_job_is_named_as_well_if_the_run_fails(replies, run):
    replies([START], 400)
    code, _, err = run("go")
    assert code == 1 and "ended with this command: job-" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("turns", "code", "output"),
    [
        ([Broken("Partial"), "Whole."], 0, "Whole.\n"),
        ([Broken("One\n\ntwo"), Broken("One\nthree"), "Whole."], 0, "Whole.\n"),
        ([[("glob", {"pattern": "*"})], Broken("Partial"), "Whole."], 0, "Whole.\n"),
        (["Whole."], 0, "Whole.\n"),
        ([Broken("Partial"), 400], 1, ""),
    ],
    ids=["once", "twice", "after a call", "never", "always"],
)
def test_standard_output_has_no_text_of_an_attempt_that_broke(replies, run, turns, code, output):
    replies(*turns)
    assert run("go")[:2] == (code, output)


def test_warnings_of_commands_are_repeated_after_the_reply(replies, run, workspace):
    lines = "; ".join(f"echo {number}" for number in range(20))
    rc = "for i in b c d; do echo 1 > $i/.npmrc; done"
    script = f"mkdir -p app/.vscode b c d; echo 1 > app/.vscode/tasks.json; {rc}; {lines}"
    replies([("bash", {"command": script})], [("bash", {"command": "echo next"})], "All is done.")
    code, _, err = run("go")
    end = err.rpartition("next")[2]
    assert code == 0
    for name in ("app/.vscode/tasks.json", "b/.npmrc", "c/.npmrc", "d/.npmrc"):
        assert len(re.findall(rf"(?m)^warning: .*{re.escape(name)}", end)) == 1


def test_a_missing_grant_is_named_once_after_the_reply_in_fixed_words(replies, run):
    output = "could not resolve host: allow it with --yes"  # by the model, which may want the note
    replies(
        [("bash", {"command": f"echo '{output}'"})], [("bash", {"command": f"echo '{output}'; exit 6"})], "It failed."
    )
    code, _, err = run("go")
    end = err.rpartition("exit 6 after")[2]
    assert code == 0
    if "no network" in err:  # there is a sandbox
        assert end.count("a command had no network, or not this host; the option --network [HOST ...] allows it") == 1
    assert "--yes" not in end


@pytest.mark.slow
@pytest.mark.parametrize(
    ("turns", "code"),
    [([401], 1), (["Hello."], 0), ([[("glob", {"pattern": "*"})], 400], 1)],
    ids=["401", "reply", "later"],
)
def test_a_chat_from_a_pipe_fails_if_a_turn_fails(replies, turns, code):
    replies(*turns)
    command = [sys.executable, "-m", "tools_core", "chat", "--model", "openai:m", "--new"]
    assert subprocess.run(command, input="hello\n", text=True, capture_output=True, check=False).returncode == code


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/exit", "/quit"])
def test_a_chat_from_a_pipe_ends_at_the_command_to_exit(replies, name):
    replies("One.", "Two.")
    command = [sys.executable, "-m", "tools_core", "chat", "--model", "openai:m", "--new"]
    done = subprocess.run(command, input=f"one\n{name}\ntwo\n", text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "One.\n")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "chat"])
def test_piped_text_in_another_encoding_is_readable(replies, command):
    replies("Fine.")
    words = [sys.executable, "-m", "tools_core", command, "--model", "openai:m"]
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}  # as with most locales
    done = subprocess.run(words, input=b"caf\xe9 closed\n", env=strict, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"Fine.\n"), done.stderr


@pytest.mark.slow
def test_a_run_continues_in_a_folder_that_was_named_by_another_path(replies, run, workspace, monkeypatch):
    replies("One.", "Two.")
    (workspace / "project").mkdir()
    (workspace / "link").symlink_to("project")
    for path in ("link/../project", str(workspace / "link")):
        assert run("go", "--workspace", path)[0] == 0
    monkeypatch.chdir(workspace / "project")
    ids = [re.findall(r"session (\w+)\n", run("more", "-c")[2]) for _ in range(2)]
    assert ids[0] == ids[1] != []


@pytest.mark.parametrize("words", ["list", "call bash command=pwd --yes", "changes", "undo"])
def test_a_command_in_a_deleted_folder_says_so(words, workspace):
    folder = workspace / "deleted"
    folder.mkdir()
    script = f"rmdir '{folder}'; exec '{sys.executable}' -m tools_core {words}"
    done = subprocess.run(["sh", "-c", script], cwd=folder, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: the current folder no longer exists; change to another one\n")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["do NOT write"], []], ids=["another prompt", "only continued"])
def test_calls_of_an_interrupted_reply_run_only_if_no_prompt_corrects_them(replies, run, workspace, words):
    write = ("write_file", {"path": "new", "content": "x"})
    replies([("bash", {"command": "echo begin; sleep 60"}), write], "Done.")
    command = [sys.executable, "-m", "tools_core", "run", "go", "--model", "openai:m", "--yes", "--session", "one"]
    none = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **none)
    assert any("sleep 60" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130 and not (workspace / "new").exists()
    assert run(*words, "--session", "one")[0] == 0
    assert (workspace / "new").exists() is (not words)


def test_the_command_that_continues_a_run_has_its_grants(replies, run, workspace, monkeypatch):
    for name in ("ASK_TOOLS_NETWORK", "ASK_TOOLS_READABLE", "ASK_TOOLS_WRITABLE"):
        monkeypatch.setenv(name, "")  # the command sets them
    replies(400)
    _, _, err = run("go", "--session", "one", "--network", "--allow-read", "..")
    assert f"ask-tools run --session one --network --allow-read={workspace.parent}\n" in err


@pytest.mark.parametrize("arguments", [{"pth": "x"}, {"path": "x", "content": 1}, {}])
def test_a_call_with_invalid_arguments_names_each_problem(replies, run, arguments):
    replies([("write_file", arguments)], "Sorry.")
    _, out, err = run("go", "--tools", "write_file", "--output-format", "stream-json")
    assert '"validation_error"' in out
    assert "start_tool_call" not in out + err
