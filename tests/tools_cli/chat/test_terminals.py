"""Terminals of users: other codes for keys, wide letters, long replies, and a shell with job control."""

import threading

import pytest

from tools_agent import open_store
from tools_cli._chat.live_reply import LiveReply
from tools_cli._terminal._screen import fit

READY = "mode ask"


@pytest.mark.parametrize(
    ("typed", "prompt"),
    [
        pytest.param("a\nb", "a\nb", id="Ctrl-J"),
        pytest.param("a\x1b[13;2ub\x1b[27;2;13~c", "a\nb\nc", id="Shift-Enter"),
        pytest.param("a\x1b[Ib\x1b[Oc", "abc", id="focus"),
        pytest.param("\x1b[200~a\x1b[106;5ub\x1b[13;1uc\rd\r\ne\x1b[201~", "a\nb\nc\nd\ne", id="paste in tmux"),
        pytest.param(
            "\U0001f132 你好 👨‍👩‍👧 สวัสดี e\u0301", "\U0001f132 你好 👨‍👩‍👧 สวัสดี e\u0301", id="wide and combined"
        ),
    ],
)
@pytest.mark.slow
def test_codes_of_terminals_become_the_text_that_was_meant(open_chat, model, typed, prompt):
    model.replies = [["Read."]]
    chat = open_chat("--mode", "ask", model="openai:gpt-5", columns=40, lines=12)
    chat.wait_for(READY)
    chat.type("!echo\r")  # the keys from before the start are read
    chat.wait_for("exit code 0; the next")
    chat.type("!!sleep 0.3\r")
    chat.wait_for("exit code 0; private")
    chat.type(f"{typed}\r")
    chat.wait_for("Read.")
    assert model.texts()[0][0]["text"] == prompt


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/exit", "/quit"])
def test_a_command_ends_the_chat(open_chat, name):
    chat = open_chat("--mode", "ask")
    chat.wait_for(READY)
    chat.type(f"{name}\r")
    assert chat.wait_for_end() == 0


@pytest.mark.slow
def test_a_line_typed_before_the_start_is_sent(open_chat, model):
    model.replies = [["Early."]]
    chat = open_chat("--mode", "ask", model="openai:gpt-5")
    chat.type("first\r")  # a line feed: the terminal is not in raw mode yet
    chat.wait_for("Early.")
    assert model.texts() == ["first"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "text"),
    [
        pytest.param("", READY, id="idle"),
        pytest.param("Think\r", "Let me think", id="turn"),
        pytest.param("Write\r", "answer:", id="question"),
        pytest.param("!cat\r", "> !cat", id="shell"),
    ],
)
def test_a_chat_ends_and_keeps_its_session_when_its_terminal_closes(open_chat, model, typed, text):
    call = ("write_file", {"path": "a", "content": "b"})
    model.replies = [[call] if typed.startswith("Write") else ["Let me think", threading.Event()]]
    chat = open_chat("--mode", "ask", model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type(typed)
    chat.wait_for(text)
    chat.hang_up()
    assert chat.process.wait(90) == 1
    with open_store() as store:
        assert len(store.sessions()) == ("!" not in typed and bool(typed))


@pytest.mark.slow
def test_escape_interrupts_a_turn(open_chat, model):
    model.replies = [["Let me think", threading.Event()]]
    chat = open_chat("--mode", "ask", model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Think\r")
    chat.wait_for("Let me think")
    chat.type("\x1b")
    chat.wait_for("interrupted: write what to do instead")


def test_a_long_reply_shows_its_end_while_it_arrives():
    reply = LiveReply()
    code = [f"x = {i}\n" for i in range(999)]
    assert "".join(map(reply.feed, ["# Code\n\n", "```python\n", *code])) == "# Code\n"
    rows = reply.view(40, 5).split("\n")
    assert len(rows) == 5
    assert "998" in rows[-2]
    assert "`" not in "".join(rows)
    assert reply.take().endswith("x = 998\n")
    assert reply.view(40, 5) == ""


@pytest.mark.slow
def test_a_long_list_is_taken_off_when_it_ends():
    reply = LiveReply()
    pieces = [*(f"- item {i}\n" for i in range(2_000)), "\nThe end.\n"]
    complete = "".join(reply.feed(piece) for piece in pieces)
    assert complete + reply.take() == "".join(pieces)


@pytest.mark.parametrize(("text", "part"), [("abc", "abc"), ("abcdef", "abcd"), ("你好吗", "你好"), ("a你好", "a你 ")])
def test_wide_letters_take_two_columns(text, part):
    assert fit(text, 4) == part
