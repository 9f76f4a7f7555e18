"""A ring keeps the last bytes of a stream under the positions that they had in it."""

from __future__ import annotations

import os
import resource
import threading
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_shell._background._ring import Ring


@given(
    chunks=st.lists(st.binary(max_size=40), max_size=20),
    size=st.integers(1, 30),
    spill_size=st.one_of(st.none(), st.integers(1, 60)),
    reads=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 100)), max_size=8),
)
def test_it_holds_the_last_bytes_and_nothing_else(chunks, size, spill_size, reads):
    ring = Ring(size) if spill_size is None else Ring(size, spill=True, spill_size=spill_size)
    for number, chunk in enumerate(chunks):
        ring.add(chunk)
        written = b"".join(chunks[: number + 1])
        assert ring.end == len(written)
        assert ring.start == max(0, len(written) - max(size, spill_size or 0))
        for position, limit in [*reads, (ring.start, len(written))]:
            expected = written[position : position + limit] if position >= ring.start else b""
            assert ring.read(position, limit) == expected


def test_a_reader_that_comes_late_sees_by_the_start_how_much_it_has_missed():
    ring = Ring(10)
    ring.add(b"0123456789abc")
    assert ring.read(0, 100) == b""
    assert ring.start - 0 == 3
    assert ring.read(ring.start, 100) == b"3456789abc"


def test_memory_is_bounded_by_the_size_and_grows_with_what_is_written():
    tracemalloc.start()
    try:
        ring = Ring(1 << 20)
        empty = tracemalloc.get_traced_memory()[0]
        assert empty < 10_000
        chunk = bytes(1 << 16)
        for _ in range(200):
            ring.add(chunk)
        assert tracemalloc.get_traced_memory()[0] < 1.3 * (1 << 20)
    finally:
        tracemalloc.stop()


def test_with_a_file_everything_stays_readable_and_the_file_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    ring = Ring(100, spill=True)
    ring.add(b"first")
    for number in range(1000):
        ring.add(b"%05d" % number)
    assert list(tmp_path.iterdir()) == []
    assert ring.start == 0
    assert ring.read(0, 10) == b"first00000"
    assert ring.read(4000, 5) == b"00799"


def test_the_file_is_closed_with_the_ring():
    free = os.dup(0)
    os.close(free)
    ring = Ring(spill=True)
    ring.add(b"x")
    del ring
    descriptor = os.dup(0)
    os.close(descriptor)
    assert descriptor == free


def test_on_a_full_disk_it_goes_on_in_memory_and_says_what_is_gone():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ring = Ring(8, spill=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))  # Python ignores the signal, so that writing fails
    try:
        ring.add(b"0123456789")
        assert ring.start == 0
        ring.add(b"abcdefghijklmnopqrstuvwxyz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ring.start == 36 - 8
    assert ring.read(ring.start, 100) == b"stuvwxyz"
    ring.add(b"more")
    assert ring.read(ring.start, 100) == b"wxyzmore"


@pytest.mark.parametrize("spill", [False, True])
def test_many_readers_follow_one_writer_and_see_no_byte_twice_or_wrong(spill):
    ring = Ring(4096, spill=spill, spill_size=1 << 14)
    done = threading.Event()
    problems = []

    def follow():
        cursor = 0
        while not (done.is_set() and cursor == ring.end):
            cursor = max(cursor, ring.start)
            data = ring.read(cursor, 1000)
            # The byte at a position says the position.
            if data != bytes((cursor + n) % 251 for n in range(len(data))):
                problems.append(cursor)
                return
            cursor += len(data)

    readers = [threading.Thread(target=follow) for _ in range(4)]
    for reader in readers:
        reader.start()
    for at in range(0, 300_000, 777):
        ring.add(bytes((at + n) % 251 for n in range(777)))
    done.set()
    for reader in readers:
        reader.join(30)
    assert not problems
    assert not any(reader.is_alive() for reader in readers)
