from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_shell._sandbox._bubblewrap import Bubblewrap, options
from tools_shell._sandbox._visible import Visible, is_inside

# ruff: noqa: S108  # these folders are those of a sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")

MADE = Bubblewrap("/usr/bin/bwrap", frozenset(("--size", "--disable-userns", "--ro-bind-fd")))
SEEN = Visible(("/usr",), ("/project",))
MOUNTS = {
    "--tmpfs": 1,
    "--dev": 1,
    "--proc": 1,
    "--ro-bind": 2,
    "--ro-bind-try": 2,
    "--bind-try": 2,
    "--file": 2,
    "--symlink": 2,
}


def told(seen=SEEN, environment=None, *, bubblewrap=MADE, network=False, terminal=False):
    return options(bubblewrap, seen, environment or {}, "/project", network=network, terminal=terminal)


def mounts(words):
    """What is mounted where, in this order."""
    at = [place for place, word in enumerate(words) if word in MOUNTS]
    return [(words[place], words[place + MOUNTS[words[place]]]) for place in at]


def test_root_keeps_no_capability_and_gets_a_user_namespace():
    words = told()
    assert {"--unshare-all", "--unshare-user", "--disable-userns", "--new-session"} <= set(words)
    assert words[words.index("--cap-drop") + 1] == "ALL"


def test_the_network_is_shared_only_when_it_is_asked_for():
    assert "--share-net" not in told()
    assert "--share-net" in told(network=True)


def test_a_terminal_stays_the_controlling_one():
    assert "--new-session" not in told(terminal=True)


def test_older_versions_are_not_told_what_they_do_not_know():
    assert {"--size", "--disable-userns"}.isdisjoint(told(bubblewrap=MADE._replace(known=frozenset())))


def test_nothing_but_what_may_be_seen_is_mounted_and_the_rest_is_closed():
    words = told(environment={"HOME": "/home/me"})
    assert sorted(mounts(words)) == sorted([
        *(("--tmpfs", path) for path in ("/tmp", "/dev/shm", "/home/me")),
        *(("--dev", "/dev"), ("--proc", "/proc"), ("--ro-bind-try", "/usr"), ("--bind-try", "/project")),
    ])  # fmt: skip
    closed = [words[place + 1] for place, word in enumerate(words) if word == "--remount-ro"]
    assert closed == ["/dev", "/proc", "/"]


NAMES = st.lists(st.sampled_from(["a", "b", "tmp", "usr"]), min_size=1, max_size=4).map(
    lambda names: "/" + "/".join(names)
)


@pytest.mark.slow
@given(st.lists(NAMES), st.lists(NAMES, min_size=1), NAMES)
def test_what_is_mounted_later_never_hides_what_was_mounted_before(readable, writable, home):
    words = told(Visible(tuple(readable), tuple(writable)), {"HOME": home})
    places = [place for _, place in mounts(words)]
    for number, place in enumerate(places):
        assert not any(is_inside(earlier, [place]) for earlier in places[:number])


@given(st.lists(NAMES), st.lists(NAMES, min_size=1), NAMES)
def test_a_home_and_temporary_folders_are_new_unless_they_are_named(readable, writable, home):
    seen = Visible(tuple(readable), tuple(writable))
    found = {place: kind for kind, place in mounts(told(seen, {"HOME": home}))}
    for folder in (home, "/tmp"):
        is_named = is_inside(folder, [*readable, *writable])
        assert (found.get(folder) == "--tmpfs") is not is_named


@pytest.mark.parametrize(
    ("home", "becomes"),
    [
        ("/", "/tmp"),
        ("/usr/share/nobody", "/tmp"),
        ("relative", "/tmp"),
        ("/dev/null", "/tmp"),
        ("/proc/none", "/tmp"),
        ("/home/../dev/null", "/tmp"),
        ("/project/home", "/project/home"),
        ("/home/me", "/home/me"),
    ],
)
def test_a_home_is_a_folder_that_can_be_written(home, becomes):
    words = told(environment={"HOME": home})
    assert words[words.index("HOME") + 1] == becomes


def test_folders_for_temporary_files_are_named_only_when_they_are_there():
    words = told(environment={"TMPDIR": "/var/tmp/mine", "TEMP": "/project/t", "OTHER": "/var/tmp"})
    assert "TMPDIR" not in words
    assert words[words.index("TEMP") + 1] == "/project/t"
    assert words[words.index("OTHER") + 1] == "/var/tmp"
