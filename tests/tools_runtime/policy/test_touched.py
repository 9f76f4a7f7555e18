"""Paths after they were resolved, and commands by their words: never text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import Context, ToolCall, tool
from tools_runtime._policy import Policy
from tools_runtime._policy._paths import matches_path
from tools_runtime._policy._words import allows, concerns


def allow(**conditions):
    return [{"decision": "allow", **conditions}]


def deny(**conditions):
    return [{"decision": "deny", **conditions}, {"decision": "allow", "tool": "*"}]


# ---------------------------------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a", "allow"),
        ("src/new/deep/a", "allow"),
        ("./src//a", "allow"),
        ("src", "allow"),
        ("src/../a", "ask"),
        ("src/../src/a", "allow"),
        ("src/../../project/src/a", "allow"),
        ("srcs/a", "ask"),
        ("a", "ask"),
        ("/etc/passwd", "ask"),
        ("src/gone/../../../a", "ask"),
        ("src/out/a", "ask"),
        ("src/out", "ask"),
        ("src/back/a", "ask"),  # the link itself is outside
        ("link/a", "allow"),
        ("link/../a", "ask"),
        ("src/far/../a", "ask"),  # for the system it is beside what the link leads to
        ("src/near/../a", "allow"),
        ("src/gone/../a", "ask"),
        ("~/a", "ask"),
        ("$HOME/a", "ask"),
        ("src/loop", "ask"),
        ("src/dangling", "ask"),
        ("src/\0", "ask"),
        ("", "ask"),
    ],
)
def test_a_path_is_judged_by_where_it_leads(place, decide, tools, path, expected):
    (place.project / "other").mkdir()
    (place.project / "src" / "out").symlink_to(place.home)
    (place.project / "src" / "loop").symlink_to("loop")
    (place.project / "src" / "dangling").symlink_to(place.home / "gone")
    (place.project / "src" / "back").symlink_to(place.project / "other")
    (place.project / "link").symlink_to("src")
    (place.project / "src" / "far").symlink_to(place.home / "config")
    (place.project / "src" / "inner").mkdir()
    (place.project / "src" / "near").symlink_to("inner")
    assert decide(allow(tool="save", paths=["src/**"]), tools.save, {"path": path}) == expected


def test_a_denied_place_is_denied_by_any_of_its_names(place, decide, tools):
    secret = place.home / ".ssh"
    secret.mkdir()
    (place.project / "src" / "x").symlink_to(secret)
    for path in (
        "src/x",
        "src/x/id_rsa",
        "../home/.ssh/id_rsa",
        "~/.ssh/id_rsa",
        "$HOME/.ssh/id_rsa",
        str(secret),
        f"{secret}//./new",
    ):
        assert decide(deny(paths=["~/.ssh/**"]), tools.save, {"path": path}) == "deny", path
    assert decide(deny(paths=["~/.ssh/**"]), tools.save, {"path": "src/y"}) == "allow"


def test_brackets_of_the_workspace_are_letters_and_those_of_a_pattern_are_a_choice(tmp_path, tools):
    workspace = tmp_path / "w[ab]*"
    (workspace / "src").mkdir(parents=True)
    other = tmp_path / "wa"
    (other / "src").mkdir(parents=True)
    policy = Policy(allow(tool="save", paths=["src/[xy].py"]), files=[], project=tmp_path)
    context = Context(workspace=workspace)

    def outcome(path):
        return policy.decide(ToolCall("1", "save", {"path": path}), tools.save, context).outcome

    assert outcome("src/x.py") == "allow"
    assert outcome("src/[xy].py") == "ask"
    assert outcome(str(other / "src" / "x.py")) == "ask"


def test_every_path_must_be_covered_to_allow_and_any_one_to_deny(place, decide):
    @tool
    def copy(
        source: Path, targets: list[Path], named: dict[str, Path] | None = None, pair: tuple[Path, int] | None = None
    ) -> str:
        """Copies."""
        return ""

    inside = {"source": "src/a", "targets": ["src/b"], "named": {"x": "src/c"}, "pair": ["src/d", 1]}
    assert decide(allow(tool="copy", paths=["src/**"]), copy, inside) == "allow"
    for outside in (
        {"source": "a"},
        {"targets": ["src/b", "c"]},
        {"named": {"x": "src/c", "y": "z"}},
        {"pair": ["z", 1]},
    ):
        assert decide(allow(tool="copy", paths=["src/**"]), copy, inside | outside) == "ask"
        assert decide(deny(paths=["z", "a", "c"]), copy, inside | outside) == "deny"


def test_paths_inside_records_are_seen(place, decide):
    from dataclasses import make_dataclass

    Inner = make_dataclass("Inner", [("file", Path)])

    def move(items: list[Inner]) -> str:
        """Moves."""
        return ""

    move.__annotations__ = {"items": list[Inner], "return": str}
    assert decide(deny(paths=["secret/**"]), tool(move), {"items": [{"file": "src/a"}, {"file": "secret/b"}]}) == "deny"


def test_a_path_that_is_not_given_is_the_default(place, decide):
    @tool
    def clean(folder: Path = Path("secret")) -> str:
        """Cleans."""
        return ""

    assert decide(deny(paths=["secret/**"]), clean, {}) == "deny"
    assert decide(deny(paths=["secret/**"]), clean, {"folder": "src"}) == "allow"
    assert decide(allow(tool="clean", paths=["src/**"]), clean, {}) == "ask"


def test_a_default_that_the_schema_does_not_tell_may_be_any_path(place, decide):
    @tool
    def clean(folder: Path = None, color: str = "red") -> str:  # noqa: RUF013
        """Cleans."""
        return ""

    assert decide(deny(paths=["secret/**"]), clean, {}) == "ask"
    assert decide(deny(paths=["secret/**"]), clean, {"folder": "src"}) == "allow"


A_PATH = {"type": "string", "format": "path"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"patternProperties": {"^f": A_PATH}}, {"f": "secret/x"}),
        ({"propertyNames": A_PATH}, {"secret/x": 1}),
        ({"unevaluatedProperties": A_PATH}, {"f": "secret/x"}),
        ({"if": {"required": ["f"]}, "then": {"properties": {"f": A_PATH}}}, {"f": "secret/x"}),
        ({"if": {"required": ["g"]}, "else": {"properties": {"f": A_PATH}}}, {"f": "secret/x"}),
        ({"dependentSchemas": {"f": {"properties": {"f": A_PATH}}}}, {"f": "secret/x"}),
        ({"properties": {"f": {**A_PATH, "default": "secret/x"}}}, {}),
        ({"properties": {"f": {"type": "string", "format": "file-path"}}}, {"f": "secret/x"}),
        ({"properties": {"f": {"type": "string", "format": "directory-path"}}}, {"f": "secret/x"}),
        ({"properties": {"f": {"type": "array", "contains": A_PATH}}}, {"f": ["secret/x"]}),
        ({"properties": {"f": {"type": "array", "unevaluatedItems": A_PATH}}}, {"f": ["secret/x"]}),
    ],
)
def test_a_path_is_seen_wherever_a_schema_can_say_it(place, decide, schema, value):
    move = tool(lambda **_: "", name="move", description="Moves.", input_schema={
        "type": "object", "properties": {"record": {"type": "object", **schema}},
    })  # fmt: skip
    assert decide(deny(paths=["secret/**"]), move, {"record": value}) == "deny"


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/a/*", "/a/b", True),
        ("/a/*", "/a/b/c", False),
        ("/a/**", "/a", True),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/ab", False),
        ("/**/.env", "/x/y/.env", True),
        ("/**/.env", "/.env", True),
        ("/**/b/**/d", "/a/b/c/d", True),
        ("/**", "/", True),
        ("x", "/w/x", True),
        ("x", "/x", False),
        ("/a/?", "/a/b", True),
        ("/a/[b", "/a/[b", True),
    ],
)
def test_a_star_stays_within_a_name_and_two_cross_folders(pattern, path, expected):
    assert matches_path(pattern, path, "/w") is expected


def _oracle(pattern: list[str], path: list[str]) -> bool:
    """The same by trying everything."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_oracle(pattern[1:], path[n:]) for n in range(len(path) + 1))
    return bool(path) and pattern[0] in ("*", path[0]) and _oracle(pattern[1:], path[1:])


NAMES = st.lists(st.sampled_from(["a", "b"]), max_size=5)


@given(st.lists(st.sampled_from(["a", "b", "*", "**"]), max_size=5), NAMES)
def test_path_patterns_agree_with_trying_everything(pattern, path):
    assert matches_path("/" + "/".join(pattern), "/" + "/".join(path), "/w") is _oracle(pattern, path)


@given(st.lists(st.sampled_from(["..", "src", ".", "other", "x", ""]), max_size=7))
def test_no_spelling_of_a_path_gets_out_of_what_is_allowed(parts):
    import tempfile

    with tempfile.TemporaryDirectory() as top:
        workspace = os.path.join(os.path.realpath(top), "w")
        os.makedirs(os.path.join(workspace, "src", "x"))
        os.makedirs(os.path.join(workspace, "other"))

        @tool
        def write(path: Path) -> str:
            """Writes."""
            return ""

        text = "/".join(parts).lstrip("/") or "."
        policy = Policy(allow(tool="write", paths=["src/**"]), files=[], project=workspace)
        outcome = policy.decide(ToolCall("1", "write", {"path": text}), write, Context(workspace=workspace)).outcome
        real = os.path.realpath(os.path.join(workspace, text))
        inside = os.path.join(workspace, "src")
        if outcome == "allow":
            assert os.path.commonpath([real, inside]) == inside
        elif os.path.lexists(os.path.join(workspace, text)):
            assert os.path.commonpath([real, inside]) != inside


# ------------------------------------------------------------------------------------------------------------- commands


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git status", ["git", "status"], True),
        ("git status", ["git", "status", "-s"], False),
        ("git status", ["git"], False),
        ("git diff *", ["git", "diff"], True),
        ("git diff *", ["git", "diff", "HEAD", "--stat"], True),
        ("git diff *", ["git", "diff", "--output=x"], False),
        ("git diff *", ["git", "diff", "--outp=x"], False),
        ("git diff *", ["git", "diff", "--ext-diff"], False),
        ("git diff *", ["git", "diff", None], False),
        ("git diff --output=build/* *", ["git", "diff", "--output=build/x", "HEAD"], True),
        ("git diff *", ["git", "-c", "core.pager=x", "diff"], False),
        ("git diff *", ["/x/git", "diff"], False),
        ("git diff *", ["GIT_EXTERNAL_DIFF=x", "git", "diff"], False),
        ("find *", ["find", ".", "-delete"], False),
        ("find *", ["find", ".", "-name", "x"], True),
        ("sort *", ["sort", "-ox", "y"], False),
        ("sort *", ["sort", "-r", "y"], True),
        ("LC_ALL=C sort *", ["LC_ALL=C", "sort", "--output=x"], False),
        ("ls *", ["ls", "-la", None], True),
        ("ls *", ["ls;", "rm"], False),
        ("ls", ["ls\nrm"], False),
        ("ls *", [None], False),
        ("*", ["anything", None], True),
        ("cp * b", ["cp", "a", "b"], True),
        ("cp * b", ["cp", "a", "c"], False),
        ("uniq *", ["uniq", "-c", "a"], True),
        ("uniq *", ["uniq", "-c", "a", "b"], False),
        ("LC_ALL=C uniq *", ["LC_ALL=C", "uniq", "a", "b"], False),
        ("uniq * b", ["uniq", "a", "b"], True),
        ("xxd *", ["xxd", "a", None], False),
        ("> build/*", [">", "build/a/b"], True),
        ("> build/*", [">", "build/../x"], False),
        ("> build/*", [">", "build/a/.."], False),
        ("> build/*", [">", "build/..x"], True),
        ("> ../build/*", [">", "../build/x"], True),
        ("cat src/*", ["cat", "src/../../x"], False),
        ("git diff --output=build/* *", ["git", "diff", "--output=build/../x"], False),
        ("curl *", ["curl", "-s", "https://example.org"], True),
        ("curl *", ["curl", "--trace-ascii", "x", "https://example.org"], False),
        ("curl *", ["curl", "--libcurl", "x", "https://example.org"], False),
        ("curl *", ["curl", "-sw", "%output{x}text", "https://example.org"], False),
        ("curl *", ["curl", "-d", "@x", "https://example.org"], False),
        ("less *", ["less", "+!rm x", "y"], False),
        ("less *", ["less", "--lesskey-src=x", "y"], False),
        ("man *", ["man", "-C", "x", "y"], False),
        ("shuf *", ["shuf", "-o", "x"], False),
        ("iconv *", ["iconv", "--output=x", "y"], False),
        ("tar -t *", ["tar", "-t", "-M", "--new-volume-script=x"], False),
    ],
)
def test_a_pattern_covers_words(pattern, command, expected):
    assert allows([pattern], [tuple(command)]) is expected


def test_each_command_must_be_covered(decide, tools):
    rules = allow(tool="run", commands=["ls *", "git status"])
    assert decide(rules, tools.run, {"commands": [["ls"], ["git", "status"]]}) == "allow"
    assert decide(rules, tools.run, {"commands": [["ls"], ["rm", "-rf", "/"]]}) == "ask"
    assert decide(rules, tools.run, {"commands": []}) == "ask"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["rm", "-rf", "x"], "yes"),
        (["/bin/rm", "x"], "yes"),
        (["./rm", "x"], "yes"),
        (["A=1", "B=2", "rm", "x"], "yes"),
        (["ls", "rm", "x"], "no"),
        ([None, "x"], "perhaps"),
        ([None], "perhaps"),
        (["rm"], "yes"),
    ],
)
def test_a_command_is_recognised_to_be_denied_whatever_stands_before_its_name(command, expected):
    assert concerns(["rm *"], [tuple(command)]) == expected


@pytest.mark.parametrize("path", ["/etc/x", "//etc/x", "/etc/./x", "/var/../etc/x", "/etc//x"])
def test_a_denied_path_is_recognised_by_any_spelling(path):
    assert concerns(["> /etc/x"], [(">", path)]) == "yes"


def test_a_denied_option_is_found_among_words_that_are_not_known():
    assert concerns(["git push * --force *"], [("git", "push", "origin", "--force")]) == "yes"
    assert concerns(["git push * --force *"], [("git", "push", None)]) == "perhaps"
    assert concerns(["git push * --force *"], [("git", "pull", None)]) == "no"


def _words_oracle(pattern, words):
    if not pattern:
        return not words
    if pattern[0] == "*":
        return any(_words_oracle(pattern[1:], words[n:]) for n in range(len(words) + 1))
    return bool(words) and pattern[0] == words[0] and _words_oracle(pattern[1:], words[1:])


WORDS = st.lists(st.sampled_from(["ls", "rm", "x"]), min_size=1, max_size=5)
PATTERNS = st.lists(st.lists(st.sampled_from(["ls", "rm", "x", "*"]), min_size=1, max_size=4), min_size=1, max_size=3)


@given(PATTERNS, st.lists(WORDS, max_size=4))
def test_commands_are_allowed_if_and_only_if_each_is_covered(patterns, commands):
    texts = [" ".join(pattern) for pattern in patterns]
    expected = bool(commands) and all(any(_words_oracle(each, words) for each in patterns) for words in commands)
    assert allows(texts, [tuple(words) for words in commands]) is expected


@given(PATTERNS, st.lists(WORDS, min_size=1, max_size=4))
def test_what_would_be_allowed_by_a_pattern_is_denied_by_it_too(patterns, commands):
    texts = [" ".join(pattern) for pattern in patterns]
    found = [tuple(words) for words in commands]
    if any(allows(texts, [each]) for each in found):
        assert concerns(texts, found) == "yes"


@given(st.lists(st.sampled_from(["ls", "rm", "*"]), min_size=1, max_size=4), WORDS, st.integers(0, 4))
def test_a_word_that_is_not_known_never_turns_a_denial_into_a_no(pattern, words, hidden):
    text = " ".join(pattern)
    if concerns([text], [tuple(words)]) == "yes":
        masked = tuple(None if n == hidden else word for n, word in enumerate(words))
        assert concerns([text], [masked]) != "no"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ls", "allow"),
        ("ls -l | wc -l", "allow"),
        ("ls; rm -rf ~", "ask"),
        ("ls\nrm -rf ~", "ask"),
        ("ls && $(curl example.org)", "ask"),
        ("ls $(rm x)", "ask"),
        ("ls `rm x`", "ask"),
        ("git diff", "allow"),
        ("git diff --output=x", "ask"),
        ("alias ls='rm x'; ls", "ask"),
        ("a=rm; $a -rf /", "ask"),
        ("ls <<EOF\n$(rm x)\nEOF", "ask"),
        ("ls <<'EOF'\n$(rm x)\nEOF", "allow"),
        ("ls > ~/.bashrc", "ask"),
        ("ls > /dev/null 2>&1", "allow"),
        ("ls 2> log", "ask"),
        ("wc -l < /etc/shadow", "ask"),
        ("LD_PRELOAD=./x ls", "ask"),
        ("PATH=. ls", "ask"),
        ("PATH=.; ls", "ask"),
        ("ls() { rm x; }; ls", "ask"),
        ("eval ls", "ask"),
        ("ls | xargs rm", "ask"),
        ("ls &\nrm x", "ask"),
        ("l\\s", "allow"),
        ("ls # ; rm x", "allow"),
        ("for x in a; do rm $x; done", "ask"),
        ("ls '", "ask"),
        ("'ls' \"-l\"", "allow"),
        ("ls\u00a0-l", "ask"),
        ("ls \\\n; rm x", "ask"),
    ],
)
def test_a_script_is_allowed_only_if_each_of_its_commands_is(place, decide, script, expected):
    pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")
    shell = pytest.importorskip("tools_shell")
    rules = allow(tool="bash", commands=["ls *", "wc *", "git diff *"])
    assert decide(rules, shell.Bash(place.project), {"command": script}) == expected


@pytest.mark.parametrize(
    "script", ["rm x", "ls; /bin/rm x", "ls | xargs rm", "find . -exec rm {} +", "bash -c 'rm x'", "A=1 rm x", "r\\m x"]
)
def test_a_denied_command_is_found_wherever_it_stands(place, decide, script):
    pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")
    shell = pytest.importorskip("tools_shell")
    assert decide(deny(commands=["rm *"]), shell.Bash(place.project), {"command": script}) == "deny"


def test_the_file_tools_are_judged_by_their_own_roots(place, decide):
    files = pytest.importorskip("tools_filesystem")
    (place.project / "src" / ".env").write_text("")
    rules = deny(paths=["/**/.env"])
    assert decide(rules, files.ReadFile(place.project / "src"), {"path": ".env"}) == "deny"
    assert decide(rules, files.ReadFile(), {"path": "src/.ENV"}) == "deny"  # the tool would repair the name
    assert decide(rules, files.ReadFiles(), {"paths": '["src/x", "src/.env"]'}) == "deny"


def test_what_is_written_below_a_folder_stays_below_it(place, decide):
    pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")
    shell = pytest.importorskip("tools_shell")
    rules = allow(tool="bash", commands=["echo *", "> build/*"])
    assert decide(rules, shell.Bash(place.project), {"command": "echo x > build/y"}) == "allow"
    assert decide(rules, shell.Bash(place.project), {"command": "echo x > build/../ask-tools.toml"}) == "ask"
