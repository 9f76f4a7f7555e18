from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("Landlock is for Linux", allow_module_level=True)

from tools_shell._supervisor import _landlock

pytestmark = pytest.mark.skipif(not _landlock.abi(), reason="this kernel has no Landlock")

PRELUDE = """
import errno, os, signal, socket, sys
from tools_shell._supervisor import _landlock
from tools_shell._supervisor._system import gain_nothing
def attempt(action):
    try:
        action()
    except OSError as error:
        print(errno.errorcode[error.errno])
    else:
        print("done")
"""


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_files_and_folders_and_what_is_not_there_can_be_named(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").write_text("x")
    code = """
folder = sys.argv[1]
gain_nothing()
_landlock.restrict(readable=[folder + "/file", folder + "/none"], writable=[], devices=["/dev/null"], network=True)
attempt(lambda: open(folder + "/file"))
attempt(lambda: open(folder + "/other"))
attempt(lambda: open(folder + "/file", "r+"))
attempt(lambda: open("/dev/null", "w"))
"""
    assert run(code, tmp_path) == ["done", "EACCES", "EACCES", "done"]


def test_a_folder_is_moved_out_of_and_into_what_is_writable_but_not_beyond(tmp_path):
    for name in ("a/x", "b", "c"):
        (tmp_path / name).mkdir(parents=True)
    code = """
a, b, c = (f"{sys.argv[1]}/{name}" for name in "abc")
gain_nothing()
_landlock.restrict(readable=[], writable=[a, b], devices=[], network=True)
attempt(lambda: os.rename(a + "/x", b + "/x"))
attempt(lambda: os.rename(b + "/x", c + "/x"))
"""
    within, beyond = run(code, tmp_path)
    assert within == ("done" if _landlock.abi() >= 2 else "EXDEV")
    assert beyond in {"EACCES", "EXDEV"}


def test_a_link_that_took_the_place_of_what_was_writable_opens_nothing(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    code = """
folder = sys.argv[1]
gain_nothing()
_landlock.restrict(readable=[], writable=[folder + "/link"], devices=[], network=True)
attempt(lambda: open(folder + "/other/file", "w"))
"""
    assert run(code, tmp_path) == ["EACCES"]


@pytest.mark.skipif(_landlock.abi() < _landlock.NETWORK, reason="this kernel's Landlock knows no TCP")
def test_without_a_network_tcp_is_refused_and_with_one_it_is_not():
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = """
gain_nothing()
_landlock.restrict(readable=[], writable=[], devices=[], network=sys.argv[2] == "True")
port = int(sys.argv[1])
attempt(lambda: socket.socket().connect(("127.0.0.1", port)))
"""
        port = server.getsockname()[1]
        assert [run(code, port, network) for network in (True, False)] == [["done"], ["EACCES"]]


@pytest.mark.skipif(_landlock.abi() < _landlock.SCOPES, reason="this kernel's Landlock knows no scopes")
def test_scopes_alone_leave_files_as_they_are(tmp_path):
    code = """
gain_nothing()
_landlock.restrict_scopes()
attempt(lambda: open(sys.argv[1] + "/new", "x"))
attempt(lambda: os.kill(os.getppid(), 0))
attempt(lambda: os.kill(os.getpid(), 0))
"""
    assert run(code, tmp_path) == ["done", "EPERM", "done"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may restrict itself without a promise")
def test_who_could_still_gain_rights_is_not_restricted():
    code = "attempt(lambda: _landlock.restrict(readable=[], writable=[], devices=[], network=True))"
    assert run(code) == ["EPERM"]
