"""Nothing calls home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NOBODY = "65534"
WITH_SITE = [sys._base_executable]  # it imports sitecustomize

GUARD = """
import sys


def refuse(event, arguments):
    if event.startswith("socket."):
        import os

        os.write(2, f"opened a socket: {event} {arguments}\\n".encode())
        os._exit(99)


sys.addaudithook(refuse)
"""
# Allows pairs of sockets without an address, by which tools talk to their child processes.
GUARD_OF_ADDRESSES = GUARD.replace(
    'event.startswith("socket.")',
    'event.startswith("socket.get") or event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")'
    " and not isinstance(arguments[1], (str, bytes, type(None)))",
)

COMMANDS = [
    [],
    ["--version"],
    ["--help"],
    ["list"],
    ["list", "--json"],
    ["show", "rain"],
    ["call", "rain", "city=Oslo"],
    ["call", "rain", "city=Oslo", "--timeout", "9"],
    ["call", "radar", "--json"],
    ["call", "rian"],
    ["schema", "--all", "--for", "openai-strict"],
    ["check"],
    ["lock"],
    ["verify"],
    ["doctor"],
    ["completion", "bash"],
    ["__complete", "--", "call", "rain", ""],
    ["new", "tides"],
    ["add", "waves", "--dir", "tools-made"],
]


def test_no_command_opens_a_socket(ask_tools, site):
    site.install_weather()
    assert ask_tools("new", "made").code == ask_tools("lock").code == 0  # some commands need a package or a lock
    (site.folder / "sitecustomize.py").write_text(GUARD)
    for words in COMMANDS:
        result = ask_tools(*words, python=WITH_SITE)
        assert result.code == (2 if "rian" in words else 0), (words, result)
        assert "opened a socket" not in result.err


def test_the_guard_would_notice_a_socket(ask_tools, site):
    source = """
        from tools_core import tool


        @tool
        def dial() -> None:
            import socket

            socket.socket().close()


        @tool
        def resolve() -> None:
            import socket

            socket.getaddrinfo("localhost", 80)


        @tool
        def send() -> None:
            import socket

            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
    """
    site.install("tools-dial", {name: name for name in ("dial", "resolve", "send")}, source)
    (site.folder / "sitecustomize.py").write_text(GUARD)
    assert ask_tools("call", "dial", python=WITH_SITE).code == 99
    (site.folder / "sitecustomize.py").write_text(GUARD_OF_ADDRESSES)
    assert ask_tools("call", "dial", python=WITH_SITE).code == 0
    assert ask_tools("call", "resolve", python=WITH_SITE).code == ask_tools("call", "send", python=WITH_SITE).code == 99


@pytest.mark.slow
@pytest.mark.parametrize("words", [["doctor"], ["lock"], ["list"]], ids=" ".join)
def test_the_everyday_tools_open_no_connection(ask_tools, site, environment, words):
    for name in ("tools-shell", "tools-filesystem"):
        entries = tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
        info = site.folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        lines = "\n".join(f"{tool} = {value}" for tool, value in entries["ask_tools.tools"].items())
        (info / "entry_points.txt").write_text(f"[ask_tools.tools]\n{lines}\n")
        environment["PYTHONPATH"] += f"{os.pathsep}{ROOT / name / 'src'}"
    (site.folder / "sitecustomize.py").write_text(GUARD_OF_ADDRESSES)
    result = ask_tools(*words, python=WITH_SITE)
    assert result.code == 0, result
    assert "opened a socket" not in result.err


def without_network(user):
    """Return the beginning of a command that has no network, as a user; skip if the system forbids that."""
    is_root = sys.platform == "linux" and os.geteuid() == 0
    if user == "root" and not is_root:
        pytest.skip("only root can be root")
    begin = ["unshare", "--net"] if is_root else ["unshare", "--user", "--net"]
    if user != "root" and is_root:
        begin += ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if shutil.which("unshare") is None or subprocess.run([*begin, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not allow separate networks")
    starts_itself = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    if subprocess.run([*begin, sys._base_executable, "-c", starts_itself], capture_output=True, check=False).returncode:
        pytest.skip("this Python lies where no other user may read")
    return begin


@pytest.mark.slow
@pytest.mark.parametrize("user", ["root", "ordinary"])
def test_every_command_works_without_any_network(site, environment, user):
    begin = without_network(user)
    site.install_weather()
    (site.folder / "sitecustomize.py").write_text(GUARD)
    with tempfile.TemporaryDirectory(prefix="ask-tools-") as name:
        folder = Path(name)  # pytest's own folders are closed to other users
        for index, part in enumerate(environment["PYTHONPATH"].split(os.pathsep)):
            shutil.copytree(part, folder / str(index), ignore=shutil.ignore_patterns("*.imported"))
        module = folder / "0" / "tools_weather.py"
        module.write_text(module.read_text().partition("\n")[2])  # the mark of an import is in a folder of pytest's
        (folder / "here").mkdir()
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o777 if path.is_dir() else 0o644)
        path = os.pathsep.join(str(folder / str(index)) for index in range(3))
        variables = {**environment, "PYTHONPATH": path, "HOME": name, "PYTHONDONTWRITEBYTECODE": "1"}
        for words in [["new", "made"], *COMMANDS]:
            command = [*begin, sys._base_executable, "-m", "tools_core", *words]
            done = subprocess.run(
                command, cwd=folder / "here", env=variables, capture_output=True, text=True, check=False, timeout=60
            )
            assert done.returncode == (2 if "rian" in words else 0), f"{words}\n{done.stdout}\n{done.stderr}"
            assert "opened a socket" not in done.stderr
