"""Days in the terminal: a person works with `ask-tools chat`, whose model is a script, and is hardly asked anything."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import pytest

pytestmark = pytest.mark.slow
_LIMIT = 90  # seconds for one step; a backstop
_QUESTIONS = re.compile(r"needs approval|asks: |changed after the agent's change")


class Chat:
    """`ask-tools chat` in a pseudo-terminal that shows plain lines."""

    def __init__(self, words, folder):
        self._fd, child = pty.openpty()
        streams = {"stdin": child, "stdout": child, "stderr": child}
        command = [sys.executable, "-m", "tools_core", "chat", "--model", "openai:gpt-5", *words]
        env = {**os.environ, "TERM": "dumb"}
        self.process = subprocess.Popen(command, **streams, cwd=folder, env=env, start_new_session=True)
        os.close(child)
        self.text, self._seen = "", 0

    @property
    def questions(self):
        """The number of questions so far."""
        return len(_QUESTIONS.findall(self.text))

    def expect(self, text):
        """Wait until a text is shown after what was expected before."""
        deadline = time.monotonic() + _LIMIT
        while (place := self.text.find(text, self._seen)) < 0:
            assert time.monotonic() < deadline, f"waited for {text!r} in vain:\n{self.text}"
            if select.select([self._fd], [], [], 0.1)[0]:
                self.text += os.read(self._fd, 65_536).decode(errors="replace").replace("\r\n", "\n")
        self._seen = place + len(text)

    def type(self, line, after="\n> "):
        """Type a line when the chat waits for one."""
        self.expect(after)
        os.write(self._fd, f"{line}\n".encode())

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._fd)


@pytest.fixture
def chat(day, model_server, monkeypatch):
    """`chat(*turns)`: a chat whose model makes the calls of each turn, one after the other, and then says "Done."."""
    chats = []

    def start(*turns, words=()):
        replies = [reply for turn in turns for reply in [*turn, "Done."]]

        def reply(_, body):
            text = replies[sum(message["role"] == "assistant" for message in body["messages"]) - done]
            delta, reason = {"content": text}, "stop"
            if not isinstance(text, str):
                name, arguments = text
                function = {"name": name, "arguments": json.dumps(arguments)}
                id = f"call_{len(body['messages'])}"
                delta = {"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]}
                reason = "tool_calls"
            return [{"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]}]

        done = start.done
        monkeypatch.setenv("OPENAI_BASE_URL", model_server(reply).url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        chats.append(Chat(words, day.workspace))
        return chats[-1]

    start.done = 0  # replies of the session in an earlier chat
    yield start
    for opened in chats:
        opened.close()
    assert sum(opened.questions for opened in chats) <= 2


def bash(script):
    return ("bash", {"command": script})


def edit(path, old, new):
    return ("edit_file", {"path": path, "old_string": old, "new_string": new})


TEST = f"{sys.executable} -m unittest -q"


def test_a_bug_is_fixed_with_its_tests(day, chat):
    """Reproduce a bug by its failing test, fix it, run the tests and commit: no question."""
    day.repository(
        {
            "calc.py": "def mean(values):\n    return sum(values) / (len(values) - 1)\n",
            "test_calc.py": "import unittest\nfrom calc import mean\n\n\nclass TestMean(unittest.TestCase):\n"
            "    def test_mean(self):\n        self.assertEqual(mean([1, 2, 3]), 2)\n",
            ".gitignore": "__pycache__/\n",
        }
    )
    fix = edit("calc.py", "(len(values) - 1)", "len(values)")
    look = [("grep", {"pattern": "mean"}), ("read_file", {"path": "calc.py"})]
    window = chat([*look, bash(TEST), fix, bash(TEST), bash("git commit -qam 'Fix the mean'")])
    window.type("The mean is wrong. Fix it, and commit.")
    window.expect("FAILED")
    window.expect("OK")
    window.expect("Done.")
    window.expect("to undo: /undo")
    assert day.shell("git log --format=%s").splitlines() == ["Fix the mean", "Start the project"]
    assert window.questions == 0


def test_ten_files_are_refactored(day, chat):
    """Rename a function in ten files with a script and edits, and check the result: no question."""
    names = [f"part_{number}" for number in range(10)]
    day.repository(
        {"core.py": "def old():\n    return 1\n", ".gitignore": "__pycache__/\n"}
        | {f"{name}.py": f"from core import old\n\n{name.upper()} = old()\n" for name in names}
    )
    day.uncommitted = [f" M {name}.py" for name in sorted(["core", *names])]
    rename = bash("sed -i 's/\\bold\\b/new/g' part_*.py")
    check = bash(f"{sys.executable} -B -c 'import {', '.join(names)}' && git diff --stat | tail -1")
    window = chat([bash("grep -l old *.py | wc -l"), rename, edit("core.py", "old", "new"), check])
    window.type("Rename old to new everywhere.")
    window.expect("11 files changed")
    window.expect("11 changes in this turn; to undo: /undo")
    assert window.questions == 0


def test_a_dependency_is_added_from_a_local_index(day, chat, tmp_path):
    """Install a package with `--network` from an index on this machine, and use it: commands with a network ask."""
    index = tmp_path / "index/shouting"
    index.mkdir(parents=True)
    with zipfile.ZipFile(index / "shouting-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("shouting.py", "def shout(text):\n    return text.upper() + '!'\n")
        metadata = "shouting-1.0.dist-info"
        wheel.writestr(f"{metadata}/METADATA", "Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
        wheel.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{metadata}/RECORD", "")
    serve = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(index.parent)]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = re.search(r"port (\d+)", server.stdout.readline())[1]
        url = f"http://127.0.0.1:{port}/"
        pip = f"{sys.executable} -m pip install -q --no-deps --target vendor --index-url {url} shouting"
        use = f"PYTHONPATH=vendor {sys.executable} -B -c 'import shouting; print(shouting.shout(\"hello\"))'"
        window = chat(
            [bash(pip), ("write_file", {"path": "requirements.txt", "content": "shouting==1.0\n"}), bash(use)],
            words=["--network"],
        )
        window.type("Add shouting.")
        for _ in range(2):
            window.type("y", after="answer: ")
        window.expect("HELLO!")
        window.expect("Done.")
        window.expect("to undo: /undo")
        assert window.questions == 2
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def test_an_interrupted_day_is_continued_tomorrow(day, chat):
    """Kill the terminal in the middle of a command, continue the session tomorrow, and undo both turns."""
    day.repository({"notes.txt": "one\n"})
    first = chat([bash("echo two >> notes.txt && touch begun && sleep 600")], words=["--session", "work"])
    first.type("Write two.")
    deadline = time.monotonic() + _LIMIT
    while not (day.workspace / "begun").exists():
        assert time.monotonic() < deadline, first.text
        time.sleep(0.05)
    os.killpg(first.process.pid, signal.SIGKILL)
    first.process.wait()
    chat.done = 1  # the reply with the call that was killed
    second = chat([bash("echo three >> notes.txt")], words=["--session", "work"])
    second.type("Write three instead.")
    second.expect("Done.")
    second.expect("to undo: /undo")
    assert day.read("notes.txt") == "one\ntwo\nthree\n"
    second.type("/undo 2")
    second.expect("'Write two.'")
    second.type("/cost")
    second.expect("\n> ")
    assert day.shell("git status --porcelain") == ""


def test_an_afternoon_is_undone(day, chat):
    """Three turns change, delete and commit; the person edits one file, and takes everything back with one question."""
    day.repository({"src/app.py": "print(1)\n", "README.md": "# App\n", "data.csv": "1,2\n"})
    window = chat(
        [edit("src/app.py", "print(1)", "print(2)"), bash("git commit -qam 'Print two'")],
        [bash("rm data.csv && mkdir build && echo x > build/out.txt")],
        [bash("mv src lib && git add -A && git commit -qm 'Move'")],
    )
    for prompt in ("Print two.", "Remove the data.", "Move the sources."):
        window.type(prompt)
        window.expect("to undo: /undo")
    (day.workspace / "build/out.txt").write_text("mine\n")
    window.type("/undo 3")
    window.type("k", after="answer: ")
    window.expect("'Print two.'")
    window.expect("\n> ")
    assert day.shell("git log --format=%s") == "Start the project\n"
    assert day.read("src/app.py") == "print(1)\n" and day.read("data.csv") == "1,2\n"
    assert day.read("build/out.txt") == "mine\n"
    shutil.rmtree(day.workspace / "build")
    assert window.questions == 1
