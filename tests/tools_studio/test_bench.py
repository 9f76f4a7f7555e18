"""The bench: tools, forms, forecasts and calls."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tools_core import registry
from tools_eval import estimate_tokens


def wait_for(studio, html, text):
    """Fetch a call again until its page has a text."""
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    deadline = time.monotonic() + 30
    while text not in html:
        assert time.monotonic() < deadline, html
        html = studio.get(path).text
    return html


def test_the_bench_lists_tools_by_package_with_their_effects(studio):
    studio.get("/tools/glob")  # loads the tools
    text = studio.get("/list").text
    assert text.index("shop.py") < text.index("place_order") < text.index("tools-filesystem") < text.index("glob")
    order = re.search(r'data-words="(shop\.py:place_order [^"]*)"', text)[1]
    assert "writes" in order and "asks first" in order and "open world" in order
    assert "read-only" in re.search(r'data-words="(glob [^"]*)"', text)[1]


def test_a_tool_page_has_a_form_for_every_kind_of_parameter(studio):
    text = studio.get("/tools/shop.py%3Aplace_order").text
    names = {name: kind for kind, name in re.findall(r'data-kind="([\w-]+)" data-name="(\w+)"', text)}
    expected = {
        "customer": "text", "ship_to": "object", "lines": "list", "due": "date", "at": "date-time", "speed": "choice",
        "discount": "union", "gift": "flag", "labels": "map", "photo": "bytes",
    }  # fmt: skip
    assert names.items() >= expected.items()


def test_a_forecast_reports_each_problem_at_its_field(studio):
    arguments = {"customer": 3, "ship_to": {"street": "x"}, "lines": [{"sku": "A"}, {"sku": "B", "quantity": "many"}]}
    forecast = studio.post("/tools/shop.py%3Aplace_order/forecast", arguments).json()
    assert forecast["outcome"] == "invalid"
    paths = {problem["path"] for problem in forecast["problems"]}
    assert paths == {"customer", "ship_to.city", "lines[1].quantity", "due"}


def test_a_forecast_shows_the_decision_and_the_files_and_commands(serve):
    studio = serve("--tools", "write_file,glob,bash")
    forecast = studio.post("/tools/write_file/forecast", {"path": "new.txt", "content": ""}).json()
    assert forecast["outcome"] == "ask"
    assert str(serve.workspace / "new.txt") in forecast["html"]
    assert studio.post("/tools/glob/forecast", {"pattern": "*"}).json()["outcome"] == "allow"
    html = studio.post("/tools/bash/forecast", {"command": "ls && git push"}).json()["html"]
    assert "git push" in html and "network false" in html and "null" not in re.sub('title="[^"]*"', "", html)


def test_a_tool_page_shows_the_tokens_that_check_reports(studio):
    assert f"~{estimate_tokens([registry['glob']])} tokens" in studio.get("/tools/glob").text


def test_a_rule_that_denies_a_call_stops_it(serve):
    (serve.workspace / "ask-tools.toml").write_text('[[rule]]\ndecision = "deny"\ntool = "glob"\nreason = "not here"\n')
    studio = serve("--tools", "glob")
    forecast = studio.post("/tools/glob/forecast", {"pattern": "*"}).json()
    assert forecast["outcome"] == "deny"
    assert "not here" in forecast["html"]
    assert "denied" in wait_for(studio, studio.run("glob", {"pattern": "*"}), "not here")


def test_a_call_that_differs_from_the_forecast_does_not_run(studio):
    body = {"arguments": {"path": "new.txt", "content": "x"}, "key": "0" * 64}
    wait_for(studio, studio.post("/tools/write_file/calls", body).text, "needs approval")
    assert not (studio.workspace / "new.txt").exists()


def test_a_result_is_shown_for_the_model_and_for_programs_with_metadata(studio):
    html = wait_for(studio, studio.run("shop.py:place_order", json.loads(ORDER)), "Programs get")
    assert "&#34;city&#34;:&#34;Oslo&#34;" in html
    assert "&#34;city&#34;: &#34;Oslo&#34;" in html
    assert "&#34;approval&#34;" in html


@pytest.mark.parametrize("kind", ["deep", "circular", "number", "name", "keys", "error"])
def test_results_outside_json_are_shown(studio, kind):
    assert "Programs get" in wait_for(studio, studio.run("shop.py:odd", {"kind": kind}), "Metadata")
    assert studio.get("/tools/shop.py%3Aodd").status_code == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"hello", b"[1]", b"[" * 100_000, b'{"x": ' + b"9" * 6000 + b"}", b'{"a": "\xff"}'],
    ids=["empty", "text", "list", "deep", "long", "latin"],
)
def test_a_malformed_request_is_refused(studio, body):
    assert studio.client.post("/tools/shop.py%3Aodd/forecast", content=body).status_code == 400


def test_a_forecast_may_have_half_of_a_surrogate_pair(studio):
    body = json.dumps({"topic": "tea\udcff", "\udcff": 1})
    problem, *_ = studio.client.post("/tools/shop.py%3Aask_user/forecast", content=body).json()["problems"]
    assert "lone surrogates" in problem["text"]


def test_images_and_diffs_are_rendered(studio):
    assert "data:image/png;base64," in wait_for(studio, studio.run("shop.py:chart", {}), "<h2>Result")
    edit = {"path": "notes.md", "old_string": "one", "new_string": "two"}
    html = wait_for(studio, studio.run("edit_file", edit), "<h2>Result")
    assert '<span class="removed">-- one' in html
    assert '<span class="added">+- two' in html
    assert (studio.workspace / "notes.md").read_text() == "# Notes\n\n- two\n"


def test_a_tool_that_ignores_cancellation_is_abandoned(studio):
    html = studio.run("shop.py:block", {})
    assert "Running" in html
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    studio.post(f"{path}/cancel")
    assert "cancelled" in wait_for(studio, html, "Cancelled")


def test_a_tool_that_raises_a_keyboard_interrupt_ends_only_its_call(studio):
    wait_for(studio, studio.run("shop.py:interrupt", {}), "KeyboardInterrupt")
    assert studio.get("/").status_code == 200


def test_a_person_answers_the_questions_of_a_tool(studio):
    html = wait_for(studio, studio.run("shop.py:ask_user", {"topic": "tea"}), "Do you like tea?")
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    for _ in range(2):  # a double click answers one question
        studio.post(f"{path}/answer", {"answer": "yes", "question": "1"})
    wait_for(studio, html, "Why?")
    studio.post(f"{path}/answer", {"answer": "it is warm", "question": "2"})
    wait_for(studio, html, "yes: it is warm")


def test_a_page_receives_the_events_of_its_own_request(studio):
    html = studio.run("shop.py:block", {})  # the response waits a moment for the call, which says that it has begun
    topic, number = re.search(r'data-topic="(call:\d+)"', html)[1], int(re.search(r'data-number="(\d+)"', html)[1])
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    studio.post(f"{path}/cancel")
    with studio.client.stream("GET", f"/events?after={number}") as events:
        event = next(line for line in events.iter_lines() if line.startswith("data: "))
    assert "calls:shop.py:block" in event, topic
    wait_for(studio, html, "Cancelled")


def test_a_run_in_a_copy_changes_the_workspace_only_when_it_is_applied(studio):
    write = {"path": "new.txt", "content": "fresh\n"}
    html = wait_for(studio, studio.run("write_file", write, in_copy=True), "Apply to the workspace")
    assert "+fresh" in html
    assert not (studio.workspace / "new.txt").exists()
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    assert "applied" in studio.post(f"{path}/apply").text
    assert (studio.workspace / "new.txt").read_text() == "fresh\n"
    html = wait_for(studio, studio.run("delete_path", {"path": "new.txt"}, in_copy=True), "Apply to the workspace")
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    assert "discarded" in studio.post(f"{path}/discard").text
    assert (studio.workspace / "new.txt").exists()


def test_a_change_that_no_page_has_shown_is_not_applied(studio):
    write = {"path": "shown.txt", "content": "fresh\n"}
    html = wait_for(studio, studio.run("write_file", write, in_copy=True), "Apply to the workspace")
    copies = Path(studio.environment["HOME"], ".cache/ask-tools/copies")
    (file,) = copies.glob(f"*/{studio.workspace.name}/shown.txt")
    file.write_text("evil\n")
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    assert "shown.txt changed since it was shown" in studio.post(f"{path}/apply").text
    assert "+evil" in studio.get("/changes").text
    file.write_text("worse\n")
    copy = file.parent.parent.name
    html = studio.post(f"/changes/{copy}/apply").text
    assert "look again: shown.txt" in html and "+worse" in html
    assert not (studio.workspace / "shown.txt").exists()
    studio.post(f"/changes/{copy}/apply")
    assert (studio.workspace / "shown.txt").read_text() == "worse\n"


def test_a_conflict_keeps_the_copy_and_says_so(studio):
    edit = {"path": "notes.md", "old_string": "one", "new_string": "two"}
    html = wait_for(studio, studio.run("edit_file", edit, in_copy=True), "Apply to the workspace")
    (studio.workspace / "notes.md").write_text("mine\n")
    path = re.search(r'data-src="/[^/]+(/calls/\d+)"', html)[1]
    text = studio.post(f"{path}/apply").text
    assert "notes.md" in text
    assert "Apply to the workspace" in text
    assert (studio.workspace / "notes.md").read_text() == "mine\n"


@pytest.mark.parametrize("provider", ["openai", "openai_strict", "responses", "anthropic", "gemini", "mcp"])
def test_each_provider_has_its_definition(studio, provider):
    text = studio.get(f"/tools/glob/definition?provider={provider}").text
    assert "&#34;name&#34;: &#34;glob&#34;" in text


def test_a_call_is_copied_as_a_command_that_runs(studio):
    import html
    import subprocess

    text = studio.post("/tools/glob/forecast", {"pattern": "*.md"}).json()["html"]
    snippets = [html.unescape(snippet) for snippet in re.findall(r'data-copy="([^"]*)"', text)]
    command, python = snippets[0], snippets[1]
    for words in (["bash", "-c", command.replace("ask-tools", f"{studio.process.args[0]} -m tools_core")],
                  [studio.process.args[0], "-c", python]):  # fmt: skip
        done = subprocess.run(
            words, cwd=studio.workspace, env=studio.environment, capture_output=True, text=True, check=True
        )
        assert "notes.md" in done.stdout


ORDER = """{"customer": "Ada", "ship_to": {"street": "Main 1", "city": "Oslo"}, "lines": [{"sku": "A1"}],
            "due": "2026-12-01"}"""
