"""Write the pictures of docs/studio.md: `python tests/tools_studio/screenshots.py`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent))
from conftest import Server, make_environment, make_workspace
from test_browser import CHROMIUM, FLAGS, ORDER

IMAGES = Path(__file__).parents[2] / "docs/images"
SIZE = {"width": 1280, "height": 800}


def write_screenshots(studio, browser):
    """Take a picture of each page, as a person would see it in the middle of their work."""

    def shoot(name, path, prepare, scheme="light"):
        context = browser.new_context(viewport=SIZE, color_scheme=scheme)
        context.add_cookies(studio.cookies)
        page = context.new_page()
        page.goto(studio.base + path.removeprefix(studio.root))
        prepare(page)
        page.screenshot(path=IMAGES / f"studio-{name}.png")
        context.close()

    def edit_in_a_copy(page):
        for name, text in (("path", "notes.md"), ("old_string", "- one"), ("new_string", "- one\n- two")):
            page.get_by_label(name, exact=True).fill(text)
        page.get_by_label("Run in a copy").check()
        page.get_by_role("button", name="Approve and run").click()
        page.get_by_role("button", name="Apply to the workspace").wait_for()

    def fill_in_the_form(page):
        page.locator(".examples .chip").click()
        page.get_by_label("sku").wait_for()
        page.get_by_label("quantity", exact=True).fill("many")
        page.get_by_text("must be an integer").first.wait_for()

    shoot("copy", "/tools/edit_file", edit_in_a_copy)
    shoot("form", ORDER, fill_in_the_form, "dark")
    shoot(
        "session",
        studio.run_agent("Tidy this folder"),
        lambda page: page.locator(".approval").scroll_into_view_if_needed(),
    )


def main():
    folder = Path(tempfile.mkdtemp())
    studio = Server(make_workspace(folder), make_environment(folder), "--tools", "shop.py,tools-filesystem,tools-shell")
    try:
        studio.client.get(studio.url)
        with sync_playwright() as tool:
            browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            write_screenshots(studio, browser)
    finally:
        studio.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
