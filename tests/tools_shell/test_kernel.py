"""The program inside the interpreter, in parts and on other Pythons, and the table that its sessions are in."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from glob import glob

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import ToolError
from tools_shell._code._reply import find_reply
from tools_shell._kernel import _frames, _values
from tools_shell._owner import Owner
from tools_shell._python import Python
from tools_shell._repl import Repl
from tools_shell._sessions import Sessions

# --------------------------------------------------------------------------------------------------------- frames

FIELDS = st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.binary(max_size=300)), max_size=5)


@given(FIELDS)
def test_fields_come_out_as_they_went_in(fields):
    assert _frames.unpack(_frames.pack(fields)[4:]) == fields


@given(st.binary(max_size=100), st.binary(max_size=100), st.text(max_size=50))
def test_a_reply_is_found_whatever_is_written_around_it_and_not_before_it_is_complete(before, after, value):
    nonce = os.urandom(16)
    reply = nonce + _frames.pack([(b"v", value.encode())])
    found = find_reply(before + reply + after, nonce)
    assert found is not None
    assert found.value == value
    assert all(find_reply(before + reply[:end], nonce) is None for end in range(len(reply)))


@given(st.binary(max_size=200))
def test_what_is_no_reply_is_refused_or_harmless(data):
    nonce = os.urandom(16)
    try:
        found = find_reply(nonce + len(data).to_bytes(4, "big") + data, nonce)
    except ValueError:
        return
    assert found is not None
    assert all(image.mime_type.startswith("image/") for image in found.images)


# --------------------------------------------------------------------------------------------------------- values

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
HASHABLE = st.recursive(LEAVES, lambda inner: st.tuples(inner) | st.frozensets(inner, max_size=3), max_leaves=5)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.tuples(inner)
        | st.sets(HASHABLE, max_size=3)
        | st.frozensets(HASHABLE, max_size=3)
        | st.dictionaries(HASHABLE, inner, max_size=3)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_a_value_that_is_not_too_long_is_shown_as_its_repr(value):
    assert _values.shown(value) == (repr(value), False)


def test_a_value_that_contains_itself_is_shown():
    value: list[object] = [1]
    value.append({"self": value})
    assert _values.shown(value) == (repr(value), False)


class Changed:
    def __init__(self):
        self.hash = 1

    def __hash__(self):
        return self.hash


def test_a_value_is_shown_whatever_its_keys_say_they_equal():
    key = Changed()
    value = {key: 1}
    key.hash = 2
    assert _values.shown(value) == (repr(value), False)


class Filling:
    def __init__(self, filled):
        self.filled = filled

    def __repr__(self):
        self.filled |= {str(len(self.filled)): 0} if type(self.filled) is dict else {len(self.filled)}
        return "filling"


def test_a_value_that_is_filled_while_it_is_shown_is_shown():
    value: dict[str, object] = {}
    value["a"] = Filling(value)
    assert _values.shown(value) == ("{'a': filling}", False)
    items: set[object] = set()
    items.add(Filling(items))
    assert _values.shown(items) == ("{filling}", False)


class Hostile:
    def __repr__(self):
        raise ValueError("no")


DEEP: list[object] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param("x" * 50_000_000, "[... 49984000 of 50000000 left out ...]", id="text"),
        pytest.param(bytes(50_000_000), "of 50000000 left out", id="bytes"),
        pytest.param(list(range(5_000_000)), "more]", id="list"),
        pytest.param(dict.fromkeys(range(1_000_000)), "more}", id="dict"),
        pytest.param(["x" * 1_000_000] * 1000, "... 999 more]", id="list of texts"),
        pytest.param(10**10_000, "<int of about 10001 digits: 0x", id="integer"),
        pytest.param(-(1 << 33_000_000), "<int of about 9933991 digits: -0x8", id="huge integer"),
        pytest.param([[[Hostile()] * 5] * 100] * 1000, "whose repr raised ValueError: no>", id="hostile"),
        pytest.param(type("Long", (), {"__repr__": lambda _: "y" * 1_000_000})(), "984000 characters", id="long repr"),
        pytest.param(DEEP, "[...]", id="deep"),
    ],
)
def test_a_long_value_is_cut_with_a_count_and_never_built_in_full(value, told):
    text, is_cut = _values.shown(value)
    assert is_cut
    assert told in text
    assert len(text) < 20_000


@pytest.mark.parametrize("length", [20, 21, 25, 39, 40, 41, 100])
def test_where_a_long_list_ends_no_text_is_shown_twice(length):
    for offset in range(2 * length):
        text, _ = _values.shown(["y" * offset, *["x" * length] * 1000])
        *whole, last, more = text.split(", ")
        assert {len(each) for each in whole[1:]} == {length + 2}
        assert last.count("x") <= length
        assert "[... -" not in last
        assert more.endswith(" more]")


# -------------------------------------------------------------------------------------------- other interpreters


def pythons(minors):
    """One interpreter of each of these versions that this machine has."""
    found = {}
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for minor in minors:
        name = f"3.{minor}"
        for path in (shutil.which(f"python{name}"), *sorted(glob(f"{root}/versions/{name}.*/bin/python"))):
            if path and name not in found and runs(path):
                found[name] = path
    return found


def runs(path):
    return subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0


SESSION = [
    (
        "from __future__ import annotations\nimport pickle\nclass Point: x = 3\ndef divide(x: int):\n    return 1 / x",
        None,
    ),
    ("type(pickle.loads(pickle.dumps(Point()))).x", "3"),
    ("divide.__annotations__", "{'x': 'int'}"),
    ("import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 5\nawait later()", "5"),
    ("await later()", "5"),
    ("import os, sys\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint(bool(pid))\n_", "5"),
    ("10 ** 10_000 > 5 and 'ä€'", "'ä€'"),
]


@pytest.mark.slow
@pytest.mark.parametrize("minor", range(8, 15))
def test_a_session_works_on_every_python_from_3_8_on(root, minor):
    ((version, path),) = pythons([minor]).items() or [("", "")]
    if not path:
        pytest.skip(f"this machine has no Python 3.{minor}")
    repl = Repl(root, interpreter=path, sandbox="contained")
    for code, value in SESSION:
        output = repl.call(code=code).output
        assert "error" not in output, output
        assert output["value"] == value
    assert output["stderr"] == ""
    error = repl.call(code="divide(0)").output["error"]
    assert (error["type"], error["message"]) == ("ZeroDivisionError", "division by zero")
    assert "    return 1 / x\n" in error["traceback"]
    assert repl.call(code="while True: pass", timeout=1).error_type == "timeout_error"
    assert repl.call(code="sys.version[:4].strip('.')").output["value"] == repr(version)
    repl.close()
    python = Python(root, interpreters={"it": path}, sandbox="contained")
    output = python.call(code="import atexit\natexit.register(print, 'end')\nprint('é')\n1/0").output
    assert (output["stdout"], output["exit_code"], output["stderr"]) == ("é\nend\n", 1, "")
    error = python.call(code="exec('\\n\\n1/0')").output["error"]
    assert error["traceback"].endswith('  File "<string>", line 3, in <module>\nZeroDivisionError: division by zero')


def test_an_interpreter_that_is_too_old_says_so(root):
    too_old = pythons(range(6, 8))
    if not too_old:
        pytest.skip("this machine has no Python that is too old")
    output = Python(root, interpreters=too_old, sandbox="contained").call(code="print(1)").output
    assert (output["exit_code"], output["stdout"]) == (1, "")
    assert output["stderr"].startswith("code needs Python 3.8 or later, and this is 3.")


def test_an_interpreter_that_is_none_is_told(root, tmp_path):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho sorry >&2\nexit 7\n")
    fake.chmod(0o755)
    result = Repl(root, interpreter=fake, sandbox="contained").call(code="1")
    assert result.error_type == "execution_error"
    assert "exit code 7" in result.error
    assert "sorry" in result.error


# ------------------------------------------------------------------------------------------------------- sessions


class Thing:
    """What a session is of here: it knows whether it was closed."""

    def __init__(self, name, why):
        self.name = name
        self.why = why
        self.is_closed = False

    def stop(self):
        pass

    def close(self):
        self.is_closed = True


def table(make=Thing, most=8, idle=1800):
    return Sessions(make, most=most, idle=idle)


OWNER = Owner(1, 2, "run")


def names(sessions):
    return [found.name for found in sessions.listed(OWNER)]


def use(sessions, name, wait=0, cancelled=lambda: False):
    return sessions.use(OWNER, name, time.monotonic() + wait, cancelled)


def test_a_session_is_made_once_and_given_again():
    sessions = table()
    with use(sessions, "a") as first, use(sessions, "b") as other:
        assert (first.name, other.name) == ("a", "b")
    with use(sessions, "a") as again:
        assert again is first
    assert names(sessions) == ["a", "b"]


def test_one_that_is_idle_for_too_long_is_closed_at_the_next_use_and_its_successor_is_told_why():
    sessions = table(idle=0)
    with use(sessions, "a") as old:
        assert names(sessions) == ["a"]
    with use(sessions, "b"):
        assert old.is_closed
        assert names(sessions) == ["b"]
    with use(sessions, "a") as new:
        assert "not used for 0 s" in new.why


def test_one_that_is_in_use_is_neither_closed_as_idle_nor_for_want_of_room():
    sessions = table(most=1, idle=0)
    with use(sessions, "a") as held:
        with pytest.raises(ToolError, match="1 sessions are in use") as refused:
            use(sessions, "b")
        assert refused.value.type == "limit_exceeded"
        assert not held.is_closed


def test_one_that_is_in_use_is_waited_for_or_refused():
    sessions = table()
    begun, done = threading.Event(), threading.Event()

    def hold():
        with use(sessions, "a"):
            begun.set()
            done.wait(60)

    with ThreadPoolExecutor(2) as pool:
        holder = pool.submit(hold)
        begun.wait(60)
        with pytest.raises(ToolError, match="busy"):
            use(sessions, "a", 0.05)
        with pytest.raises(ToolError, match="cancelled"):
            use(sessions, "a", 20, cancelled=lambda: True)
        with pytest.raises(ToolError, match="busy"):
            sessions.close(OWNER, "a")
        waiter = pool.submit(lambda: use(sessions, "a", 20))
        done.set()
        with waiter.result(20) as thing:
            assert thing.name == "a"
        holder.result(20)


def test_who_waited_for_a_session_that_is_closed_gets_a_new_one():
    sessions = table()
    used = use(sessions, "a")
    old = used.__enter__()
    with ThreadPoolExecutor(2) as pool:
        closer = pool.submit(sessions.close, OWNER, "a", 20)
        while "a" in names(sessions) and not closer.done():
            if not closer.running():
                continue
            used.__exit__()
            break
        assert closer.result(20)
    with use(sessions, "a") as new:
        assert old.is_closed
        assert new is not old


def test_a_session_that_cannot_be_made_leaves_nothing_behind():
    def fail(name, why):
        raise ToolError("no", "unavailable")

    sessions = table(fail)
    for _ in range(2):
        with pytest.raises(ToolError, match="no"):
            use(sessions, "a")
    assert names(sessions) == []


@pytest.mark.parametrize("ask", [Sessions.close_all, names, lambda sessions: sessions.close(OWNER, "a")])
def test_a_fork_of_the_owner_has_sessions_of_its_own_and_closes_none_of_its_parents(ask):
    sessions = table()
    with use(sessions, "a") as mine:
        pass
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        found = ask(sessions)
        with use(sessions, "a") as own:
            os.write(writer, b"own" if own is not mine and not (found or mine.is_closed) else b"shared")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 10) == b"own"
    os.close(reader)
    os.close(writer)
