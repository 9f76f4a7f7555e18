"""The studio beside other users and other servers of the machine."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin

import httpx2
import pytest

TOOL = """
from tools_core import tool


@tool(read_only=True)
def {name}(city: str) -> str:
    "Forecast rain."
    return city
"""


@pytest.fixture
def studio(home, workspace):
    """Start the studio with the tools of a file: `studio("./weather.py")` is its address."""
    processes = []

    def studio(file, *options, name="forecast", **environ):
        path = workspace / file.partition(":")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TOOL.format(name=name))
        command = [sys.executable, "-m", "tools_core", "ui", "--tools", file, *options]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        processes.append(subprocess.Popen(command, text=True, env={**os.environ, **environ}, **streams))
        return processes[-1].stdout.readline().strip()

    yield studio
    for process in processes:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("./weather.py", "forecast"),
        pytest.param("./a b/we#at%her?.py", "forecast", marks=pytest.mark.slow),
        pytest.param("../weather.py:rain", "rain", marks=pytest.mark.slow),
    ],
)
def test_the_link_to_a_tool_of_a_file_opens_its_page(studio, workspace, file, name):
    address = studio(file, "--no-open", name=name)
    with httpx2.Client(follow_redirects=True) as browser:
        page = browser.get(address)
        for _ in range(100):  # the tools are loaded in the background
            if links := re.findall(r'href="(/[^"]*/tools/[^"]*)"', browser.get(urljoin(str(page.url), "list")).text):
                break
        # Browsers resolve dots in a path, httpx does not.
        assert not re.search(r"/\.{1,2}(/|$)", links[0])
        assert "Forecast rain." in browser.get(urljoin(str(page.url), links[0])).text


def test_other_users_and_other_ports_receive_no_token(studio, workspace):
    script = workspace / "browser"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > opened\n')
    script.chmod(0o755)
    os.mkfifo(workspace / "opened")
    address = studio("./weather.py", BROWSER=str(script))
    opened = (workspace / "opened").read_text()
    page = Path(opened.strip().removeprefix("file://"))
    assert "127.0.0.1" not in opened
    assert address in page.read_text()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (page, page.parent)] == [0o600, 0o700]
    with httpx2.Client(follow_redirects=True) as browser:
        assert browser.get(address).status_code == 200
        [cookie] = browser.cookies.jar
        assert len(cookie.path) > 16
        assert cookie.path in address
    assert not page.exists()
    assert httpx2.get(address).status_code == 401
