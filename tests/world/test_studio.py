"""The studio beside other users and other servers of the machine."""

from __future__ import annotations

import html
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
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
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
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
        assert browser.get(address).status_code == 200
        [cookie] = browser.cookies.jar
        assert len(cookie.path) > 16
        assert cookie.path in address
    assert not page.exists()
    assert httpx2.get(address).status_code == 401


@pytest.mark.parametrize(
    "doctor",
    [
        None,
        pytest.param("print('one\\ntwo')", marks=pytest.mark.slow),  # no report
        pytest.param("print([])", marks=pytest.mark.slow),
        pytest.param("os._exit(0)", marks=pytest.mark.slow),
        pytest.param("os.kill(os.getpid(), 9)", marks=pytest.mark.slow),
    ],
)
def test_the_search_for_problems_always_ends(studio, workspace, doctor):
    site = workspace / "site"
    site.mkdir()
    code = f"import os, sys\nif 'doctor' in sys.orig_argv:\n    {doctor}; sys.stdout.flush(); os._exit(0)\n"
    (site / "sitecustomize.py").write_text(code if doctor else "")
    address = studio("./weather.py", "--no-open", PYTHONPATH=str(site))
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
        root = urljoin(str(browser.get(address).url), ".")
        assert "Forecast rain." in browser.get(f"{root}tools/.%2Fweather.py%3Aforecast").text
        browser.get(root)
        with browser.stream("GET", f"{root}events") as events:
            lines = events.iter_lines()
            while "Looking for problems" in (page := browser.get(f"{root}problems").text):
                next(line for line in lines if '"topic": "catalog"' in line)
    assert ("gives no report" in page) == bool(doctor)


def test_a_pattern_without_matches_is_an_error_before_the_page_opens(studio, workspace):
    command = [sys.executable, "-m", "tools_core", "ui", "--tools", "missing", "--no-open"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'no tool or package "missing"' in done.stderr


@pytest.mark.slow
def test_the_messages_of_an_mcp_server_are_shown_beside_the_call(studio):
    program = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]
    options = '{"before": "caf\u00e9\\n", "result": {"content": "Rain", "isError": "no"}}'
    add = [sys.executable, "-m", "tools_core", "mcp", "add", "sky", "--yes", "--", *program, options]
    subprocess.run(add, check=True, capture_output=True)
    address = studio("mcp:sky", "--no-open")
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
        root = urljoin(str(browser.get(address).url), ".")
        browser.headers["origin"] = root.rpartition("/")[0].rpartition("/")[0]
        key = browser.post(f"{root}tools/sky_echo/forecast", json={}).json()["key"]
        browser.post(f"{root}tools/sky_echo/calls", json={"arguments": {}, "key": key})
        with browser.stream("GET", f"{root}events?after=first") as events:
            lines = events.iter_lines()
            while "Running" in (page := html.unescape(browser.get(f"{root}calls/1").text)):
                next(line for line in lines if '"topic": "call:1"' in line)
        assert '"result": {\n    "content": "Rain",\n    "isError": "no"\n  }' in page  # as it was sent
        assert re.search(r'"method": "tools/call",\s+"params": \{\s+"name": "echo"', page)
        assert "caf\ufffd" in page  # a line that is not a message
        assert '<pre tabindex="0">Rain</pre>' in page
