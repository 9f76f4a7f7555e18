"""What a person reads before a call runs, the answers that they may give, and what these do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_agent import Agent, ScriptedProvider, Session
from tools_agent.approval import add_session_rules, carry_out
from tools_core import ApprovalRequest, Context, Effects, InvalidArguments, Tool, ToolCall, tool
from tools_runtime import Policy
from tools_runtime.approval import PendingCall, answers_to, draw


class Shell(Tool):
    """Runs commands."""

    name = "shell"
    requires_approval = True

    def execute(self, command: str) -> str:
        return f"ran {command}"

    def effects(self, arguments, context=None):
        text = arguments["command"]
        commands = None if "$" in text else [part.split() for part in text.split(";")]
        return Effects({"read_only": True} if text.startswith(("git ", "ls")) else {}, commands=commands)


@tool
def write_file(path: Path, content: str) -> str:
    """Write a file."""
    return f"wrote {path}"


@tool
def edit(path: Path, old_string: str, new_string: str) -> str:
    """Edit a file."""
    return f"edited {path}"


@tool
def apply_patch(patch: str, path: Path) -> str:
    """Patch a file."""
    return f"patched {path}"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The current folder and workspace, with a user who has no policy."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "folder" / "src").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "folder")
    return tmp_path / "folder"


def result_of(tool, arguments, approve, policy, *, session=None):
    """Run an agent that calls a tool; return the content of the result, None if the call waits."""
    model = ScriptedProvider(ToolCall(None, tool.name, arguments), "done")
    agent = Agent(session, model=model, tools=[tool], policy=policy, approve=approve, workspace=".")
    agent.generate("go")
    return next((message.content for message in agent.session if message.role == "tool"), None)


def request_of(tool, **arguments):
    """Return the request for a call."""
    received = []
    result_of(tool, arguments, received.append, Policy())
    return received[0]


def text_of(request, **options):
    return draw(PendingCall(request).lines(**options))


def test_a_change_of_a_file_is_shown_as_its_diff(place):
    (place / "src" / "a.py").write_text("one\ntwo\nthree\n")
    output = text_of(request_of(write_file, path="src/a.py", content="one\n2\nthree\n"))
    assert output.splitlines()[0].startswith("write_file needs approval: no rule matches")
    assert "  files: src/a.py" in output
    assert "  │ @@ -1,3 +1,3 @@\n  │  one\n  │ -two\n  │ +2\n  │  three" in output
    assert text_of(request_of(edit, path="src/a.py", old_string="two", new_string="2")).endswith("  │ +2\n  │  three")
    assert "  │ --- /dev/null\n" in text_of(request_of(write_file, path="new", content="x"))
    assert text_of(request_of(apply_patch, patch="@@\n-a\n+b\n", path="x")).endswith("  │ @@\n  │ -a\n  │ +b")


def test_a_script_has_its_own_line_breaks_and_every_argument_is_there():
    output = text_of(request_of(Shell(), command='for i in 1; do\n\techo "$i"\ndone'))
    assert '  command:\n  │ for i in 1; do\n  │     echo "$i"\n  │ done' in output
    assert "files: not known" not in output


def test_a_long_request_names_the_number_of_hidden_lines():
    call = PendingCall(request_of(Shell(), command="\n".join(f"echo {n}" for n in range(100))))
    assert call.is_long
    assert "  … 61 lines are not shown …" in draw(call.lines(whole=False))
    assert "│ echo 50" in draw(call.lines()) and "echo 50" not in draw(call.lines(whole=False))


def test_the_stored_request_reads_like_the_request():
    request = request_of(Shell(), command="ls")
    assert text_of(request.to_dict()) == text_of(request)


@given(st.text(alphabet=st.sampled_from("a\n\r\t\x1b\x9b\u202e\u2028\x00")), st.integers(20, 200))
def test_no_text_of_a_model_controls_the_terminal_or_leaves_its_margin(text, width):
    context = Context()
    call = ToolCall("1", "shell", {"command": text + "\n"})
    request = ApprovalRequest(call, Shell(), call.arguments, Effects({}), context, reasons=["because"])
    lines = draw(PendingCall(request).lines(), width=width).split("\n")
    assert all(char.isprintable() for line in lines for char in line)
    body = lines[lines.index("  command:") + 1 :]
    assert all(line.startswith("  │") and len(line) <= max(width, 25) for line in body)


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        ("rm -rf build; make test -j2", ["rm -rf build", "make test -j2"]),
        ("echo x; > out", ["echo x", "> out"]),
        ("curl -o", ["curl -o"]),
        ("echo 'a*", None),
        ("echo $HOME", None),
    ],
)
def test_always_suggests_the_words_of_commands_that_may_write_and_a_session_no_rule(command, patterns):
    answers = answers_to(request_of(Shell(), command=command), Policy())
    rules = [answer.rule.get("commands") for answer in answers if answer.kind == "always"]
    assert rules == ([patterns, None] if patterns else [None])
    session = next(answer for answer in answers if answer.kind == "session")
    assert session.rule is None


@pytest.mark.parametrize(
    ("command", "pattern"),
    [("git diff HEAD", "git diff *"), ("git --no-pager log x", "git --no-pager log *"), ("ls", "ls *")],
)
def test_rules_for_commands_that_read_are_for_reading_alone(command, pattern):
    answers = answers_to(request_of(Shell(), command=command), Policy())
    rules = [answer.rule for answer in answers if answer.kind in ("session", "always")]
    assert [rule.get("commands") for rule in rules] == [[pattern], [pattern], None]
    assert all(rule["read_only"] is True for rule in rules)


def test_an_approved_call_keeps_its_hints_in_the_rule():
    class Files(Tool):
        """Create, list and delete files."""

        def execute(self, action: str) -> str:
            return action

        def effects(self, arguments, context=None):
            return Effects({"destructive": arguments["action"] == "delete", "open_world": False})

    policy = Policy()

    def approve(request):
        answer = next(answer for answer in answers_to(request, policy) if answer.kind == "always")
        return carry_out(answer, request, policy=policy)

    assert result_of(Files(), {"action": "create"}, approve, policy) == "create"
    assert result_of(Files(), {"action": "list"}, None, policy) == "list"
    assert result_of(Files(), {"action": "delete"}, None, policy) is None


def test_always_writes_the_rule_that_was_shown_and_later_calls_need_no_approval(place):
    def approve(request):
        answer = next(answer for answer in answers_to(request, policy) if answer.kind == "always")
        output.append(answer)
        return carry_out(answer, request, policy=policy)

    output, policy = [], Policy()
    arguments = {"path": "src/a", "content": "x"}
    assert result_of(write_file, arguments, approve, policy) == "wrote src/a"
    assert Path(output[0].file).read_text() == output[0].toml
    assert output[0].rule["paths"] == [f"{place}/**"]
    assert result_of(write_file, {**arguments, "path": "b"}, None, Policy()) == "wrote b"


def test_an_answer_for_the_session_holds_in_other_processes_of_the_session_alone():
    def approve(request):
        answer = next(answer for answer in answers_to(request, policy) if answer.kind == "session")
        return carry_out(answer, request, policy=policy, session=session)

    policy, session = Policy(), Session()
    assert result_of(Shell(), {"command": "git diff a"}, approve, policy, session=session) == "ran git diff a"
    later = Policy()
    add_session_rules(later, session)
    assert result_of(Shell(), {"command": "git diff b"}, None, later) == "ran git diff b"
    assert result_of(Shell(), {"command": "make"}, None, later) is None
    assert result_of(Shell(), {"command": "git diff b"}, None, Policy()) is None


def test_no_rule_is_suggested_that_another_rule_overrides():
    policy = Policy([{"decision": "ask", "tool": "shell"}])
    received = []
    result_of(Shell(), {"command": "ls"}, received.append, policy)
    answers = answers_to(received[0], policy)
    assert [answer.kind for answer in answers] == ["once", "session", "edit", "deny"]
    assert answers[1].rule is None


def test_edited_arguments_are_validated_and_the_call_runs_with_them():
    def approve(request):
        edit = next(answer for answer in answers_to(request) if answer.kind == "edit")
        with pytest.raises(InvalidArguments, match="command"):
            carry_out(edit, request, arguments={"command": 5})
        return carry_out(edit, request, arguments={"command": "ls -l"})

    assert result_of(Shell(), {"command": "ls"}, approve, Policy()) == "ran ls -l"


def test_a_denial_tells_the_model_the_reason():
    def approve(request):
        return carry_out(answers_to(request)[-1], request, reason="use git mv")

    assert "shell was not approved: use git mv." in result_of(Shell(), {"command": "mv a b"}, approve, Policy())
