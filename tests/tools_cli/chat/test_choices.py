"""Sessions and models that a person chooses from a list, the settings file, and the line with tokens and window."""

import re

import pytest

from tools_agent import Session, open_store
from tools_cli._settings import agent_setting
from tools_cli._terminal._bell import signal_of
from tools_core.command import CommandError

READY = "mode ask"
DEMO = "scripted:demo"


@pytest.fixture
def sessions(place):
    """Two sessions of this folder and one of another one, the latest last."""
    with open_store() as store:
        for id, title, folder in (
            ("aaa", "Fix the parser", place),
            ("bbb", "Write the docs", place),
            ("ccc", "Elsewhere", place.parent),
        ):
            Session([], id=id, store=store, metadata={"model": DEMO, "title": title, "workspace": str(folder)})


@pytest.fixture
def settings(tmp_path):
    """Write the settings file of the user."""

    def write(text):
        path = tmp_path / "XDG_CONFIG_HOME/ask-tools/settings.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


def test_a_session_is_chosen_from_a_list_that_typing_filters(open_chat, sessions):
    chat = open_chat("--resume", model=None)
    chat.wait_for("> /resume", "Write the docs", "Fix the parser", "just now  Elsewhere")
    rows = [line for line in chat.text.splitlines() if "just now" in line]
    assert [row.split()[0] for row in rows] == ["bbb", "aaa", "ccc"]
    chat.type("parser")
    chat.wait_for("Fix the parser", without="Write the docs")
    chat.type("\r")
    chat.wait_for("> /resume parser", READY)
    chat.type("\x04")
    assert chat.wait_for_end() == 0
    assert "continue with: ask-tools chat --session aaa" in chat.text


@pytest.mark.slow
def test_models_of_the_servers_are_listed_and_chosen_during_a_session(open_chat, model):
    model.names = ["gpt-5", "gpt-5-mini"]
    model.replies = [["Four."]]
    chat = open_chat(env={"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    chat.wait_for(READY)
    chat.type("/model\r")
    chat.wait_for("the model is scripted:demo", "anthropic: cannot connect to 127.0.0.1:9", "openai:gpt-5-mini")
    chat.type("mini\r")
    chat.wait_for("the model is openai:gpt-5-mini")
    chat.type("2 + 2?\r")
    chat.wait_for("Four.", "1,200 in, 300 out; $0.0009; <1% of the window")
    assert model.requests[-1]["model"] == "gpt-5-mini"


@pytest.mark.slow
def test_a_dumb_terminal_lists_sessions_and_takes_words_of_one(open_chat, sessions):
    chat = open_chat("--resume", model=None, env={"TERM": "dumb"})
    chat.wait_for("bbb  just now  Write the docs", "/resume WORDS chooses")
    chat.type("/resume docs\n")
    chat.type("/resume unknown\n")
    chat.wait_for("nothing matches 'unknown'")
    chat.type("\x04")
    chat.wait_for_end()
    assert "continue with: ask-tools chat --session bbb" in chat.text


@pytest.mark.slow
def test_the_model_of_the_settings_file_is_the_default(open_chat, settings):
    chat = open_chat(model=None)
    assert chat.wait_for_end() == 2
    assert 'model = "PROVIDER:NAME" under [agent] in ' in chat.text
    settings('[agent]\nmodel = "scripted:demo"\n')
    open_chat(model=None).wait_for("ask-tools chat: scripted:demo")


@pytest.mark.parametrize(
    ("notify", "variables", "signal"),
    [
        ("bell", {"TERM_PROGRAM": "WezTerm"}, "\a"),
        ("off", {"TERM_PROGRAM": "WezTerm"}, ""),
        ("desktop", {"TERM_PROGRAM": "WezTerm"}, "\x1b]9;ask-tools waits for you\a"),
        ("desktop", {"TERM": "xterm-kitty"}, "\x1b]9;ask-tools waits for you\a"),
        ("desktop", {"VTE_VERSION": "7600"}, "\x1b]777;notify;ask-tools;ask-tools waits for you\a"),
        ("desktop", {"TERM": "xterm-256color"}, "\a"),
        ("desktop", {"TERM_PROGRAM": "tmux", "TERM": "tmux-256color", "VTE_VERSION": "7600"}, "\a"),
        ("desktop", {"TERM": "screen-256color", "VTE_VERSION": "7600"}, "\a"),
    ],
)
def test_a_terminal_gets_the_signal_that_it_understands(monkeypatch, notify, variables, signal):
    for name in ("TERM", "TERM_PROGRAM", "VTE_VERSION"):
        monkeypatch.setenv(name, variables[name]) if name in variables else monkeypatch.delenv(name, raising=False)
    assert signal_of(notify) == signal


@pytest.mark.slow
def test_a_question_rings_after_a_while_without_a_key(open_chat, model):
    model.replies = [[("write_file", {"path": "a", "content": "b"})], ["Done."]]
    chat = open_chat(model="openai:gpt-5")
    chat.wait_for(READY)
    chat.type("Write\r")
    chat.wait_for("answer:")
    assert b"\x07" not in chat.raw
    chat.wait_until(lambda: b"\x07" in chat.raw)
    chat.type("y\r")
    chat.wait_for("Done.")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("modle = 1", "unknown key 'modle'"),
        ("model = 1", 'model must be text, such as model = "openai:gpt-5"'),
        ("instructions = 'no'", "instructions must be true or false"),
        ("notify = 'loud'", "notify is 'loud'; it is one of bell, desktop, off"),
        ("[", "not valid TOML"),
    ],
)
def test_an_error_names_a_wrong_setting(place, settings, text, problem):
    settings(f"[agent]\n{text}\n")
    with pytest.raises(CommandError, match=f"settings.toml.*{re.escape(problem)}"):
        agent_setting("model")
