"""Untrusted text is shown without hidden characters, and names of secrets are recognized."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core.text import is_secret_name, visible

# All characters, but of planes that are unassigned or private as a whole, only those at the ends.
EVERY = [*map(chr, [*range(0x34000), *range(0xE0000, 0xE2000), *range(0xF0000, 0xF0100), *range(0x10FF00, 0x110000)])]
# Signs that are drawn around the digits after them, although their category is "format".
DRAWN = {*map(chr, range(0x600, 0x606)), *"\u06dd\u070f\u0890\u0891\u08e2", "\U000110bd", "\U000110cd"}
ORDINARY = [
    "naïve Grüße, Ålesund",
    "日本語テキスト 世界 한국어",
    "שלום مرحبا",
    "👍 👨\u200d👩\u200d👧 ⚠\ufe0f",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "क्\u200dष",
    "“quoted” – 1 ½ €",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_of_any_script_stays_unchanged(text):
    assert visible(text) == text
    assert visible(text, keep_layout=True) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x00\x07\x08", r"\x00\x07\x08"),
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("\x7f", r"\x7f"),
        ("\x80\x9b31m\x9f", r"\x80\x9b31m\x9f"),
        ("\u202atxt\u202e.exe\u2067x\u2069\u200f\u061c", r"\u202atxt\u202e.exe\u2067x\u2069\u200f\u061c"),
        ("a\u200bb\u200dc\u2060\ufeff\xad", r"a\u200bb\u200dc\u2060\ufeff\xad"),
        ("⚠\ufe0f\ufe0f a\ufe0f", "⚠\ufe0f" + r"\ufe0f a\ufe0f"),
        ("\u2028\u2029\x0b\x0c\x85", r"\u2028\u2029\x0b\x0c\x85"),
        ("\ud800 \udc80", r"\ud800 \udc80"),
        ("\U000e0041\U000e0100", r"\U000e0041\U000e0100"),
        ("\u3164\uffa0\u115f\u034f", r"\u3164\uffa0\u115f\u034f"),
        ("1\r2", r"1\r2"),
    ],
    ids=[
        "C0", "ESC", "DEL", "C1", "bidi", "zero-width", "selectors", "line separators", "surrogates", "tags", "fillers",
        "return",
    ],
)  # fmt: skip
def test_hidden_characters_are_escaped(text, escaped):
    assert visible(text) == escaped
    assert visible(text, keep_layout=True) == escaped


def test_no_control_or_format_character_remains():
    def remaining(categories, **options):
        return {*visible(" ".join(EVERY), **options)} & {c for c in EVERY if unicodedata.category(c) in categories}

    assert remaining({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn", "Zs"}) == {" "}
    assert remaining({"Cc", "Cf", "Cs", "Zl", "Zp"}, keep_layout=True) - DRAWN == {"\t", "\n"}


def test_letters_digits_and_signs_remain_unless_they_look_empty():
    drawn = {char for char in EVERY if unicodedata.category(char)[0] in "LNPS"}
    assert drawn - {*visible(" ".join(EVERY), keep_layout=True)} == {*"\u115f\u1160\u3164\uffa0"}
    assert drawn - {*visible(" ".join(EVERY))} == {*"\u115f\u1160\u3164\uffa0\u2800"}


def test_tabs_and_line_breaks_are_escaped_unless_the_layout_is_kept():
    text = "1\tone\r\n\xa0two\u3000three\n"
    assert visible(text, keep_layout=True) == text
    assert visible(text) == r"1\tone\r\n\xa0two\u3000three\n"


special = st.sampled_from("\u115f\u1680\u180e\u200c\u200d\u2800\ufe0f\u06dd⚠م\r\n\t \x1b\\")


@given(st.text(special | st.characters(codec=None)))
def test_visible_text_is_one_line_and_is_not_escaped_again(text):
    line, lines = visible(text), visible(text, keep_layout=True)
    assert len(line.splitlines()) <= 1
    assert visible(line) == line
    assert visible(lines, keep_layout=True) == lines


@pytest.mark.parametrize(
    "name",
    [
        "password", "PASSWORD", "db_password", "PGPASSWORD", "password2", "db_passwd", "MYSQL_PWD", "db_pass",
        "apiKey", "API_KEY", "api-key", "APIKey", "apikey", "OPENAI_API_KEY", "API_KEY_S", "api_keys", "apikeys",
        "sshKey", "AWS_SECRET_ACCESS_KEY", "privateKey", "PRIVATE_KEY_PEM", "PRIMARY_KEY", "key_material",
        "X-Auth-Token", "access_token", "accessTokens", "npm_config__authToken", "GITHUB_TOKEN", "APITOKEN", "JWT",
        "authorization", "HTTP_AUTHORIZATION", "bearer", "secret", "clientSecret", "SECRET_ID", "secret_token_id",
        "Set-Cookie", "SESSION_COOKIE", "credentials", "MY_CREDENTIALS", "CREDS", "passphrase", "passcode", "pin",
        "GITHUB_PAT", "WIFI_PSK", "webhook_signature",
    ],
)  # fmt: skip
def test_names_of_secrets_are_recognized_in_any_spelling(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "", "_", "123", "user", "path", "PATH", "key", "KEY", "keys", "keyboard", "KEYBOARD_LAYOUT", "monkey", "MONKEY",
        "author", "AUTHOR", "authenticated", "secretary", "tokenize", "tokenizer", "passenger", "compass", "pinned",
        "max_tokens", "maxTokens", "MAX_TOKENS", "max_output_tokens", "total_tokens", "token_count", "tokenType",
        "SSH_AUTH_SOCK", "AUTH_MODE", "SECRET_NAME", "TOKEN_VERSION", "password_file", "GOOGLE_CREDENTIALS_PATH",
        "AWS_ACCESS_KEY_ID", "GIT_ASKPASS", "publicKey", "sort_key", "cache_key", "COLORTERM",
    ],
)  # fmt: skip
def test_similar_names_are_not_secrets(name):
    assert not is_secret_name(name)
