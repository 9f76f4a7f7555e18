"""The modes of a chat: what runs without a question, and what undo and rewind restore."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("tools_shell")

EDIT = ("edit_file", {"path": "notes.txt", "old_string": "milk", "new_string": "oat milk"})
COMMAND = (sys.executable, "-m", "tools_core")
GIT = "git -c user.name=a -c user.email=a@b"
NEXT_MODE = "\x1b[Z"  # Shift-Tab


@pytest.fixture
def notes(place):
    (place / "notes.txt").write_text("buy milk\n")
    return place / "notes.txt"


def bash(script):
    return ("bash", {"command": script})


def content_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def test_calls_in_the_workspace_run_unasked_and_are_undone_with_their_commits(open_chat, model, notes):
    place = notes.parent
    subprocess.run(["sh", "-c", f"git init -q && git add . && {GIT} commit -qm Start"], check=True)
    before = content_of(place)
    commit = f"{GIT} commit -qam Change && rm notes.txt && mkdir new && echo 1 > new/a"
    model.replies = [[EDIT], [bash(commit)], ["Done."]]
    chat = open_chat(model="openai:gpt-5", mode=None)
    chat.wait_for("mode auto ──")
    chat.type("Change it\r")
    chat.wait_for("Done.", "changes in this turn; to undo: /undo")
    assert not notes.exists() and "needs approval" not in chat.text
    chat.type("/undo\r")
    chat.wait_for("its commits are undone as well", "undone ", "added new/a")
    assert content_of(place) == before
    assert subprocess.check_output(["git", "log", "--format=%s"], text=True) == "Start\n"
    chat.type("/undo\r")
    chat.wait_for("nothing to undo")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "approvals"),
    [
        pytest.param([("outside", {"path": "notes.txt"})], "outside needs approval", id="a tool that states nothing"),
        pytest.param(
            [("write_file", {"path": ".envrc", "content": "x"})], "write_file needs approval", id="a protected file"
        ),
        pytest.param([bash("echo 1 > .envrc")], "bash needs approval", id="a command on a protected file"),
        pytest.param([bash("touch denied")], "bash needs approval", id="a rule of the user"),
    ],
)
def test_calls_outside_the_workspace_need_approval(open_chat, model, notes, calls, approvals):
    (notes.parent / "tools.py").write_text(
        "from pathlib import Path\nfrom tools_core import tool\n@tool\ndef outside(path: Path) -> str:\n    'Send.'\n"
    )
    policy = Path(os.environ["XDG_CONFIG_HOME"], "ask-tools", "policy.toml")
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\ndecision = "ask"\ntool = "bash"\ncommands = ["touch *"]\n')
    model.replies = [calls, ["Done."]]
    chat = open_chat("--tools", "tools.py,tools-shell,write_file", model="openai:gpt-5", mode=None)
    chat.wait_for("mode auto ──")
    chat.type("Go\r")
    chat.wait_for(approvals, "answer:")


@pytest.mark.slow
def test_undo_of_three_turns_asks_before_it_replaces_a_user_edit(open_chat, model, notes):
    place = notes.parent
    names = ("one", "two", "three")
    model.replies = [reply for name in names for reply in ([bash(f"echo {name} | tee {name} notes.txt")], [f"{name}."])]
    chat = open_chat(model="openai:gpt-5", mode=None)
    for name in names:
        chat.wait_for("mode auto")
        chat.type(f"Write {name}\r")
        chat.wait_for(f"{name}.\n", without="thinking")
        chat.wait_until(lambda name=name: chat.text.count("to undo: /undo") == names.index(name) + 1)
    (place / "three").write_text("mine\n")
    chat.type("/undo 3\r")
    chat.wait_for("1 file changed after the agent's change:", "  three", "k  keep it", "answer:")
    chat.type("k\r")
    chat.wait_for("undone 2 changes of", "the turn 'Write one'", "skipped three")
    assert content_of(place) == {"notes.txt": b"buy milk\n", "three": b"mine\n"}


@pytest.mark.slow
def test_the_turn_of_a_killed_chat_is_undone_after_a_question(open_chat, model, notes):
    model.replies = [[bash("echo two > notes.txt; sleep 600")]]
    first = open_chat(model="openai:gpt-5", mode=None)
    first.wait_for("mode auto ──")
    first.type("Go\r")
    first.wait_until(lambda: notes.read_text() == "two\n")
    os.killpg(first.process.pid, signal.SIGKILL)
    first.wait_for_end()
    second = open_chat(model="openai:gpt-5", mode=None)
    second.wait_for("mode auto ──")
    second.type("/undo\r")
    second.wait_for("the last turn was killed", "changed notes.txt", "undo them? (y/n)")
    second.type("y\r")
    second.wait_for("undone 1 change of the turn 'Go'")
    assert notes.read_text() == "buy milk\n"


def test_rewind_goes_back_to_the_files_and_the_conversation_before_a_prompt(open_chat, model, notes):
    model.replies = [[EDIT], ["First."], [bash("rm notes.txt")], ["Second."], ["Third."]]
    chat = open_chat(model="openai:gpt-5", mode=None)
    chat.wait_for("mode auto ──")
    chat.type("Change it\r")
    chat.wait_for("First.", "to undo: /undo")
    chat.type("Delete it\r")
    chat.wait_for("Second.", without="thinking")
    chat.wait_until(lambda: chat.text.count("to undo: /undo") == 2)
    chat.type("/rewind\r")
    chat.wait_for("1  Delete it  (1 change)", "2  Change it  (1 change)")
    chat.type("/rewind 1\r")
    chat.wait_for("back to before the prompt: Delete it")
    chat.wait_until(lambda: chat.input == "> Delete it")
    assert notes.read_text() == "buy oat milk\n"
    chat.type("\x15Something else\r")
    chat.wait_for("Third.")
    assert model.texts() == ["Change it", "Something else"]


@pytest.mark.slow
def test_rewind_restores_a_session_of_the_run_command(open_chat, model, notes):
    model.replies = [[EDIT], ["First."], ["Nothing to do."], [bash("rm notes.txt")], ["Third."], ["Fourth."]]
    for prompt in ("Change it", "Look", "Delete it"):
        words = ("run", prompt, "--model", "openai:gpt-5", "--session", "s", "--mode", "auto", "--yes")
        subprocess.run([*COMMAND, *words], check=True, capture_output=True)
    assert not notes.exists()
    chat = open_chat("--session", "s", model=None, mode=None)
    chat.wait_for("Third.", "of the window")
    chat.type("/rewind\r")
    chat.wait_for("1  Delete it  (1 change)", "2  Look", "3  Change it  (1 change)")
    chat.type("/rewind 2\r")
    chat.wait_for("back to before the prompt: Look")
    chat.wait_until(lambda: chat.input == "> Look")
    assert notes.read_text() == "buy oat milk\n"
    chat.type("\x15Something else\r")
    chat.wait_for("Fourth.")
    assert model.texts() == ["Change it", "Something else"]


@pytest.mark.slow
def test_shift_tab_goes_through_the_modes_that_the_screen_shows(open_chat, notes):
    chat = open_chat(mode=None)
    for mode in ("auto", "ask", "preview", "auto"):
        chat.wait_for(f"mode {mode} ──")
        chat.type(NEXT_MODE)
    chat.type("/mode preview\r")
    chat.wait_for("mode preview ──")
    chat.type("/mode sometimes\r")
    chat.wait_for("there is no mode 'sometimes'", "modes: auto, ask, preview")


@pytest.mark.slow
def test_leaving_auto_mode_during_a_turn_makes_calls_ask(open_chat, model, notes):
    gate = threading.Event()
    model.replies = [["Wait.", gate, EDIT], ["Done."]]
    chat = open_chat(model="openai:gpt-5", mode=None)
    chat.wait_for("mode auto ──")
    chat.type("Change it\r")
    chat.wait_for("Wait.")
    chat.type(NEXT_MODE)
    chat.wait_for("mode ask ──")
    gate.set()
    chat.wait_for("edit_file needs approval")
    assert notes.read_text() == "buy milk\n"
    chat.type("y\r")
    chat.wait_for("Done.")


@pytest.mark.slow
def test_without_a_checkpoint_auto_mode_warns_in_one_line_and_asks(open_chat, model, notes):
    from tools_workspace import Checkpoint, Workspace

    model.replies = [[EDIT], ["Done."]]
    with Checkpoint(Workspace(notes.parent)) as other:
        other.begin()
        chat = open_chat(model="openai:gpt-5", mode=None)
        chat.wait_for("mode auto ──")
        chat.type("Change it\r")
        chat.wait_for("cannot be undone, so each change needs approval: another process", "edit_file needs approval")
        chat.type("y\r")
        chat.wait_for("Done.", "mode ask ")
    assert chat.text.count("cannot be undone") == 1


@pytest.mark.slow
def test_the_settings_name_the_default_mode(open_chat, place):
    settings = Path(os.environ["XDG_CONFIG_HOME"], "ask-tools", "settings.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text('[agent]\nmode = "preview"\n')
    open_chat(mode=None).wait_for("mode preview ──")


@pytest.mark.slow
def test_a_killed_turn_is_undone_after_a_look_at_it(open_chat, model, notes):
    gate = threading.Event()
    model.replies = [[bash("rm notes.txt")], ["Wait.", gate]]
    chat = open_chat(model="openai:gpt-5", mode=None)
    chat.wait_for("mode auto ──")
    chat.type("Delete it\r")
    chat.wait_for("Wait.")
    chat.process.kill()
    chat.wait_for_end()
    gate.set()
    command = [sys.executable, "-m", "tools_core", "undo"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "deleted notes.txt" in done.stderr
    id = done.stderr.rpartition("ask-tools undo ")[2].split()[0]
    subprocess.run([*command, id], check=True)
    assert notes.read_text() == "buy milk\n"
