"""The one thread that follows all background jobs of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import Context
from tools_shell import JobInput, JobOutput, JobStart
from tools_shell._background._follow import Follower
from tools_shell._background._merged import Merged
from tools_shell._background._order import Order
from tools_shell._secrets import Redactor

NAME = "tools-shell jobs"


class Pipe:
    """Follows a pipe until its end of file; raises instead when it is told to."""

    def __init__(self, fails=False):
        self.ours, self.theirs = os.pipe()
        self.fails = fails
        self.seen = b""
        self.error = None
        self.is_over = threading.Event()

    def begin(self, poll):
        poll.register(self.ours)
        self.poll = poll

    def descriptors(self):
        return () if self.is_over.is_set() else (self.ours,)

    def handle(self, descriptor, events):
        if self.fails:
            raise OSError("broken")
        chunk = os.read(descriptor, 100)
        self.seen += chunk
        if not chunk:
            self.finish()

    def advance(self):
        return None if self.is_over.is_set() else float("inf")

    def kill(self):
        if not self.is_over.is_set():
            self.finish()

    def fail(self, error):
        self.error = error
        self.finish()

    def finish(self):
        self.poll.unregister(self.ours)
        os.close(self.ours)
        self.is_over.set()


@pytest.fixture
def follower():
    made = Follower()
    yield made
    made.end_all()
    for descriptor in (made._woken, made._wakes):
        os.close(descriptor)


def _thread():
    return next((thread for thread in threading.enumerate() if thread.name == NAME), None)


def test_the_thread_begins_with_the_first_and_ends_with_the_last(follower):
    assert _thread() is None
    first, second = Pipe(), Pipe()
    follower.follow(first)
    thread = _thread()
    follower.follow(second)
    assert _thread() is thread
    os.close(first.theirs)
    assert first.is_over.wait(30)
    os.write(second.theirs, b"more")
    os.close(second.theirs)
    thread.join(30)
    assert not thread.is_alive()
    assert second.seen == b"more"
    third = Pipe()
    follower.follow(third)
    os.close(third.theirs)
    assert third.is_over.wait(30)


def test_one_that_fails_does_not_hold_up_the_others(follower):
    good, bad = Pipe(), Pipe(fails=True)
    follower.follow(bad)
    follower.follow(good)
    os.write(bad.theirs, b"x")
    assert bad.is_over.wait(30)
    assert str(bad.error) == "broken"
    os.close(good.theirs)
    assert good.is_over.wait(30)
    os.close(bad.theirs)


def test_at_the_end_all_of_them_are_killed(follower):
    pipes = [Pipe() for _ in range(10)]
    for pipe in pipes:
        follower.follow(pipe)
    follower.end_all()
    assert all(pipe.is_over.is_set() for pipe in pipes)
    assert _thread() is None
    for pipe in pipes:
        os.close(pipe.theirs)


FORKED = """
import os, sys
from tools_core import Context
from tools_shell import JobInput, JobList, JobOutput, JobStart, JobStop
context = Context(workspace=sys.argv[1])
def ok(result):
    assert result.ok, result.error
    return result.output
def ended(id):
    return ok(JobOutput().call({"id": id, "until_end": True, "wait": 60}, context))["output"]
start = JobStart(sandbox=sys.argv[2])
first = ok(start.call({"command": "cat; echo the parent has it", "stdin": True}, context))["id"]
go, went = os.pipe()
pid = os.fork()
if pid == 0:
    assert ok(JobList().call({}, context)) == []
    assert JobOutput().call({"id": first}, context).error_type == "not_found"
    id = ok(start.call({"command": "echo of the child"}, context))["id"]
    assert ended(id) == "of the child\\n"
    os.close(went)
    os.read(go, 1)  # stays until the parent has ended its job's input
    os._exit(0)
os.close(go)
ok(JobInput().call({"id": first, "text": "hello\\n", "end": True}, context))
assert ended(first) == "hello\\nthe parent has it\\n"
os.close(went)
assert os.waitpid(pid, 0)[1] == 0
print("done")
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_no_jobs_can_start_its_own_and_does_not_keep_those_of_its_parent_open(root, level):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, root, level]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_order_of_two_streams_is_known_as_far_back_as_it_is_remembered():
    order = Order("out", "err")
    for position in range(300_000):
        order.add("out" if position % 2 == 0 else "err", position)
    known = order.known_from
    assert 0 < known < 300_000 - (1 << 16)
    data = bytes(position % 2 for position in range(known, 300_000))
    for name, byte in (("out", 0), ("err", 1)):
        found, end = order.select(name, known, data, len(data))
        assert (set(found), end) == ({byte}, 300_000)
    assert order.select("err", known, data, 1)[0] == b"\1"


@given(
    st.lists(
        st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=9) | st.text(max_size=4)), max_size=30
    ),
    st.integers(1, 12),
)
def test_whatever_comes_each_stream_is_whole_and_both_are_a_merger_of_them(chunks, limit):
    merged = Merged(Redactor(), keep_all=False)
    written = {"stdout": b"", "stderr": b""}
    for name, chunk in chunks:
        data = chunk.encode() if isinstance(chunk, str) else chunk
        written[name] += data
        merged.add(name, data)
    merged.finish()
    read = {stream: _all(merged, stream, limit) for stream in ("both", "stdout", "stderr")}
    assert (read["stdout"], read["stderr"]) == (written["stdout"], written["stderr"])
    assert sorted(read["both"]) == sorted(written["stdout"] + written["stderr"])


def _all(merged, stream, limit):
    position, parts = 0, []
    while position < merged.end(stream):
        part, position = merged.take(position, limit, stream)
        assert len(part) <= limit
        parts.append(part)
    return b"".join(parts)


def test_a_job_starts_and_ends_the_thread(root):
    context = Context(workspace=root)
    id = JobStart(sandbox="none").call({"command": "cat", "stdin": True}, context).output["id"]
    thread = _thread()
    JobInput().call({"id": id, "end": True}, context)
    assert JobOutput().call({"id": id, "until_end": True}, context).output["exit_code"] == 0
    thread.join(30)
    assert not thread.is_alive()
