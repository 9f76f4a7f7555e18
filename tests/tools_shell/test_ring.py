"""A ring keeps the last bytes of a stream under the positions that they had in it."""

from __future__ import annotations

import os
import resource
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
    free = _lowest_free()
    ring = Ring(spill=True)
    ring.add(b"x")
    assert _lowest_free() != free
    del ring
    assert _lowest_free() == free


def _lowest_free():
    """The number of the next descriptor."""
    descriptor = os.dup(0)
    os.close(descriptor)
    return descriptor


def test_on_a_full_disk_it_goes_on_in_memory_says_what_is_gone_and_leaves_the_disk_to_others():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    free = _lowest_free()
    ring = Ring(8, spill=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))  # Python ignores the signal, so that writing fails
    try:
        ring.add(b"0123456789")
        assert ring.start == 0
        ring.add(b"abcdefghijklmnopqrstuvwxyz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert _lowest_free() == free
    assert ring.start == 36 - 8
    assert ring.read(ring.start, 100) == b"stuvwxyz"
    ring.add(b"more")
    assert ring.read(ring.start, 100) == b"wxyzmore"


def test_where_no_file_can_be_made_it_goes_on_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    ring = Ring(8, spill=True)
    ring.add(b"0123456789")
    assert (ring.start, ring.read(2, 100)) == (2, b"23456789")


def test_who_reads_from_a_file_that_somebody_has_cut_off_is_told_and_sees_then_what_is_left():
    free = _lowest_free()
    ring = Ring(8, spill=True)
    ring.add(b"0123456789")
    os.ftruncate(free, 0)  # as any process of the user may do by way of /proc
    with pytest.raises(OSError, match="cut off"):
        ring.read(0, 4)
    assert ring.start == 10 - 8
    assert ring.read(ring.start, 100) == b"23456789"
