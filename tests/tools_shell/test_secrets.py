"""Secrets of the host do not travel: neither in the environment, nor in output, nor in half."""

from __future__ import annotations

import base64
import os
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import ToolError
from tools_shell._environment import checked_additions, clean_environment
from tools_shell._kernel import _values
from tools_shell._output import KEEP, Kept
from tools_shell._secrets import Redactor, secret_variables

VALUE = "sk-Pq7/Zt+9=xYw2&LmN"


@pytest.fixture
def redactor():
    return Redactor({"API_KEY": VALUE})


def clean(redactor, text):
    return redactor.clean(text.encode(), begins=True, ends=True).decode()


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


def test_a_secret_is_replaced_by_its_name_in_every_form(redactor):
    coded = base64.b64encode(VALUE.encode()).decode()
    assert clean(redactor, f"<{VALUE}>{VALUE}<") == "<[redacted API_KEY]>[redacted API_KEY]<"
    assert clean(redactor, f"x={urllib.parse.quote(VALUE)}&y") == "x=[redacted API_KEY]&y"
    assert clean(redactor, f"x={urllib.parse.quote(VALUE, safe='')}&y") == "x=[redacted API_KEY]&y"
    assert clean(redactor, f"x={urllib.parse.quote_plus(VALUE)}&y") == "x=[redacted API_KEY]&y"
    assert coded[:-4] not in clean(redactor, coded)


@given(secret=st.binary(min_size=12, max_size=60), before=st.binary(max_size=20), after=st.binary(max_size=20))
def test_inside_of_base64_no_part_of_a_secret_can_be_read(secret, before, after):
    redactor = Redactor({"X": secret.decode("latin-1")})
    secret = secret.decode("latin-1").encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        cleaned = redactor.clean(encode(before + secret + after), begins=True, ends=True)
        assert b"[redacted X]" in cleaned
        # Less than 4 bytes at each edge, where digits are shared with the neighbours.
        kept = cleaned.replace(b"[redacted X]", b"")
        assert len(kept) * 3 / 4 <= len(before) + len(after) + 4 + 3


def test_where_there_are_no_secrets_nothing_is_touched_or_copied():
    data = b"x" * 1000
    assert Redactor({}).clean(data) is data
    assert Redactor({"A": "0123456789"}).clean(data) is data


def test_of_two_secrets_that_overlap_nothing_is_left():
    redactor = Redactor({"LONG": "abcdefghijkl", "PART": "defghi", "NEXT": "ijklmnop"})
    assert clean(redactor, "<abcdefghijklmnop>") == "<[redacted LONG]>"
    assert clean(redactor, "<defghi>") == "<[redacted PART]>"


@given(
    secret=st.text("abcdXYZ0129-_", min_size=8, max_size=30),
    filler=st.text("abX01- \n", max_size=60),
    rest=st.text("abX01- \n", max_size=60),
    cut=st.data(),
)
def test_a_window_that_is_cut_anywhere_shows_no_part_of_a_secret(secret, filler, rest, cut):
    redactor = Redactor({"S": secret})
    stream = f"{filler}{secret}{rest}".encode()
    start = cut.draw(st.integers(0, len(stream)))
    end = cut.draw(st.integers(start, len(stream)))
    data, longest = stream[start:end], redactor.longest
    shown = [
        redactor.clean(data),  # nothing is known of what stands around
        redactor.clean(data, stream[max(0, start - longest) : start], stream[end : end + longest]),
        redactor.clean(data, stream[max(0, start - 3) : start], stream[end : end + 3]),
    ]
    inside = data[max(0, len(filler) - start) : max(0, len(filler) + len(secret) - start)]
    at_edge = len(inside) >= 4 and (len(inside) == len(secret) or data.startswith(inside) or data.endswith(inside))
    for text in shown if at_edge else []:
        assert text.replace(b"[redacted S]", b"").count(inside) <= (filler + rest).encode().count(inside)


class Long(str):
    """Has a `repr` of its own, which is cut when it has been built."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


@pytest.mark.parametrize("around", range(-25, 26))
def test_where_head_and_tail_are_cut_no_half_of_a_secret_is_shown(redactor, around):
    for place in (KEEP, 3 * KEEP):  # the end of the head, the beginning of the tail
        data = bytearray(b"." * 4 * KEEP)
        data[place + around - 20 : place + around] = VALUE.encode()
        kept = Kept()
        for at in range(0, len(data), 1024):
            kept.add(bytes(data[at : at + 1024]))
        shown, left_out, is_utf8 = kept.text(redactor)
        assert (left_out, is_utf8) == (2 * KEEP, True)
        assert all(VALUE[n : n + 4] not in shown for n in range(len(VALUE) - 3))
        tail = shown.partition("bytes left out ...]\n")[2]
        assert set(tail.replace("[redacted API_KEY]", "")) == {"."}  # what is before it is known


@pytest.mark.parametrize("made", [str, str.encode, lambda text: bytearray(text.encode()), Long])
@pytest.mark.parametrize("around", range(-2, 24, 3))
def test_where_a_value_is_cut_no_half_of_a_secret_is_shown(redactor, around, made):
    size = _values.VALUE
    for place in (size // 2, 4 * size - size // 2):  # the end of the head, the beginning of the tail
        start = place - around
        text, is_cut = _values.shown(made("." * start + VALUE + "." * (4 * size - start - len(VALUE))))
        shown = redactor.clean_text(text)
        assert is_cut
        assert " left out ...]" in shown
        assert all(VALUE[n : n + 4] not in shown for n in range(len(VALUE) - 3))


def test_what_looks_like_the_end_of_a_secret_where_the_tail_begins_is_shown(redactor):
    kept = Kept()
    kept.add(b"." * 3 * KEEP + VALUE[-6:].encode() + b"." * (KEEP - 6))
    assert f"left out ...]\n{VALUE[-6:]}." in kept.text(redactor).text


def test_a_character_that_is_cut_at_the_end_of_the_head_counts_as_a_part_of_a_secret():
    kept = Kept()
    kept.add(b"." * (KEEP - 4) + "abc€fghijk".encode() + b"." * 4 * KEEP)
    assert "abc" not in kept.text(Redactor({"X": "abc€fghijk"})).text


def test_output_that_fits_is_cleaned_whole_and_its_edges_are_no_cuts(redactor):
    kept = Kept()
    kept.add(f"{VALUE[-6:]} {VALUE} {VALUE[:6]}".encode())
    assert kept.text(redactor).text == f"{VALUE[-6:]} [redacted API_KEY] {VALUE[:6]}"
    assert VALUE in kept.text().text


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


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("postgres://u:p%40ssW0rd!x@h/db", "postgres://u:p%40ssW0rd!x@h/db"),
        ("postgres://u:p%40ssW0rd!x@h/db", "p@ssW0rd!x"),
        ("postgres://u:p%40ssW0rd!x@h/db", "p%40ssW0rd%21x"),
        (KEY, KEY.replace("\n", "\r\n")),
        (KEY, repr(KEY)),
        (KEY, KEY.splitlines()[1]),
        ("back\\slash'and\"quotes", repr("back\\slash'and\"quotes")),
    ],
)
def test_a_secret_is_found_however_an_address_a_terminal_or_a_value_writes_it(value, written):
    cleaned = Redactor.of_host([], {"A_URL": value} if "://" in value else {"A_KEY": value}, {}).clean_text(written)
    assert "[redacted A_" in cleaned
    assert not any(part in cleaned for part in ("ssW0rd", "MIIEvQ", "AQEFAA", "slash"))
    assert Redactor.of_host([], {"A_KEY": KEY}, {}).clean_text(KEY.splitlines()[0]) == KEY.splitlines()[0]


def test_a_long_secret_is_found_in_the_lines_of_base64():
    secret = "".join(f"{number:x}~" for number in range(60))
    cleaned = Redactor({"A_KEY": secret}).clean_text(base64.encodebytes(secret.encode()).decode())
    left = [line for line in cleaned.splitlines() if "[redacted A_KEY]" not in line]
    assert all(len(line) < 8 for line in left)
