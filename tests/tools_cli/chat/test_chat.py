"""`ask-tools chat` as a person uses it, in a terminal."""

import os
import re
import threading

import pytest

from tools_agent import Session, open_store

pytest.importorskip("tools_filesystem")

EDIT = ("edit_file", {"path": "notes.txt", "old_string": "milk", "new_string": "oat milk"})
READY = "mode ask "
NEXT_MODE = "\x1b[Z"  # Shift-Tab
UNFOLD = "\x0f"  # Ctrl-O
INTERRUPT = "\x03"
END = "\x04"


@pytest.fixture
def notes(place):
    (place / "notes.txt").write_text("buy milk\nbuy bread\n")
    return place / "notes.txt"


@pytest.fixture
def gate(place):
    """A tool `build`, which reports progress and ends when the gate is opened."""
    (place / "tools.py").write_text(
        "import os\nfrom tools_core import Context, tool\n"
        "@tool(read_only=True)\n"
        "def build(target: str, context: Context) -> str:\n"
        "    'Build.'\n"
        "    context.progress(3, 10, 'compiling')\n"
        "    with open('gate') as gate:\n"
        "        return gate.read()\n"
    )
    os.mkfifo(place / "gate")
    return (place / "gate").write_text


def test_a_reply_is_rendered_as_markdown_while_it_arrives(open_chat, model):
    rest = threading.Event()
    model.replies = [["# Plan\n\nSome **bold** text.\n\n```python\nx = 1\n```\n\nThe end is", rest, " near."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Plan it\r")
    chat.wait_for("> Plan it", "  Plan\n", "  Some bold text.", "  x = 1", "The end is")
    assert "```" not in chat.text
    rest.set()
    chat.wait_for("The end is near.", "1,200 in, 300 out")


def test_a_running_tool_shows_its_progress_and_is_then_folded(open_chat, model, gate):
    model.replies = [[("build", {"target": "all"})], ["Built."]]
    chat = open_chat("--tools", "tools.py", model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Build\r")
    chat.wait_for('→ build {"target": "all"}', "build: 3/10 compiling")
    gate("first\n" + "more\n" * 20 + "last\n")
    chat.wait_for("first\n  more", "… 14 more lines …", "Built.", without="compiling")
    chat.type(UNFOLD)
    chat.wait_for("│ first" + "\n  │ more" * 20 + "\n  │ last")


def test_a_line_during_a_turn_reaches_the_model_at_its_next_step(open_chat, model, gate):
    model.replies = [[("build", {"target": "all"})], ["Both."]]
    chat = open_chat("--tools", "tools.py", model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Build\r")
    chat.wait_for("compiling")
    chat.type("test it, too\r")
    chat.wait_for("> test it, too", "before its next step")
    gate("built")
    chat.wait_for("Both.")
    assert model.texts() == ["Build", "test it, too"]


@pytest.mark.slow
def test_ctrl_c_interrupts_a_turn_and_pressed_twice_ends_the_chat(open_chat, model):
    model.replies = [["Let me think", threading.Event()], ["Better."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Think\r")
    chat.wait_for("Let me think")
    chat.type(INTERRUPT)
    chat.wait_for("interrupted")
    chat.type("Think less\r")
    chat.wait_for("Better.", READY)
    chat.type(INTERRUPT)
    chat.wait_for("Ctrl-C again ends the chat")
    chat.type(INTERRUPT)
    assert chat.wait_for_end() == 0
    assert "continue with: ask-tools chat --session " in chat.text


@pytest.mark.slow
def test_an_interrupted_question_is_not_asked_again(open_chat, model, notes):
    model.replies = [[EDIT], ["Understood."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Change it\r")
    chat.wait_for("needs approval", "answer:")
    chat.type(f"{INTERRUPT}Leave it\r")
    chat.wait_for("Understood.")
    assert notes.read_text() == "buy milk\nbuy bread\n"


@pytest.mark.parametrize(
    ("dialog", "expected", "result"),
    [
        pytest.param([("answer:", "y\r")], "buy oat milk\n", "Changed 1 place", id="yes"),
        pytest.param(
            [("answer:", "e\r"), ("which argument?", "new_string\r"), ("new_string: oat milk", "\x15soy milk\r")],
            "buy soy milk\n", "Changed 1 place", id="edit",
        ),
    ],
)  # fmt: skip
def test_an_approval_shows_a_diff_and_takes_the_answer(open_chat, model, notes, dialog, expected, result):
    model.replies = [[EDIT], ["Done."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Change it\r")
    chat.wait_for("│ -buy milk\n  │ +buy oat milk", "y  yes, once")
    for question, line in dialog:
        chat.wait_for(question)
        chat.type(line)
    chat.wait_for("Done.")
    assert notes.read_text() == f"{expected}buy bread\n"
    assert result in model.texts(role="tool")[0]


@pytest.mark.slow
def test_a_draft_is_never_an_answer(open_chat, model, notes):
    next_step = threading.Event()
    model.replies = [["Wait.", next_step, EDIT], ["Done."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Change it\r")
    chat.wait_for("Wait.")
    chat.type("yes, and th")
    chat.wait_for("> yes, and th")
    next_step.set()
    chat.wait_for("answer:", without="> yes, and th")
    chat.type("y\r")
    chat.wait_for("Done.", "> yes, and th")
    assert notes.read_text() == "buy oat milk\nbuy bread\n"


def test_a_preview_is_applied_and_undone_from_the_chat(open_chat, model, notes):
    model.replies = [[EDIT], ["Done."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type(NEXT_MODE)
    chat.wait_for("mode preview ")
    chat.type("Change it\r")  # in a copy no approval is needed
    chat.wait_for("Done.", "mode preview, 1 change ")
    assert notes.read_text() == "buy milk\nbuy bread\n"
    chat.type("/changes\r")
    chat.wait_for("│ +buy oat milk", "what to do with the changes?")
    chat.type("a\r")
    chat.wait_for("applied 1 change")
    assert notes.read_text() == "buy oat milk\nbuy bread\n"
    chat.type("/undo\r")
    chat.wait_for("undone 1 change")
    assert notes.read_text() == "buy milk\nbuy bread\n"


@pytest.mark.slow
def test_a_killed_chat_with_a_preview_continues_in_its_copy(open_chat, model, notes):
    model.replies = [[EDIT], ["Done."]]
    chat = open_chat(model="openai:gpt-5", mode="preview")
    chat.wait_for("mode preview ")
    chat.type("Change it\r")
    chat.wait_for("mode preview, 1 change ")
    chat.process.kill()
    chat.wait_for_end()
    assert notes.read_text() == "buy milk\nbuy bread\n"

    following = open_chat()
    following.wait_for("sessions with a copy of this folder: ", READY)
    following.type(re.search(r"to continue: (/resume \w+)", following.text)[1] + "\r")
    following.wait_for("> Change it", "mode preview, 1 change ")
    following.type(END)
    following.wait_for_end()
    assert "apply: ask-tools apply --copy" in following.text


@pytest.mark.slow
def test_sessions_are_resumed_and_forked(open_chat, model):
    model.replies = [["Four."], ["Eight."]]
    first = open_chat(model="openai:gpt-5")
    first.wait_for(READY)
    first.type("2 + 2?\r")
    first.wait_for("Four.", "1,200 in")  # the reply is stored
    first.type(END)
    first.wait_for_end()
    with open_store() as store:
        (info,) = store.sessions()
    assert (info.metadata["model"], info.metadata["title"]) == ("openai:gpt-5", "2 + 2?")

    second = open_chat("--continue", model=None)
    second.wait_for("> 2 + 2?", "  Four.", READY)
    second.type("/fork other\r")
    second.wait_for("this chat continues in other")
    second.type("Times two?\r")
    second.wait_for("Eight.", "mode ask  2,400 in")
    assert model.texts() == ["2 + 2?", "Times two?"]
    second.type(f"/resume {info.id}\r")
    second.wait_for(f"> /resume {info.id}", "mode ask  1,200 in")
    with open_store() as store:
        assert [len(Session.open(store, id)) for id in (info.id, "other")] == [3, 5]


@pytest.mark.slow
def test_a_summary_replaces_old_messages_for_the_model(open_chat, model):
    model.replies = [["Four."], ["They did sums."], ["Six."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("2 + 2?\r")
    chat.wait_for("Four.", "1,200 in")
    chat.type("/compact\r")
    chat.wait_for("They did sums.")
    chat.type("3 + 3?\r")
    chat.wait_for("Six.")
    assert model.texts()[0] == "Summary of the conversation so far:\n\nThey did sums."
    assert model.texts()[-1] == "3 + 3?"


@pytest.mark.slow
def test_prompts_that_are_typed_together_are_all_answered_in_one_session(open_chat, model):
    gate = threading.Event()
    model.replies = [[gate, "One."], ["Two."], ["Three."], ["Four."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("first\rsecond\rthird\r")
    chat.wait_for("> first", "second", "third")
    gate.set()
    chat.wait_until(lambda: model.requests and model.texts()[-1] == "third")
    assert model.texts() == ["first", "second", "third"]
    assert "is in use" not in chat.text


@pytest.mark.slow
def test_the_model_is_changed_and_its_cost_is_listed(open_chat, model):
    model.replies = [["Four."]]
    chat = open_chat()
    chat.wait_for("scripted:demo", READY)
    chat.type("/model openai:gpt-5\r")
    chat.wait_for("the model is openai:gpt-5")
    chat.type("2 + 2?\r")
    chat.wait_for("Four.", "1,200 in, 300 out")
    chat.type("/cost\r")
    chat.wait_for("  1,200 in, 300 out", "> /cost")
    chat.type("/model nonsense\r")
    chat.wait_for("expected a model such as openai:gpt-5")


@pytest.mark.slow
def test_commands_and_paths_are_completed(open_chat, notes):
    chat = open_chat()
    chat.wait_for(READY)
    chat.type("/und")
    chat.wait_for("restore the files")
    chat.type("\t\r")
    chat.wait_for("> /undo", "nothing to undo")
    chat.type("What is in @no")
    chat.wait_for("@no\n", "notes.txt")
    chat.type("\t")
    chat.wait_for("What is in @notes.txt")


@pytest.mark.slow
def test_prompts_are_in_the_history_of_the_next_chat(open_chat):
    first = open_chat("--tools", "list_directory")
    first.wait_for(READY)
    first.type("list_directory please\r")
    first.wait_for("returned", READY)
    first.type(END)
    first.wait_for_end()
    second = open_chat()
    second.wait_for(READY)
    second.type("\x1b[A")
    second.wait_for("> list_directory please")


@pytest.mark.slow
def test_models_and_tools_cannot_control_the_terminal(open_chat, model, place):
    attack = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e"
    (place / "tools.py").write_text(
        "import os\nfrom tools_core import tool\n"
        "@tool(read_only=True)\n"
        f"def shout(text: str) -> str:\n    'Shout.'\n    print({attack!r}, flush=True)\n"
        f"    os.write(1, {attack!r}.encode())\n    return {attack!r}\n"
    )
    model.replies = [[f"Look: {attack}\n\nMore\n\n", ("shout", {"text": attack})], [f"{attack} Done."]]
    chat = open_chat("--tools", "tools.py", model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Attack\r")
    chat.wait_for("Done.", r"← \x1b]0;owned\x07\x1b[2J")
    chat.type(UNFOLD)
    chat.wait_for("→ shout\n", "←\n  │ ")
    assert b"\x1b]0;owned" not in chat.raw
    assert b"\x1b[2J" not in chat.raw
    assert "\u202e".encode() not in chat.raw
    assert "> Attack" in chat.text


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 200])
def test_long_lines_continue_behind_their_margin(open_chat, model, notes, columns):
    call = ("write_file", {"path": "notes.txt", "content": "word " * 100})
    model.replies = [["text " * 100, call], ["Done."]]
    chat = open_chat(model="openai:gpt-5", columns=columns)
    chat.wait_for(READY)
    chat.type("Write\r")
    chat.wait_for("answer:")
    rows = [line for line in chat.text.splitlines() if "word word" in line]
    assert all(line.startswith("  │ ") for line in rows)
    assert all(line.startswith("  text") for line in chat.text.splitlines() if "text text" in line)
    chat.type("y\r")
    chat.wait_for("Done.")


@pytest.mark.slow
def test_no_color_leaves_out_all_colors(open_chat, model):
    model.replies = [["Some **bold** and `code`.\n\n```python\nx = 1\n```\n"]]
    chat = open_chat(model="openai:gpt-5", env={"NO_COLOR": "1"})
    chat.wait_for(READY)
    chat.type("Hello\r")
    chat.wait_for("x = 1", "300 out")
    assert not re.search(rb"\x1b\[(\d+;)*(3[0-7]|4[0-7]|9[0-7]|38|48)[;m]", chat.raw)


@pytest.mark.slow
def test_a_dumb_terminal_receives_plain_lines(open_chat, notes):
    chat = open_chat("--tools", "tools_filesystem", env={"TERM": "dumb"})
    chat.wait_for(READY.strip())
    chat.type("Look around\n")
    chat.wait_for("→ list_directory", "write_file needs approval", "answer:")
    chat.type("y\n")
    chat.wait_for("Done: summary.md has the list of files.")
    chat.type("/help\n")
    chat.wait_for("/compact [INSTRUCTIONS]")
    chat.type(END)
    assert chat.wait_for_end() == 0
    assert b"\x1b" not in chat.raw
    assert (notes.parent / "summary.md").exists()


@pytest.mark.slow
def test_a_question_of_a_tool_is_answered_by_number(open_chat, model, place):
    (place / "tools.py").write_text(
        "from tools_core import Context, tool\n"
        "@tool(read_only=True)\n"
        "def order(context: Context) -> str:\n"
        "    'Order.'\n"
        "    return context.ask('Which tea?', choices=['green', 'black'])\n"
    )
    model.replies = [[("order", {})], ["Ordered."]]
    chat = open_chat("--tools", "tools.py", model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Order tea\r")
    chat.wait_for("order asks: Which tea?\n  1  green\n  2  black", "answer:")
    chat.type("2\r")
    chat.wait_for("Ordered.")
    assert model.texts(role="tool") == ["black"]


@pytest.mark.slow
@pytest.mark.parametrize("keys", [f"/exit\r{END}", "/exit\r/exit\r"])
def test_ending_a_chat_twice_causes_no_error(open_chat, keys):
    chat = open_chat()
    chat.wait_for("/help")
    chat.type(keys)
    assert chat.wait_for_end() == 0
    assert "Exception" not in chat.text
