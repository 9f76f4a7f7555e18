"""The conformance suite of the protocol's authors against our server, with tools made by `@tool`."""

import json
import re
import subprocess

import pytest

pytestmark = pytest.mark.slow

RELEASE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"

# Scenarios for servers that offer more than tools, by reason: patterns of scenarios, or `scenario:check`.
EXPECTED = {
    "the server has no resources": [
        r"resources-(?!list).*",
        r"sep-2164-resource-not-found:.*",
    ],
    "the server has no prompts": [
        r"prompts-(?!list).*",
        r"input-required-result-non-tool-request",
        r"server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription",
    ],
    "there is nothing to complete but arguments of prompts and resources": [r"completion-complete"],
    "the protocol deprecates logging and sampling and roots": [
        r"logging-set-level",
        r"tools-call-with-logging",
        r"tools-call-sampling",
        r"input-required-result-basic-(sampling|list-roots)",
        r"input-required-result-capability-check",  # by a server that may ask for sampling instead
        r"server-stateless:sep-2575-server-rejects-undeclared-capability",  # of sampling
        r"server-stateless:sep-2575-missing-capability-http-400",
    ],
    "tools ask their user for approval, and no other questions": [
        r"elicitation-sep(1034-defaults|1330-enums)",
        r"input-required-result-basic-elicitation",
        r"input-required-result-ignore-extra-params",
        r"input-required-result-multiple-input-requests",
        r"input-required-result-multi-round",
    ],
    "streams cannot be resumed, which 2026-07-28 has removed": [r"server-sse-polling"],
    "tasks are an extension, which the server does not have": [r"tasks-.*"],
}
EXCUSES = [re.compile(rf"{pattern}(:.*)?") for patterns in EXPECTED.values() for pattern in patterns]
REVISIONS = ["2025-11-25", "2026-07-28"]


@pytest.fixture(scope="module")
def failures(npm, fixture_url, environ, tmp_path_factory):
    """Return the findings of the suite by revision: `scenario:check` and its message."""
    node, modules = npm(RELEASE)
    suite = modules / "@modelcontextprotocol/conformance/dist/index.js"
    failures = {}
    for revision in REVISIONS:
        folder = tmp_path_factory.mktemp(revision)
        command = [node, suite, "server", "--url", fixture_url, "--requirements", revision, "--output-dir", folder]
        completed = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
        checks = list(checks_in(folder))
        assert len(checks) > 70, completed.stdout + completed.stderr
        failures[revision] = {name: message for name, status, message in checks if status in ("FAILURE", "WARNING")}
    return failures


def checks_in(folder):
    for file in sorted(folder.glob("*/checks.json")):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT\d\d-.*$", "", file.parent.name)
        for check in json.loads(file.read_text()):
            yield f"{scenario}:{check['id']}", check["status"], check.get("errorMessage", "")


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_server_of_tools_meets_all_that_a_revision_asks_of_tools(revision, failures):
    excused = [name for name in failures[revision] if any(excuse.fullmatch(name) for excuse in EXCUSES)]
    assert {name: message for name, message in failures[revision].items() if name not in excused} == {}


def test_excused_scenarios_fail(failures):
    names = [name for messages in failures.values() for name in messages]
    assert [excuse.pattern for excuse in EXCUSES if not any(map(excuse.fullmatch, names))] == []
