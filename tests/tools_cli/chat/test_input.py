"""Input of `ask-tools chat`: files, pastes, commands of a shell, and their own commands."""

import re
import subprocess

import pytest

from tools_cli._chat.custom_commands import custom_commands
from tools_cli._chat.shell import readable
from tools_cli._commands.attachments import Attachments, read_file
from tools_core.command import CommandError

READY = "mode ask"
PICTURE = b"\x89PNG\r\n\x1a\n"


def paste(text):
    return f"\x1b[200~{text}\x1b[201~"


@pytest.fixture
def notes():
    """The remarks of `attachments`."""
    return []


@pytest.fixture
def attachments(notes):
    return Attachments(notes.append, [])


@pytest.fixture
def project(place):
    """A repository with ignored files, a picture and binary data."""
    subprocess.run(["git", "init", "-q"], check=True)
    for name, data in {
        "src/app/main.py": b"print(1)\n",
        "node_modules/main.py": b"",
        ".gitignore": b"node_modules\n",
        "a dot.png": PICTURE,
        "data.bin": b"\0\1\2\xff",
        "large.txt": b"x" * 400_001,
        "página.md": "# Página\n".encode(),
    }.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return place


def test_files_and_folders_of_a_prompt_are_attached_once(project, attachments, notes):
    text = 'Compare @src/app/main.py, @src/app/main.py with @"a dot.png", (@página.md) and @src; @property stays.'
    files = attachments.take(text, str(project))
    assert [(file.name, file.kind) for file in files] == [
        ("src/app/main.py", "file"), ("a dot.png", "image"), ("src/", "file"),
    ]  # fmt: skip
    assert files[0].data == b"print(1)\n"
    assert files[2].data == b"app/main.py"
    assert notes == ["attached src/app/main.py, a dot.png, src/"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("data.bin", "data.bin: application/octet-stream is neither text"),
        ("large.txt", "large.txt has 400,001 characters"),
        ("missing.txt", "missing.txt does not exist"),
    ],
)
def test_a_warning_names_each_file_that_cannot_be_attached(project, attachments, notes, path, problem):
    assert attachments.take(f"Look at @{path}.", str(project)) == []
    assert problem in notes[0]
    assert "not attached" in notes[0]


@pytest.mark.parametrize(
    ("text", "names"), [("List @.", ["./"]), ("@.. and @./", ["../", "./"]), ("@, @: @...", []), ("a @ b", [])]
)
def test_folders_are_attached_by_their_dots_and_other_marks_are_text(project, attachments, text, names):
    assert [file.name for file in attachments.take(text, str(project / "src"))] == names


def test_a_listing_leaves_out_ignored_files(project):
    assert read_file(".", str(project)).data.decode().split("\n") == [
        ".gitignore", "a dot.png", "data.bin", "large.txt", "página.md", "src/app/main.py",
    ]  # fmt: skip


def test_text_of_a_project_attaches_only_files_of_the_workspace(project, attachments, notes):
    (project.parent / "secret").write_text("secret")
    (project / "link").symlink_to(project.parent / "secret")
    attachments.is_confined = True
    text = f"Read @../secret, @link, @{project.parent}/secret and @src/app/main.py"
    assert [file.name for file in attachments.take(text, str(project))] == ["src/app/main.py"]
    assert len(notes) == 4
    assert len(attachments.take("Read @../secret", str(project))) == 1  # the user has typed it


@pytest.mark.parametrize(
    ("text", "inserted"),
    [
        ("two\r\nlines", "two\nlines"),
        ("old\rmac", "old\nmac"),
        ("line\n" * 240, "[pasted 240 lines]"),
        ("x" * 2_001, "[pasted 2,001 characters]"),
        ("/etc/hosts", "/etc/hosts"),
        ("it's 8 o'clock at /etc", "it's 8 o'clock at /etc"),
        ("{project}/a\\ dot.png", '@"{project}/a dot.png" '),
        ("'{project}/a dot.png' ", '@"{project}/a dot.png" '),
        ("file://{project}/a%20dot.png", '@"{project}/a dot.png" '),
        ("{project}/missing.png", "{project}/missing.png"),
    ],
)
def test_pastes_become_labels_and_paths(project, attachments, text, inserted):
    assert attachments.paste(text.replace("{project}", str(project))) == inserted.replace("{project}", str(project))


def test_each_paste_is_sent_whole_under_its_label(attachments):
    first, second = attachments.paste("a\n" * 9), attachments.paste("b\n" * 9)
    assert (first, second) == ("[pasted 9 lines]", "[pasted 9 lines #2]")
    assert [file.data for file in attachments.take(f"Explain {second}", ".")] == [b"b\n" * 9]
    assert attachments.expand(f"/compact {first}") == "/compact " + "a\n" * 9


def test_a_clipboard_without_a_picture_names_the_programs_that_read_it(attachments, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="wl-paste, xclip or pngpaste"):
        attachments.paste_picture()
    (tmp_path / "xclip").write_text("#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\n'\n")
    (tmp_path / "xclip").chmod(0o755)
    assert attachments.paste_picture() == "[picture]"
    assert [file.data for file in attachments.take("What is [picture]?", ".")] == [PICTURE]


def test_custom_commands_come_from_files_of_the_project_and_the_user(place, tmp_path):
    files = {
        place
        / ".ask-tools/commands/review.md": "---\ndescription: Review a file\n---\nReview $1 for $2. All: $ARGUMENTS.\n",
        place / ".ask-tools/commands/Not A Name.md": "x",
        tmp_path / "XDG_CONFIG_HOME/ask-tools/commands/review.md": "Mine",
        tmp_path / "XDG_CONFIG_HOME/ask-tools/commands/explain.md": "# Explain\r\n\r\nBriefly, for $10 and ${HOME}.",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "secret.md").write_text("secret")
    (place / ".ask-tools/commands/leak.md").symlink_to(tmp_path / "secret.md")
    commands = custom_commands(str(place))
    assert {name: command.purpose for name, command in commands.items()} == {
        "/review": "Review a file (project)",
        "/explain": "Explain (user)",
    }
    assert commands["/review"].prompt("'a b.py' bugs") == "Review a b.py for bugs. All: 'a b.py' bugs."
    assert commands["/explain"].prompt("it's late") == "# Explain\n\nBriefly, for $10 and ${HOME}.\n\nit's late"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_broken_command_hides_no_other_in_any_encoding(place, encoding):
    folder = place / ".ask-tools/commands"
    folder.mkdir(parents=True)
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "review.md").write_bytes("---\r\ndescription: Prüfe\r\n---\r\nPrüfe $1".encode(encoding))
    [(name, command)] = custom_commands(str(place)).items()
    assert (name, command.purpose, command.prompt("x")) == ("/review", "Prüfe (project)", "Prüfe x")


@pytest.mark.slow
def test_output_of_the_user_is_readable_text():
    assert readable(b"\x1b[31mred\x1b[0m\r\n 10%\r100%\r\n\x1b]0;title\x07end") == "red\n100%\nend"
    assert readable(b"\x1b[?1049h vim \x1b[?1049l") is None
    assert "characters omitted" in readable(b"x" * 40_000)


@pytest.mark.slow
def test_the_editor_writes_a_prompt_and_a_new_session_begins(open_chat, model, place):
    (place / "editor").write_text('#!/bin/sh\ntest -t 0 && test -t 1 && echo " and more" >> "$1"\n')
    (place / "editor").chmod(0o755)
    model.replies = [["Read."], ["Again."]]
    chat = open_chat(model="openai:gpt-5", env={"EDITOR": str(place / "editor"), "VISUAL": ""})
    chat.wait_for(READY)
    chat.type("one\x18\x05")
    chat.wait_for("> one and more")
    chat.type("\r")
    chat.wait_for("Read.", "1,200 in")
    chat.type("/clear\r")
    chat.wait_for("begins a new session; back to this one: /resume ", without="1,200 in")
    chat.type("two\r")
    chat.wait_for("Again.")
    assert model.texts() == ["two"]


def test_a_paste_a_file_and_the_output_of_a_command_reach_the_model(open_chat, model, project):
    (project / ".ask-tools/commands").mkdir(parents=True)
    (project / ".ask-tools/commands/review.md").write_text("Review @$1.\n")
    model.replies = [["Seen."], ["Reviewed."]]
    chat = open_chat(model="openai:gpt-5", env={"SHELL": "/bin/sh"})
    chat.wait_for(READY)
    chat.type("!test -t 1 && read line && echo got $line; exit 3\r")
    chat.wait_for("> !test")
    chat.type("it\r")
    chat.wait_for("got it", "exit code 3; the next prompt tells the model")
    chat.type("!!echo secret-$((6*7))\r")
    chat.wait_for("secret-42", "exit code 0; private")
    chat.type("Explain @main\t")
    chat.wait_for("@src/app/main.py")
    assert "node_modules/main.py" not in chat.text
    chat.type(" and " + paste("line\r" * 240))
    chat.wait_for("[pasted 240 lines]")
    chat.type("\r")
    chat.wait_for("attached src/app/main.py", "Seen.", READY)
    (content,) = model.texts()
    texts = [part["text"] for part in content]
    assert texts[0] == "Explain @src/app/main.py and [pasted 240 lines]"
    assert re.search(r"that the user ran, text/plain\]\n\$ test -t 1 ", texts[1])
    assert texts[1].endswith("got it\n[exit code 3]")
    assert texts[2] == "[file src/app/main.py, text/plain]\nprint(1)\n"
    assert texts[3] == "[file pasted 240 lines, text/plain]\n" + "line\n" * 240
    assert "secret-42" not in str(model.requests)
    chat.type("/review src/app/main.py\r")
    chat.wait_for("Reviewed.")
    assert model.texts()[-1][0]["text"] == "Review @src/app/main.py."
