"""Output is bounded, and decoded without losing a byte."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_shell._jobs._ring import Ring
from tools_shell._output._head_tail import KEEP, HeadTail
from tools_shell._output._text import decoded


def restored(text):
    return re.sub(rb"\\x(..)", lambda found: bytes.fromhex(found[1].decode()), text.encode())


@given(st.binary(max_size=200))
def test_every_sequence_of_bytes_can_be_restored(data):
    text, is_utf8 = decoded(data)
    assert (text.encode() if is_utf8 else restored(text)) == data


@given(
    sizes=st.lists(st.integers(1, 3 * KEEP), max_size=5),
    character=st.sampled_from(["x", "é", "€", "😀"]),
)
def test_head_and_tail_are_whole_characters_and_what_is_between_is_counted(sizes, character):
    data = character.encode() * (sum(sizes) // len(character.encode()))
    kept = HeadTail()
    at = 0
    for size in sizes:
        kept.add(data[at : at + size])
        at += size
    text, omitted, is_utf8 = kept.text()
    assert is_utf8
    if len(data) <= 2 * KEEP:
        assert (text, omitted) == (data.decode(), 0)
    else:
        head, middle, tail = text.split("\n")
        assert middle == f"[... {omitted:,} bytes omitted ...]"
        assert set(head + tail) == {character}
        assert omitted == len(data) - len((head + tail).encode())


def test_many_small_chunks_take_no_more_memory_than_what_is_kept():
    tracemalloc.start()
    try:
        kept = HeadTail()
        for _ in range(100_000):
            kept.add(b"ab")
        assert tracemalloc.get_traced_memory()[1] < 6 * KEEP
    finally:
        tracemalloc.stop()


@given(
    chunks=st.lists(st.binary(max_size=40), max_size=20),
    size=st.integers(1, 50),
    reads=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), max_size=5),
)
def test_a_ring_holds_the_last_bytes_at_their_positions(chunks, size, reads):
    ring, whole = Ring(size), b"".join(chunks)
    for chunk in chunks:
        ring.add(chunk)
    assert (ring.start, ring.end) == (max(0, len(whole) - size), len(whole))
    for position, limit in reads:
        begin = max(position, ring.start)
        assert ring.read(position, limit) == whole[begin : begin + limit]


@pytest.mark.parametrize("size", [10, 100])
def test_the_memory_of_a_ring_grows_with_what_is_written(size):
    ring = Ring(1 << 20)
    ring.add(b"x" * size)
    assert len(ring._memory) == size
