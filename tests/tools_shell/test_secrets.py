"""Secrets of the host reach neither commands nor output."""

from __future__ import annotations

import base64
import os
import urllib.parse
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import ToolError
from tools_shell._environment import checked_additions, clean_environment
from tools_shell._output._output import Output
from tools_shell._output._redactor import RedactedStream, Redactor, secret_variables

VALUE = "sk-Pq7/Zt+9=xYw2&LmN"


@pytest.fixture
def redactor():
    return Redactor({"API_KEY": VALUE})


def clean(redactor, text):
    return redactor.clean(text.encode()).decode()


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
    ],
)
def test_a_variable_with_a_telling_name_is_secret(name, value):
    assert secret_variables({name: value, "OTHER": value}) == {name: value}


def test_of_an_address_its_password_is_secret():
    addresses = {
        "DATABASE_URL": "postgres://user:s3cret%2Fpass@db.example.org:5432/x",
        "SENTRY_DSN": "https://0123456789abcdef@sentry.example.org/1",
        "REDIS_URL": "redis://:hunter2-hunter2@localhost/0",
        "HOME_URL": "https://example.org/path",
        "BAD_URL": "http://[",
    }
    assert secret_variables(addresses) == {"DATABASE_URL": "s3cret%2Fpass", "REDIS_URL": "hunter2-hunter2"}


def test_a_letter_at_the_end_of_a_name_does_not_make_its_value_ordinary():
    assert secret_variables({"API_KEY_S": "tok-1234567890"}) == {"API_KEY_S": "tok-1234567890"}


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
def test_what_would_shred_ordinary_output_is_no_secret(name, value):
    assert secret_variables({name: value}) == {}


# ---------------------------------------------------------------------------------------------- in output


def test_a_secret_is_replaced_by_its_name_as_it_is_in_base64_and_in_an_address(redactor):
    forms = [VALUE, base64.b64encode(VALUE.encode()).decode(), urllib.parse.quote(VALUE, safe="")]
    forms += [base64.urlsafe_b64encode(VALUE.encode()).decode(), urllib.parse.quote_plus(VALUE)]
    for form in forms:
        assert VALUE[3:9] not in clean(redactor, f"a {form} b")
        assert "[redacted API_KEY]" in clean(redactor, f"a {form} b")


@given(before=st.binary(max_size=9), after=st.binary(max_size=9))
def test_inside_of_a_longer_text_in_base64_a_secret_is_replaced(before, after):
    text = base64.b64encode(before + VALUE.encode() + after)
    assert b"[redacted API_KEY]" in Redactor({"API_KEY": VALUE}).clean(text)


def test_of_two_secrets_the_longer_one_is_replaced():
    redactor = Redactor({"SHORT": "abcdefgh", "LONG": "abcdefgh-12345678"})
    assert clean(redactor, "abcdefgh-12345678 abcdefgh") == "[redacted LONG] [redacted SHORT]"


@given(st.lists(st.integers(0, len(VALUE) + 20), max_size=6))
def test_a_secret_is_replaced_however_it_is_cut_into_chunks(cuts):
    text = f"before {VALUE} after".encode()
    cuts = [0, *sorted(min(cut, len(text)) for cut in cuts if not 7 < cut < 11), len(text)]
    stream = RedactedStream(Redactor({"API_KEY": VALUE}))
    parts = [stream.feed(text[start:end]) for start, end in pairwise(cuts)]
    assert b"".join([*parts, stream.end()]) == b"before [redacted API_KEY] after"


def test_what_only_begins_like_a_secret_is_shown_at_the_end(redactor):
    stream = RedactedStream(redactor)
    assert (stream.feed(VALUE[:7].encode()), stream.end()) == (b"", VALUE[:7].encode())


def test_a_secret_at_the_place_where_output_is_cut_is_replaced(redactor):
    output = Output(redactor)
    for _ in range(20_000):
        output.add_stdout(f"{VALUE}\n".encode())
    output.finish()
    assert VALUE[:4] not in output.stdout.text + output.merged.text


def test_secrets_of_the_host_and_of_the_caller_are_known(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "tok-0123456789")
    redactor = Redactor.of_host(["my own secret"], os.environ, {})
    text = clean(redactor, "a tok-0123456789 b my own secret c")
    assert text == "a [redacted SOME_TOKEN] b [redacted SECRET_1] c"


def test_of_a_variable_that_is_set_anew_both_values_are_known():
    redactor = Redactor.of_host([], {"SOME_TOKEN": "tok-0123456789"}, {"SOME_TOKEN": "tok-abcdefgh"})
    text = clean(redactor, "a tok-0123456789 b tok-abcdefgh c")
    assert text == "a [redacted SECRET_1] b [redacted SOME_TOKEN] c"


def test_a_secret_is_replaced_although_the_name_of_its_variable_is_no_text(monkeypatch):
    name = os.fsdecode(b"API\xff_TOKEN")
    monkeypatch.setenv(name, "tok-0123456789")
    assert clean(Redactor.of_host([], os.environ, {}), "a tok-0123456789 b") == "a [redacted API\\udcff_TOKEN] b"


# ---------------------------------------------------------------------------------------------- the environment


def test_only_what_is_allowed_is_inherited(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "tok-0123456789")
    monkeypatch.setenv("LD_PRELOAD", "x.so")
    monkeypatch.setenv("BASH_ENV", "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    kept = clean_environment()
    assert kept["LANG"] == "C.UTF-8"
    assert kept.keys().isdisjoint({"SOME_TOKEN", "LD_PRELOAD", "BASH_ENV"})


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/usr/bin:/bin", "/usr/bin:/bin"), (".:/usr/bin::bin:/bin:", "/usr/bin:/bin"), (".", None), ("", None)],
)
def test_programs_are_not_looked_for_in_the_folder_of_the_script(monkeypatch, path, expected):
    monkeypatch.setenv("PATH", path)
    assert clean_environment()["PATH"] == (expected or "/bin:/usr/bin")


def test_a_model_may_add_variables():
    assert checked_additions({"COLOR": "green", "_x1": "", "PATH": "/bin"}) == {
        "COLOR": "green",
        "_x1": "",
        "PATH": "/bin",
    }


@pytest.mark.parametrize(
    ("variables", "kind", "says"),
    [
        ({"LD_PRELOAD": "x.so"}, "denied", "LD_PRELOAD"),
        ({"DYLD_INSERT_LIBRARIES": "x"}, "denied", "DYLD_INSERT_LIBRARIES"),
        ({"BASH_ENV": "x"}, "denied", "inside the script"),
        ({"ENV": "x"}, "denied", "ENV"),
        ({"SHELLOPTS": "x"}, "denied", "SHELLOPTS"),
        ({"PS4": "$(x)"}, "denied", "PS4"),
        ({"PROMPT_COMMAND": "x"}, "denied", "PROMPT_COMMAND"),
        ({"IFS": "x"}, "denied", "IFS"),
        ({"BASH_FUNC_ls%%": "() { rm; }"}, "validation_error", "name"),
        ({"BASH_FUNC_ls": "() { rm; }"}, "denied", "BASH_FUNC_ls"),
        ({"": "x"}, "validation_error", "name"),
        ({"a-b": "x"}, "validation_error", "name"),
        ({"1a": "x"}, "validation_error", "name"),
        ({"a=b": "x"}, "validation_error", "name"),
        ({"é": "x"}, "validation_error", "name"),
        ({"A": "x\0y"}, "validation_error", "NUL"),
        ({"A": "x" * 40_000}, "limit_exceeded", "32 KiB"),
        ({f"A{n}": "" for n in range(101)}, "limit_exceeded", "100"),
    ],
)
def test_a_variable_that_acts_before_the_script_is_refused_and_the_message_says_why(variables, kind, says):
    with pytest.raises(ToolError, match=says) as caught:
        checked_additions(variables)
    assert caught.value.type == kind


KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----"
