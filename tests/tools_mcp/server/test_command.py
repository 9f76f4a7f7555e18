"""`ask-tools serve` with wrong options: the errors name the right ones."""

import pytest

from tools_core.command import main


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--http", "port"], "PORT or HOST:PORT"),
        (["--http", "0.0.0.0:0", "--no-token"], "a server on 127.0.0.1"),
        (["--http", "0", "--url", "tools.example"], "such as https://"),
        (["--http", "0", "--oauth-issuer", "https://login.example"], "--oauth-audience"),
        (["--http", "0", "--oauth-issuer", "https://login.example", "--oauth-audience", "tools"], "such as https://"),
        (["--http", "0", "--oauth-scopes", "tools"], "without --oauth-issuer"),
        (["--token-file", "token"], "without --http"),
        (["--workspace", "missing"], "not a folder"),
        (["--audit", "calls.jsonl"], "in the workspace, where tools could change it"),
        (["--audit", "/nowhere/calls.jsonl"], "No such file or directory: '/nowhere/calls.jsonl'"),
        (["--policy", "missing"], "there is no such file"),
        (["--timeout", "-1"], "between 0 and 1e9 seconds"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_refused_with_advice(words, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *words]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--tools", "read_fil,grep"], 'no tool or package "read_fil"; did you mean read_file'),
        (["--allow", "write_*,basch"], 'no tool or package "basch"; did you mean bash'),
        (["--tools", ","], "empty pattern"),
        (["--tools", ""], "empty pattern"),
    ],
)
def test_a_pattern_without_a_match_serves_no_tools(words, reason, capsys):
    assert main(["serve", *words, "--http", "port"]) == 2
    assert reason in capsys.readouterr().err
