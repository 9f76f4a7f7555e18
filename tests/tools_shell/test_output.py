"""Of a stream the head and the tail are kept, every byte is counted, and what is no text can be had back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_shell._output import KEEP, Kept


def restored(text):
    """What was written, from what is shown of bytes that are no UTF-8."""
    parts = re.split(r"\\x([0-9a-f]{2})", text)
    return b"".join(bytes.fromhex(part) if n % 2 else part.encode() for n, part in enumerate(parts))


def shown(*chunks):
    kept = Kept()
    for chunk in chunks:
        kept.add(chunk)
    return kept.text()


@given(st.binary(max_size=200) | st.from_regex(rb"([\\x0-9a-f\xe9\xc3\n])*", fullmatch=True))
def test_every_sequence_of_bytes_can_be_had_back(data):
    text, left_out, is_utf8 = shown(data)
    assert left_out == 0
    assert (text.encode() if is_utf8 else restored(text)) == data


def test_bytes_that_are_no_utf8_are_shown_and_flagged_and_text_stays_as_it_is():
    assert shown(b"caf\xe9 \\x41 C:\\dir") == ("caf\\xe9 \\x5cx41 C:\\dir", 0, False)
    assert shown("café \\x41".encode()) == ("café \\x41", 0, True)


@given(
    sizes=st.lists(st.integers(1, 3 * KEEP), max_size=6),
    pieces=st.integers(1, 5),
    character=st.sampled_from(["a", "é", "€", "𝄞", "\xff"]),
)
def test_head_and_tail_are_whole_characters_and_what_is_between_is_counted(sizes, pieces, character):
    stream = (character.encode("latin-1") if character == "\xff" else character.encode()) * (sum(sizes) // 2)
    step = max(1, len(stream) // pieces)
    text, left_out, is_utf8 = shown(*(stream[at : at + step] for at in range(0, len(stream), step)))
    if len(stream) <= 2 * KEEP:
        assert left_out == 0
        assert (text.encode() if is_utf8 else restored(text)) == stream
        return
    head, middle, tail = text.split("\n")
    assert middle == f"[... {left_out} bytes left out ...]"
    assert is_utf8 is (character != "\xff")
    head, tail = (head.encode(), tail.encode()) if is_utf8 else (restored(head), restored(tail))
    assert left_out == len(stream) - len(head) - len(tail)
    assert stream.startswith(head)
    assert stream.endswith(tail)
    assert min(len(head), len(tail)) > KEEP - 4


@pytest.mark.parametrize("size", [1, 2, 100, 4096, KEEP, 1 << 20])
def test_how_it_comes_in_makes_no_difference(size):
    stream = b"".join(b"%07d\n" % n for n in range(40_000))
    assert shown(*(stream[at : at + size] for at in range(0, len(stream), size))) == shown(stream)


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 100, 1000])
def test_many_small_pieces_take_no_more_memory_than_what_is_kept(size):
    tracemalloc.start()
    try:
        kept = Kept()
        for number in range(20 * KEEP // size):
            kept.add(b"%d" % (number % 10) * size)
        assert tracemalloc.get_traced_memory()[0] < 5 * KEEP
    finally:
        tracemalloc.stop()


FLOOD = """
import os, resource, sys
from tools_shell._output import Kept
kept = Kept()
def take(count):
    while count > 0:
        chunk = os.read(0, 1 << 16)
        kept.add(chunk)
        count -= len(chunk)
take(1 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
while chunk := os.read(0, 1 << 16):
    kept.add(chunk)
text, left_out, _ = kept.text()
print(kept.size, left_out, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def flood(gigabytes):
    """Pipe so much through a process that keeps it; what it says of it."""
    child = subprocess.Popen([sys.executable, "-c", FLOOD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    block = memoryview(b"0123456789abcde\n" * 65536)

    def write():
        for _ in range(int(gigabytes * 1024)):
            rest = block
            while rest:
                rest = rest[os.write(child.stdin.fileno(), rest) :]
        child.stdin.close()

    writer = threading.Thread(target=write)
    writer.start()
    with child:
        size, left_out, added = map(int, child.stdout.read().split())
        writer.join()
    assert size == int(gigabytes * 1024) << 20
    assert left_out == size - 2 * KEEP
    return added


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in KiB")
@pytest.mark.parametrize("gigabytes", [0.2, pytest.param(10, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_what_is_written(gigabytes):
    assert flood(gigabytes) < 2048
