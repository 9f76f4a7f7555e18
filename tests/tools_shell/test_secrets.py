"""Secrets of the host reach neither commands nor output."""

from __future__ import annotations

import base64
import os
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_shell import Bash

VALUE = "sk-Pq7/Zt+9=xYw2&LmN"


def redacted(root, text, **settings):
    """Return the output of a command that prints a file with that text."""
    (root / "file").write_text(text)
    return Bash(root, sandbox="none", **settings).call(command="cat file").output["output"]


# ---------------------------------------------------------------------------------------------- what is a secret


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "sk-abcdef123456"),
        ("GITHUB_TOKEN", "ghp_abcdef123456"),
        ("npm_config__authToken", "npm_abcdef123456"),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG"),
        ("PGPASSWORD", "pass-word-1"),
        ("MYSQL_PWD", "s3cretly!"),
        ("DB_PASSWD", "correcthorsebatterystaple"),
        ("SESSION_COOKIE", "a=b; c=0123abcd"),
        ("MY_CREDENTIALS", '{"key": "value"}'),
        ("HTTP_AUTHORIZATION", "Bearer abc.def.ghi"),
        ("JWT", "eyJhbGciOi.J9.x"),
        ("API_KEY_S", "tok-1234567890"),
    ],
)
def test_the_value_of_a_variable_with_a_secret_name_is_redacted(root, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert redacted(root, f"a {value} b") == f"a [redacted {name}] b"


def test_the_password_of_a_url_is_redacted(root, monkeypatch):
    addresses = {
        "DATABASE_URL": "postgres://user:s3cret%2Fpass@db.example.org:5432/x",
        "SENTRY_DSN": "https://0123456789abcdef@sentry.example.org/1",
        "REDIS_URL": "redis://:hunter2-hunter2@localhost/0",
        "BAD_URL": "http://[",
    }
    for name, value in addresses.items():
        monkeypatch.setenv(name, value)
    lines = redacted(root, "\n".join(addresses.values())).split("\n")
    assert lines[0] == "postgres://user:[redacted DATABASE_URL]@db.example.org:5432/x"
    assert lines[1] == addresses["SENTRY_DSN"]
    assert lines[2] == "redis://:[redacted REDIS_URL]@localhost/0"
    assert lines[3] == addresses["BAD_URL"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSH_AUTH_SOCK", "/run/ssh-x/agent.1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("GIT_ASKPASS", "/usr/bin/askpass"),
        ("AWS_ACCESS_KEY_ID", "AKIA0123456789"),
        ("SECRET_NAME", "production-database"),
        ("TOKEN_VERSION", "2026-11-rc.1"),
        ("MAX_TOKENS", "1234567890"),
        ("AUTH_MODE", "development"),
        ("AUTH", "development"),
        ("TOKEN", "short"),
        ("KEY", "aaaaaaaaaaaa"),
        ("KEYBOARD_LAYOUT", "de-nodeadkeys"),
        ("MONKEY", "george-the-3rd"),
        ("AUTHOR", "Somebody Else"),
        ("PWD", "/projects/one"),
        ("PATH", "/usr/bin:/bin"),
        ("COLORTERM", "truecolor"),
    ],
)
def test_common_values_are_not_redacted(root, monkeypatch, name, value):
    if name != "PATH":
        monkeypatch.setenv(name, value)
    assert redacted(root, f"a {value} b") == f"a {value} b"


# ---------------------------------------------------------------------------------------------- in output


def test_secrets_are_redacted_in_base64_and_urls(root):
    forms = [VALUE, base64.b64encode(VALUE.encode()).decode(), urllib.parse.quote(VALUE, safe="")]
    forms += [base64.urlsafe_b64encode(VALUE.encode()).decode(), urllib.parse.quote_plus(VALUE)]
    output = redacted(root, "\n".join(f"a {form} b" for form in forms), secrets=[VALUE])
    assert VALUE[3:9] not in output
    assert output.count("[redacted SECRET_1]") == len(forms)


@settings(max_examples=30, deadline=None)
@given(before=st.binary(max_size=9), after=st.binary(max_size=9))
def test_a_secret_inside_longer_base64_is_redacted(tmp_path_factory, before, after):
    text = base64.b64encode(before + VALUE.encode() + after).decode()
    assert "[redacted SECRET_1]" in redacted(tmp_path_factory.getbasetemp(), text, secrets=[VALUE])


def test_the_longer_of_two_secrets_is_redacted(root):
    output = redacted(root, "abcdefgh-12345678 abcdefgh", secrets=["abcdefgh", "abcdefgh-12345678"])
    assert output == "[redacted SECRET_2] [redacted SECRET_1]"


def test_a_secret_at_the_cut_of_output_is_redacted(root):
    result = Bash(root, sandbox="none", secrets=[VALUE]).call(command=f"yes '{VALUE}' | head -20000")
    assert "omitted" in result.content
    assert VALUE[:4] not in result.to_json()


def test_both_values_of_a_changed_variable_are_redacted(root, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "tok-0123456789")
    output = redacted(root, "a tok-0123456789 b tok-abcdefgh c", env={"SOME_TOKEN": "tok-abcdefgh"})
    assert output == "a [redacted SOME_TOKEN] b [redacted SOME_TOKEN] c"


def test_a_secret_of_a_variable_with_an_undecodable_name_is_redacted(root, monkeypatch):
    monkeypatch.setenv(os.fsdecode(b"API\xff_TOKEN"), "tok-0123456789")
    assert redacted(root, "a tok-0123456789 b") == "a [redacted API\\xff_TOKEN] b"


# ---------------------------------------------------------------------------------------------- the environment


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/usr/bin:/bin", "/usr/bin:/bin"), (".:/usr/bin::bin:/bin:", "/usr/bin:/bin"), (".", None), ("", None)],
)
def test_path_has_no_relative_folders(root, monkeypatch, path, expected):
    monkeypatch.setenv("PATH", path)
    assert Bash(root, sandbox="none").call(command="echo $PATH").output["output"] == f"{expected or '/bin:/usr/bin'}\n"
