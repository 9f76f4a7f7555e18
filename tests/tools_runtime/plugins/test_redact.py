"""Secrets in the audit log."""

from __future__ import annotations

import json

import pytest

from tools_core import Result, tool
from tools_runtime.plugins import AuditLog

SECRET = "hunter22hunter22"  # noqa: S105  (a sample)
AWS = "AKIAIOSFODNN7EXAMPLE"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl"
TOKENS = [AWS, KEY, JWT, *(f"{start}{SECRET}" for start in ("ghp_", "github_pat_", "sk-", "xoxb-", "xoxp-", "glpat-"))]


@pytest.fixture
def logged(tmp_path, call):
    """The text of the log after a call with these arguments that ends with this error."""

    def logged(arguments, error="", **options):
        @tool
        def work(**arguments: object) -> Result:
            return Result.error(error) if error else Result.ok(None)

        path = tmp_path / "log"
        call(work, [AuditLog(path, **options)], **arguments)
        return path.read_text()

    return logged


@pytest.mark.parametrize("text", TOKENS, ids=lambda text: text[:8])
def test_well_known_tokens_are_hidden_in_arguments_and_errors(logged, text):
    line = logged({"note": f"use {text} here", "items": [text]}, f"no access with {text}")
    assert line.count("[redacted]") == 3
    assert not any(part in line for part in (SECRET, "IOSFODNN7", "MIIEpAIB", "c2lnbmF0"))


@pytest.mark.parametrize(
    "text",
    [
        f"https://ann:{SECRET}@example.org/a?b=c",
        f"postgres://ann:{SECRET}@@db:5432/x",
        f"https://{SECRET}{SECRET}@github.com/a/b",
        f"https://example.org/?a=1&api_key={SECRET}#x",
        f"curl -u ann:{SECRET} https://example.org",
        f"curl -su 'ann:{SECRET} and more' https://example.org",
        f"curl --user=ann:{SECRET} https://example.org",
        f"mysql --user bob --password {SECRET}",
        f"mysql --password={SECRET} --user bob",
        f"curl -H 'Authorization: Bearer {SECRET}'",
        f"curl -H 'Cookie: sk-{SECRET}; c={SECRET}'",
        f"password: ${SECRET}",
        f"cd /tmp; PASSWORD={SECRET} ./run",
        f"note: see\nexport API_KEY='a {SECRET}'",
        f"user: bob\npassword: {SECRET}\n",
        f"connect(token='{SECRET}', port=5432)",
        json.dumps({"a": {"password": SECRET}}),
        json.dumps({"inner": json.dumps({"password": SECRET})}),
    ],
)
def test_secrets_in_urls_options_headers_scripts_and_settings_are_hidden(logged, text):
    for arguments in ({"text": text}, {}):
        assert SECRET not in logged(arguments, f"failed: {text}")


@pytest.mark.parametrize(
    "arguments",
    [
        dict.fromkeys(("password", "client_secret", "token", "api_key", "authorization", "dbPassword"), SECRET),
        {"argv": ["mysql", "--password", SECRET, "db"]},
        {"argv": ["mysql", f"--password={SECRET}", "db"]},
        {"argv": ["curl", "-u", f"ann:{SECRET}", "https://example.org"]},
        {"headers": [["Accept", "*/*"], ["Authorization", f"Basic {SECRET}"]]},
        {"headers": {"Cookie": {"raw": [SECRET]}}},
        {"env": [{"name": "DB_PASSWORD", "value": SECRET}, {"name": "A", "value": "b"}]},
    ],
)
def test_values_of_secret_names_are_hidden_at_any_depth(logged, arguments):
    assert SECRET not in logged(arguments)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=1000",
        "echo the password",
        "docker run -u 1000:1000 image",
        "sort_key='name'",
        "git clone ssh://git@github.com/a/b",
        "task-runner --user ann",
        "https://example.org:8080/a@b",
    ],
)
def test_text_that_only_mentions_a_secret_stays_as_it_is(logged, text):
    assert json.loads(logged({"text": text}).splitlines()[0])["arguments"] == {"text": text}


def test_given_values_are_hidden_everywhere(logged):
    line = logged({"text": "a 4711 b", "4711": 1}, "not 4711", redact=["4711"])
    assert "4711" not in line and line.count("[redacted]") == 3


def test_a_secret_at_the_cut_of_a_long_text_is_hidden(logged):
    for length in (1_990, 9_990):
        line = logged({"text": f"{'x ' * (length // 2)}{AWS}"})
        assert "AKIA" not in line


def test_many_names_in_a_long_text_take_bounded_time(logged):
    for text in ("password: ", "--password abcd ", "a: b=c ", "://a:b", "-u a:", "eyJ_", "-----BEGIN ", "-u", "u", " "):
        logged({"text": f"-{text * 100_000}"})
