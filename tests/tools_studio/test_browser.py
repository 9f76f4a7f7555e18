"""The studio as a person uses it, in Chromium."""

from __future__ import annotations

import json
import re
import shutil

import pytest

try:
    from playwright import sync_api as playwright
except ModuleNotFoundError:
    playwright = None
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(playwright is None, reason="playwright is not installed"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
expect = playwright and playwright.expect
if expect:
    expect.set_options(timeout=30_000)  # a busy machine may show a change late


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """`open_page(studio, path)`: a page of a new browser window; a script error fails the test."""
    contexts, errors = [], []

    def open_page(studio, path="", *, width=1440, height=900, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        context.add_cookies(studio.cookies)
        page.goto(studio.base + (path or "/"))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors


ORDER = "/tools/shop.py%3Aplace_order"


def field(page, name):
    return page.locator(f'[data-name="{name}"]')


def run(page):
    """Run the call, and return its result."""
    button = page.locator("form.arguments [type=submit]")
    expect(button).to_be_enabled()
    button.click()
    return page.locator("#calls")


def test_tools_are_found_and_opened_with_the_keyboard_alone(studio, open_page):
    page = open_page(studio)
    expect(page.get_by_text("place_order")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("list dir")
    expect(page.locator("#tools li:visible")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("list_directory")
    page.go_back()
    expect(page.locator("main h1")).to_contain_text("before you trust it")
    page.get_by_label("Search tools").fill("nothing like this")
    expect(page.get_by_text("No tool matches.")).to_be_visible()


def test_a_double_click_starts_one_call(studio, open_page):
    def is_start(message):
        return message.request.method == "POST" and message.url.endswith("/calls")

    page, started = open_page(studio, "/tools/list_directory"), []
    page.on("response", lambda response: started.append(response) if is_start(response) else None)
    button = page.locator("form.arguments [type=submit]")
    expect(button).to_be_enabled()
    button.dblclick()
    expect(page.locator("#calls")).to_contain_text("notes.md")
    with page.expect_response(is_start):
        button.click()
    assert len(started) == 2


def test_problems_of_arguments_appear_at_their_fields(studio, open_page):
    page = open_page(studio, ORDER)
    expect(page.get_by_text("The arguments are not complete")).to_be_visible()
    expect(field(page, "customer").locator(".problem-text")).to_be_hidden()  # before the person has tried
    page.get_by_role("button", name="Add an item").click()
    page.get_by_label("quantity", exact=True).fill("many")
    expect(field(page, "quantity").locator(".problem-text")).to_contain_text("must be an integer")
    page.locator("form.arguments [type=submit]").click()
    expect(field(page, "customer").locator(".problem-text")).to_contain_text("required")
    expect(page.get_by_label("customer", exact=True)).to_be_focused()


def test_a_form_with_every_kind_of_field_makes_the_arguments(studio, open_page):
    page = open_page(studio, ORDER)
    page.get_by_label("customer", exact=True).fill("Ada")
    page.get_by_label("street").fill("Main 1")
    page.get_by_label("city").fill("Oslo")
    page.get_by_role("button", name="Add an item").click()
    page.get_by_label("sku").fill("A1")
    page.get_by_label("due", exact=True).fill("2026-12-01")
    page.get_by_label("speed").select_option("express")
    page.get_by_label("Kind of discount").select_option(label="number")
    field(page, "discount").get_by_role("textbox").fill("2.5")
    page.get_by_role("button", name="Add an entry").click()
    page.get_by_label("key").fill("color")
    field(page, "labels").get_by_label("value").fill("red")
    page.get_by_label("photo").set_input_files({"name": "a.bin", "mimeType": "", "buffer": b"abc"})
    page.get_by_role("tab", name="JSON").click()
    text = page.get_by_label("Arguments as JSON")
    expect(text).to_have_value(re.compile('"photo": "YWJj"'))
    expect(text).to_have_value(re.compile('"quantity": 1|"sku": "A1"'))
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_label("sku")).to_have_value("A1")
    expect(page.get_by_label("photo")).to_have_attribute("data-base64", "YWJj")
    result = run(page)
    expect(result).to_contain_text('"discount":2.5')
    expect(result).to_contain_text('"labels":{"color":"red"}')
    expect(result).to_contain_text('"speed":"express"')


def test_an_incomplete_variant_of_a_union_survives_the_json_mode(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Apay")
    page.get_by_label("Kind of method").select_option(label="bank")
    page.get_by_label("iban").fill("NO93")
    page.get_by_role("tab", name="JSON").click()
    text = page.get_by_label("Arguments as JSON")
    assert json.loads(text.input_value()) == {"method": {"kind": "bank", "iban": "NO93"}}
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_label("iban")).to_have_value("NO93")
    page.get_by_label("holder").fill("Ada")
    expect(run(page)).to_contain_text('"reminders":null')


def test_an_example_fills_the_form_and_the_call_runs_after_approval(studio, open_page):
    page = open_page(studio, ORDER)
    page.locator(".examples .chip").click()
    expect(page.get_by_text("The policy asks a person first")).to_be_visible()
    expect(page.get_by_role("button", name="Approve and run")).to_be_visible()
    result = run(page)
    expect(result.get_by_role("status")).to_have_text("done")
    result.get_by_role("tab", name="Metadata").click()
    expect(result).to_contain_text('"approval"')
    page.get_by_role("button", name="Call again").click()
    expect(page.locator("#calls .card")).to_have_count(1)


def test_a_call_is_copied_to_the_clipboard(studio, open_page):
    page = open_page(studio, "/tools/glob")
    page.get_by_label("pattern", exact=True).fill("*.md")
    expect(page.get_by_text("The policy allows it")).to_be_visible()
    page.locator("#forecast").get_by_text("Copy as…").click()
    page.wait_for_timeout(500)  # the field has lost the focus, so the policy is asked again
    page.get_by_role("button", name="ask-tools call").click()
    expect(page.locator("#status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "ask-tools call glob 'pattern=*.md'"


def test_progress_is_live_and_a_call_is_cancelled(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Acount_up")
    page.get_by_label("to", exact=True).fill("600")
    result = run(page)
    expect(result).to_contain_text("at 3")
    result.get_by_role("button", name="Cancel").click()
    expect(result.get_by_role("status")).to_have_text(re.compile("cancelled|done"))
    expect(result).not_to_contain_text("Running")


def test_questions_of_a_tool_are_answered_on_the_page(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Aask_user")
    page.get_by_label("topic").fill("tea")
    result = run(page)
    result.get_by_role("button", name="yes").click()
    result.get_by_label("Answer").fill("warm")
    result.get_by_role("button", name="Answer").click()
    expect(result).to_contain_text("yes: warm")


def test_a_refresh_keeps_the_input_and_the_focus(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Aask_user")
    page.get_by_label("topic").fill("tea")
    result = run(page)
    result.get_by_role("button", name="yes").click()
    result.get_by_label("Answer").fill("warm")
    for topic in ("ink", "oil"):  # calls of another program, which this page shows as well
        studio.run("shop.py:ask_user", {"topic": topic})
        expect(page.get_by_text(f"Do you like {topic}?")).to_be_visible()
    expect(result.get_by_label("Answer")).to_be_focused()
    page.keyboard.press("Enter")
    expect(result.get_by_text("Why?")).to_have_count(0)
    expect(result.locator(".question")).to_have_count(2)
    for _ in range(2):
        result.get_by_role("button", name="no").first.click()
        result.get_by_role("button", name="Answer").click()
    expect(result.locator(".question")).to_have_count(0)


def test_a_result_with_html_runs_no_code_and_loads_no_files(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Ahostile")
    addresses = []
    page.on("request", lambda request: addresses.append(request.url))
    result = run(page)
    result.get_by_role("button", name="Rendered").click()
    expect(result.locator("strong")).to_have_text("bold")
    assert page.title() == "hostile · ask-tools"
    assert all(link.get_attribute("href").startswith("http") for link in result.locator("a").all())
    assert all(address.startswith(studio.base) for address in addresses)


def test_a_picture_is_shown(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Achart")
    picture = run(page).locator("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("picture => picture.naturalWidth") == 160


def test_changes_of_a_copy_are_applied_and_undone(studio, open_page):
    page = open_page(studio, "/tools/edit_file")
    for name, text in (("path", "notes.md"), ("old_string", "one"), ("new_string", "two")):
        page.get_by_label(name, exact=True).fill(text)
    page.get_by_label("Run in a copy").check()
    result = run(page)
    expect(result.locator(".diff .added").last).to_have_text("+- two")
    assert "one" in (studio.workspace / "notes.md").read_text()
    result.get_by_role("button", name="Apply to the workspace").click()
    expect(result.locator(".pill.applied")).to_be_visible()
    assert "two" in (studio.workspace / "notes.md").read_text()
    page.get_by_role("link", name="Undo it").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".pill.undone")).to_be_visible()
    assert "one" in (studio.workspace / "notes.md").read_text()


def test_an_approved_call_of_an_agent_runs_and_its_session_is_forked(studio, open_page):
    page = open_page(studio, studio.run_agent())
    expect(page.get_by_text("write_file waits for approval")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Done: summary.md")).to_be_visible()
    page.get_by_label("Search messages and calls").fill("summary.md has")
    expect(page.locator(".timeline > li:visible")).to_have_count(1)
    page.get_by_label("Search messages and calls").fill("")
    session = page.url
    page.get_by_role("button", name="Fork after message 1").click()
    page.wait_for_url(lambda url: url != session)
    expect(page.locator(".timeline > li")).to_have_count(1)
    (studio.workspace / "summary.md").unlink()


def test_calls_that_run_are_still_there_after_a_reload(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Aask_user")
    for topic in ("tea", "ink"):
        page.get_by_label("topic").fill(topic)
        expect(run(page).get_by_text(f"Do you like {topic}?")).to_be_visible()
    page.reload()
    expect(page.locator("#calls .question")).to_have_count(2)
    for topic in ("ink", "tea"):
        call = page.locator("#calls .card").filter(has_text=f"Do you like {topic}?")
        call.get_by_role("button", name="yes").click()
        call = page.locator("#calls .card").filter(has_text="Why?")
        call.get_by_label("Answer").fill(f"it is {topic}")
        call.get_by_role("button", name="Answer").click()
        expect(page.get_by_text(f"yes: it is {topic}", exact=True)).to_be_visible()
    page.reload()
    expect(page.locator("#calls")).to_contain_text("yes: it is ink")  # the latest one


PATHS = ["/", ORDER, "/tools/glob", "/sessions", "/changes"]


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (360, "light"), (360, "dark")])
def test_pages_have_no_serious_axe_violations_and_fit_their_window(studio, open_page, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(studio, "/tools/glob", width=width, scheme=scheme)
    page.get_by_label("pattern", exact=True).fill("*.md")
    expect(run(page).get_by_role("status")).to_have_text("done")
    session = studio.run_agent(id=f"{width}-{scheme}")
    for path in [None, *PATHS, session]:
        if path:
            page.goto(studio.base + path)
        expect(page.locator("main .loading")).to_have_count(0)
        if path == session:
            expect(page.get_by_text("waits for approval")).to_be_visible()
        violations = axe.run(page).response["violations"]
        problems = [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in violations]
        assert not [
            entry for entry, rule in zip(problems, violations, strict=True) if rule["impact"] in ("serious", "critical")
        ], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_an_idle_page_sends_no_requests(studio, open_page):
    page = open_page(studio, "/tools/glob")
    expect(page.get_by_text("The arguments are not complete")).to_be_visible()
    expect(page.locator("#definition pre")).to_be_visible()
    page.goto(studio.base + "/tools/glob", wait_until="load")
    expect(page.locator("#definition pre")).to_be_visible()
    expect(page.get_by_text("The arguments are not complete")).to_be_visible()
    addresses = []
    page.on("request", lambda request: addresses.append(request.url))
    page.wait_for_timeout(2500)
    assert addresses == []


SEARCH_AND_LAYOUT = """() => {
    const input = document.querySelector("[data-filter]"), list = document.querySelector("#tools");
    const time = (action) => {
        const start = performance.now();
        for (let number = 0; number < 20; number++) { action(number); list.offsetHeight; }
        return performance.now() - start;
    };
    const search = time((number) => {
        input.value = `${number}`;
        input.dispatchEvent(new Event("input", {bubbles: true}));
    });
    const layout = time((number) => {
        for (const entry of list.querySelectorAll("li")) entry.hidden = number % 2;
    });
    return [search, layout];
}"""


def test_a_search_of_a_thousand_tools_takes_little_longer_than_their_layout(serve, open_page):
    code = '@tool(read_only=True)\ndef tool_{0}(a: int) -> int:\n    "Do number {0}."\n    return a\n'
    lines = ["from tools_core import tool\n", *(code.format(number) for number in range(1000))]
    (serve.workspace / "many.py").write_text("\n".join(lines))
    page = open_page(serve("--tools", "many.py"))
    expect(page.locator("#tools li")).to_have_count(1000, timeout=60_000)
    search, layout = page.evaluate(SEARCH_AND_LAYOUT)
    assert search < 5 * layout, (search, layout)


def test_numbers_and_empty_texts_reach_the_tool_as_they_were_written(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Areceive")
    page.get_by_role("tab", name="JSON").click()
    text = page.get_by_label("Arguments as JSON")
    rest = '[9007199254740993, "9007199254740993", "a 12345678901234567890"]'
    text.fill(f'{{"id": 12345678901234567890, "rest": {rest}, "text": ""}}')
    result = run(page)
    expect(result).to_contain_text('{"id":12345678901234567890,"text":"","note":"none",')
    expect(result).to_contain_text('[9007199254740993,"9007199254740993","a 12345678901234567890"]')
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_label("id", exact=True)).to_have_value("12345678901234567890")
    result = run(page)
    expect(result).to_contain_text('{"id":12345678901234567890,"text":""')
    page.get_by_label("id", exact=True).fill("12345678901234567891")
    page.get_by_label("note", exact=True).fill("x")
    page.get_by_label("note", exact=True).fill("")
    result = run(page)
    expect(result).to_contain_text('{"id":12345678901234567891,"text":"","note":"none"')


def test_an_untouched_required_text_is_missing_and_an_emptied_one_is_empty(studio, open_page):
    page = open_page(studio, "/tools/shop.py%3Areceive")
    page.get_by_label("id", exact=True).fill("1")
    page.locator("form.arguments [type=submit]").click()
    expect(field(page, "text").locator(".problem-text")).to_contain_text("required")
    page.get_by_label("text", exact=True).fill("x")
    page.get_by_label("text", exact=True).fill("")
    expect(run(page)).to_contain_text('"text":""')


def test_many_tabs_stay_live_over_one_connection(studio, open_page):
    first = open_page(studio, "/tools/shop.py%3Areceive")
    pages = [first] + [first.context.new_page() for _ in range(8)]
    for page in pages[1:]:
        page.goto(f"{studio.base}/tools/shop.py%3Areceive")
    studio.run("shop.py:receive", {"id": 4711, "text": "from another program"})
    for page in pages:
        expect(page.locator("#calls")).to_contain_text("4711")
    first.close()  # another page receives the events now
    studio.run("shop.py:receive", {"id": 4712, "text": "again"})
    for page in pages[1:]:
        expect(page.locator("#calls")).to_contain_text("4712")
