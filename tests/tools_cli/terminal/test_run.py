"""`ask-tools run` on a terminal, as a person uses it."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("tools_filesystem")
DEMO = ("--model", "scripted:demo")
ASK = ("--mode", "ask")
TIDY = ("run", "Tidy this folder", *DEMO)


@pytest.fixture
def messy(place):
    """A folder in which the demonstration edits a file and deletes two."""
    pytest.importorskip("tools_workspace")
    (place / "notes.md").write_text("# Notes\n\nbuy milk\n")
    (place / "budget.csv").write_text("1,2\n")
    (place / "draft.bak").write_text("old\n")
    return place


def test_a_person_reads_the_diff_and_denies_the_call_with_a_reason(place, terminal):
    (place / "summary.md").write_text("old\n")
    run = terminal(("run", "Look", *DEMO, "--tools", "list_*,write_file", *ASK))
    run.expect("write_file needs approval: no rule matches")
    run.expect("\x1b[31m-old\x1b[0m")
    run.expect("\x1b[32m+# Summary\x1b[0m")
    run.type("what?")
    run.type("n it has my notes")
    assert "write_file was not approved: it has my notes" in run.end()
    assert (place / "summary.md").read_text() == "old\n"


@pytest.mark.slow
def test_always_shows_the_rule_and_writes_it_to_the_policy_file(place, terminal, ask):
    run = terminal(("run", "Look", *DEMO, "--tools", "list_*,write_file", *ASK), columns=200)
    run.type("a")
    run.expect(f'paths = ["{place}/**"]')
    run.type("1", after="rule (1 to 2, Enter for none): ")
    assert "Done: summary.md" in run.end()
    policy = Path(os.environ["XDG_CONFIG_HOME"], "ask-tools", "policy.toml")
    assert tomllib.loads(policy.read_text())["rule"][0]["paths"] == [f"{place}/**"]
    (place / "summary.md").unlink()
    assert "Done: summary.md" in ask("run", "Look", *DEMO, "--tools", "list_*,write_file").out


def test_a_call_runs_with_the_edited_argument(place, terminal, monkeypatch):
    (place / "editor.py").write_text("import sys\nopen(sys.argv[1], 'w').write('mine')\n")
    monkeypatch.setenv("EDITOR", "python3 editor.py")
    run = terminal(("run", "Look", *DEMO, "--tools", "list_*,write_file", *ASK))
    run.type("e")
    run.type("nope", after="which argument? (path, content): ")
    run.expect("there is no argument 'nope'")
    run.type("e")
    run.type("content", after="which argument? (path, content): ")
    run.end()
    assert (place / "summary.md").read_text() == "mine"


@pytest.mark.slow
def test_an_answer_for_the_session_survives_the_process(place, terminal, ask):
    words = ("--tools", "list_*,write_file")
    run = terminal(("run", "Look", *DEMO, "--session", "s", *words, *ASK))
    run.type("s")
    run.end()
    (place / "summary.md").unlink()
    assert "Done: summary.md" in ask("run", "Look again", "-c", *words).out
    assert "write_file needs approval" in ask("run", "Look", *DEMO, *words, code=1).err


def test_a_preview_applies_some_changes_discards_the_rest_and_can_be_undone(messy, terminal, ask):
    run = terminal((*TIDY, "--mode", "preview"))
    run.expect("deleted budget.csv")
    run.expect("buy milk")
    run.type("s notes.md draft.bak", after="what to do with the changes? ")
    run.expect("to undo: ask-tools undo ")
    run.type("x", after="what to do with the changes? ")
    run.end()
    assert sorted(os.listdir(messy)) == ["budget.csv", "notes.md"]
    assert "## Files" in (messy / "notes.md").read_text()
    ask("undo")
    assert sorted(os.listdir(messy)) == ["budget.csv", "draft.bak", "notes.md"]


@pytest.mark.slow
def test_a_preview_without_a_terminal_prints_the_command_that_applies_it(messy, ask):
    run = ask(*TIDY, "--mode", "preview")
    assert sorted(os.listdir(messy)) == ["budget.csv", "draft.bak", "notes.md"]
    assert "-# Notes" not in run.err and "+## Files" in run.err
    ask(*re.search(r"apply: ask-tools (.*)", run.err)[1].split())
    assert os.listdir(messy) == ["notes.md"]


@pytest.mark.slow
def test_the_agent_continues_in_the_copy_with_another_prompt(messy, terminal):
    run = terminal((*TIDY, "--mode", "preview"))
    run.type("p Look around", after="what to do with the changes? ")
    run.expect("summary.md")
    run.type("a", after="what to do with the changes? ")
    assert "applied 4 changes" in run.end()
    assert sorted(os.listdir(messy)) == ["notes.md", "summary.md"]


@pytest.mark.slow
def test_a_session_continues_in_its_copy(messy, terminal, ask):
    run = terminal(("run", "Look", *DEMO, "--tools", "list_*,write_file", "--mode", "preview", "--session", "s"))
    run.type("k", after="what to do with the changes? ")
    run.end()
    run = terminal(("run", "Tidy this folder", "-c"))
    run.expect("the session continues in the copy")
    run.type("a", after="what to do with the changes? ")
    assert "applied 4 changes" in run.end()
    assert sorted(os.listdir(messy)) == ["notes.md", "summary.md"]
    assert "continues in the copy" not in ask("run", "Look", "-c", code=1).err


@pytest.mark.slow
def test_a_person_is_asked_before_a_large_workspace_is_copied(messy, terminal, ask):
    with open(messy / "video.mp4", "wb") as file:
        file.truncate(6_000_000_000)
    assert "bytes in 4 files: it was not copied\n  --workspace DIR" in ask(*TIDY, "--mode", "preview", code=1).err
    run = terminal((*TIDY, "--mode", "preview"))
    run.type("y", after="files: copy it? (y/n) ")
    run.type("x", after="what to do with the changes? ")
    run.end()
    assert (messy / "budget.csv").exists()


@pytest.mark.slow
def test_a_preview_still_asks_before_a_call_leaves_the_copy(messy, ask):
    (messy / "mail.py").write_text(
        "from tools_core import tool\n@tool\ndef mail(text: str) -> str:\n    return 'sent'\n"
    )
    assert (
        "mail needs approval" in ask("run", "mail it", *DEMO, "--tools", "./mail.py", "--mode", "preview", code=1).err
    )


@pytest.mark.slow
def test_output_of_a_command_is_shown_while_it_runs_and_after_ctrl_c(place, terminal, ask):
    pytest.importorskip("tools_shell")
    (place / "slow.py").write_text(
        "from tools_core import Context, Result, tool\nfrom tools_shell import Bash\n@tool\n"
        "def slow(context: Context) -> Result:\n    'Run.'\n"
        "    return Bash().call({'command': 'echo first; sleep 2; printf half; sleep 600'}, context)\n"
    )
    run = terminal(("run", "slow", *DEMO, "--tools", "./slow.py", "--yes"))
    run.expect("first")
    run.expect("half")
    run.interrupt()
    screen = run.end(code=130)
    assert "interrupted; continue with: ask-tools run --session" in screen


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "columns"), [({"NO_COLOR": "1"}, 60), ({"TERM": "dumb"}, 200)])
def test_colors_are_off_if_the_user_or_the_terminal_disables_them(environment, columns, terminal, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    run = terminal(("run", f"Look {'very ' * 100}", *DEMO, "--tools", "list_*,write_file", *ASK), columns=columns)
    run.type("n no")
    screen = run.end()
    assert "\x1b" not in screen
    output = screen[screen.index("  │ ---") : screen.index("  y  yes, once")].splitlines()
    assert max(map(len, output)) < columns and all(line.startswith("  │") for line in output)


def test_text_of_tools_and_models_cannot_control_the_terminal(place, terminal):
    (place / "evil.py").write_text(
        "from tools_core import tool\n@tool(read_only=True)\ndef evil(text: str) -> str:\n    'X.'\n"
        "    return 'a\\x1b]0;title\\x07\\x1b[2Jb' + text\n"
    )
    run = terminal(("run", "evil \x1b[31mred", *DEMO, "--tools", "./evil.py"))
    screen = run.end()
    assert r"a\x1b]0;title\x07\x1b[2Jb\x1b[31mred" in screen
    assert set(re.findall("\x1b.{0,3}", screen)) <= {"\x1b[1m→", "\x1b[0m\n", "\x1b[0m", "\x1b[1m"}


def test_an_error_in_a_users_tool_names_its_file_and_line(place, ask):
    (place / "bad.py").write_text(
        "from tools_core import tool\n@tool(read_only=True)\ndef bad(text: str) -> str:\n    return {}['k']\n"
    )
    assert f"  at {place}/bad.py:4\n" in ask("run", "bad", *DEMO, "--tools", "./bad.py").err


def test_a_long_result_is_folded(place, ask):
    (place / "long.py").write_text(
        "from tools_core import tool\n@tool(read_only=True)\ndef count(text: str) -> str:\n"
        "    return '\\n'.join(map(str, range(100)))\n"
    )
    run = ask("run", "count", *DEMO, "--tools", "./long.py")
    assert "← 0\n  1\n  2\n  3\n  … 92 more lines …\n  96\n  97\n  98\n  99\n" in run.err


def system_message(ask, name):
    return ask("sessions", "show", name).out.partition("\nuser: ")[0]


@pytest.mark.slow
def test_the_system_prompt_has_date_folder_branch_and_advice_of_the_project(place, ask):
    subprocess.run(["git", "init", "-q", "-b", "trunk", place], check=True)
    (place / "AGENTS.md").write_text("Be brief.\n")
    (place / "sub").mkdir()
    (place / "secret").write_text("hidden\n")
    output = ask("run", "--show-system", "--workspace", "sub").out
    assert "in the folder 'sub'" in output and "on branch trunk, without commits" in output
    assert output.endswith("Advice of the project, from AGENTS.md:\n\nBe brief.\n")
    ask("run", "Hi", *DEMO, "--session", "s", "--yes", "--workspace", "sub")
    assert "Be brief." in system_message(ask, "s")
    ask("run", "Hi", *DEMO, "--session", "other", "--yes", "--system", "Speak Latin.")
    assert system_message(ask, "other") == "system: Speak Latin."


@pytest.mark.slow
def test_instructions_are_limited_named_and_left_out_on_request(place, ask):
    subprocess.run(["git", "init", "-q", "-b", "trunk", "."], check=True)
    config = Path(os.environ["XDG_CONFIG_HOME"], "ask-tools")
    for path, text in {
        place / "AGENTS.md": "Root. " + "x" * 20_000,
        place / "sub/CLAUDE.md": "Sub.",
        place / "sub/deep/AGENTS.md": "Deep.",
        place / "ignored/AGENTS.md": "Ignored.",
        place / ".gitignore": "ignored\n",
        config / "AGENTS.md": "Mine.",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    system = ask("run", "--show-system", "--workspace", "sub")
    assert "Instructions of the user:\n\nMine.\n" in system.out
    assert system.out.index("from AGENTS.md:\n\nRoot. x") < system.out.index("from sub/CLAUDE.md:\n\nSub.")
    assert "[6 more characters: read the file]" in system.out
    assert "AGENTS.md has 20,006 characters: the model gets the first 20,000" in system.err
    assert system.out.endswith("Read it before you change files there: deep/AGENTS.md\n")
    assert "Ignored." not in ask("run", "--show-system").out
    assert "Mine" not in ask("run", "--show-system", "--no-instructions").out
    (config / "settings.toml").write_text("[agent]\ninstructions = false\n")
    assert "Mine" not in ask("run", "--show-system").out


def test_instructions_are_read_in_the_encoding_of_windows_powershell(place, ask):
    (place / "AGENTS.md").write_text("Antworte höflich.", encoding="utf-16")
    assert "Antworte höflich." in ask("run", "--show-system").out


def test_instructions_that_link_out_of_the_project_are_not_sent(place, ask):
    (place.parent / "key").write_text("secret\n")
    (place / "AGENTS.md").symlink_to(place.parent / "key")
    system = ask("run", "--show-system")
    assert "secret" not in system.out
    assert "AGENTS.md is not used: it is a link out of the project" in system.err


@pytest.mark.slow
def test_text_from_other_programs_and_files_is_added_to_the_prompt(place, ask):
    (place / "a.py").write_text("x = 1\n")
    (place / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    files = ("--file", "image.png")
    ask("run", "Explain @a.py", *DEMO, "--session", "s", "--read-only", *files, text="boom\n")
    output = ask("sessions", "show", "s", "--json").out
    assert r'"Explain @a.py\n\nboom"' in output and '"image/png"' in output
    assert '"data":"eCA9IDEK","name":"a.py"' in output  # x = 1
    assert "  attached image.png, a.py" in ask("sessions", "show", "s").out
    assert ask("run", *DEMO, "--read-only", text="glob this").out.startswith("I am a script")
    assert "No such file" in ask("run", "Hi", *DEMO, "--file", "none", code=2).err


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_text_in_any_encoding_is_attached(place, ask, encoding):
    (place / "a.txt").write_bytes("caf\u00e9".encode(encoding))
    ask("run", "Explain", *DEMO, "--session", "s", "--read-only", "--file", "a.txt")
    assert '"data":"Y2Fmw6k=","name":"a.txt"' in ask("sessions", "show", "s", "--json").out  # in UTF-8


@pytest.mark.slow
def test_a_read_only_run_has_no_tool_that_changes_anything(place, ask):
    assert "I call" in ask("run", "write_file x", *DEMO, "--read-only", "--yes").out
    assert os.listdir(place) == []
    assert "--read-only leaves no tool" in ask("run", "Hi", *DEMO, "--read-only", "--tools", "write_file", code=2).err


@pytest.mark.slow
def test_a_new_session_does_not_take_a_name_like_another_one_by_mistake(ask):
    ask("run", "Hi", *DEMO, "--session", "tidy-up", "--read-only")
    error = ask("run", "Hi", *DEMO, "--session", "tidi-up", code=2).err
    assert "there is no session 'tidi-up'\n  did you mean tidy-up?" in error
    assert error.endswith("add --new to create it\n")
    ask("run", "Hi", *DEMO, "--session", "tidi-up", "--new", "--read-only")


@pytest.mark.slow
def test_the_last_session_of_the_folder_continues(place, ask):
    assert "there is no session of" in ask("run", "Hi", "-c", code=2).err
    ask("run", "Hi", *DEMO, "--session", "here", "--read-only")
    (place / "sub").mkdir()
    ask("run", "Hi", *DEMO, "--session", "elsewhere", "--read-only", "--workspace", "sub")
    assert ask("run", "Again", "-c", "--read-only").err.endswith("session here\n")


@pytest.mark.slow
def test_calls_are_denied_or_approved_with_other_arguments_without_a_terminal(place, ask):
    words = ("--tools", "list_*,write_file")
    ask("run", "Look", *DEMO, "--session", "s", *words, code=1)
    ask("sessions", "deny", "s", "not there")
    assert "not there" in ask("run", "--session", "s", *words).out
    ask("run", "Look", "--session", "s", *words, code=1)
    assert "JSON object" in ask("sessions", "approve", "s", "--arguments", "[]", code=2).err
    ask("sessions", "approve", "s", "--arguments", '{"path": "b.md", "content": "b"}')
    ask("run", "--session", "s", *words)
    assert (place / "b.md").read_text() == "b"
    assert "no such call waits for approval" in ask("sessions", "approve", "s", code=2).err
