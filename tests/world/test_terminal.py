"""The command line at work: what a person answers, what `run` and `chat` print, and what they leave behind."""

import subprocess

import pytest

from tools_core import Context
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
        first, later = ({"command": each} if isinstance(each, str) else each for each in (first, later))
        asked = []
        Executor([bash], policy=policy, approve=answer).call_tool("bash", first, context)
        Executor([bash], policy=policy, approve=asked.append).call_tool("bash", later, context)
        return bool(asked)

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
def test_an_answer_for_the_session_never_allows_what_another_command_changes(asks_again, first, later):
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
