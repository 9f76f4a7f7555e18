"""Reading on in a large file counts no line twice, and never trusts what was counted before a change."""

from __future__ import annotations

import mmap
import os
import re
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Context, ToolError
from tools_filesystem import Ledger, ReadFile, ReadFiles, Workspace
from tools_filesystem._ledger import Stamp
from tools_filesystem._line_index import SPACING, LineIndex, Mark

MEGABYTE = 1 << 20
counted = re.compile(r"(\d+) lines are counted, in the first (\d+) of (\d+) bytes")


def follow(read, arguments):
    """The results of a call and of all that its hints lead to."""
    while arguments:
        result = read.call(arguments)
        assert result.ok, result
        yield result
        arguments = result.metadata.get("next")


def bytes_read():
    """How much this process has read by now."""
    try:
        with open("/proc/self/io") as file:
            return int(file.readline().split()[1])
    except FileNotFoundError:
        pytest.skip("this system does not tell how much a process reads")


def make(file, content):
    """Write a file that is old enough for its times to tell every change from now on."""
    file.write_bytes(content)
    settle(file)


def settle(file):
    while not Stamp.of(file.stat()).is_settled():
        pass


def numbered(line, width):
    """A line that tells its number."""
    return f"{line:0{width - 1}}\n".encode()


@pytest.mark.parametrize(
    ("content", "times"),
    [(b"".join(numbered(line, 800) for line in range(20_000)), 4), (b"x" * 16_000_000, 5)],
    ids=["lines", "one line"],
)
def test_following_the_hints_reads_a_file_a_few_times_and_not_once_for_each_window(root, content, times):
    make(root / "big", content)
    before = bytes_read()
    shown = sum(len(str(result)) for result in follow(ReadFile(root), {"path": "big", "column": 1}))
    assert shown > len(content)
    assert bytes_read() - before < times * len(content)  # from the beginning each time, it were 80 times


def test_a_call_that_has_not_the_time_says_how_far_it_came_and_the_next_one_goes_on_from_there(root):
    lines = 40_000
    make(root / "big", b"".join(numbered(line, 100) for line in range(1, lines + 1)))
    read, wanted = ReadFile(root), {"path": "big", "offset": lines}
    so_far = []
    for _ in range(100):
        try:
            result = read.execute(**wanted, context=Context(timeout=1e-9))
            break
        except ToolError as error:
            assert error.type == "limit_exceeded"
            assert "The same call goes on from there" in error.message
            newlines, position, size = map(int, counted.search(error.message).groups())
            assert (newlines, size) == (position // 100, lines * 100)
            so_far.append(position)
    assert result.output == numbered(lines, 100).decode()
    assert len(so_far) > 5
    assert sorted(set(so_far)) == so_far


def test_a_call_that_nobody_waits_for_leaves_what_it_has_counted(root):
    lines = 20_000
    make(root / "big", b"".join(numbered(line, 100) for line in range(1, lines + 1)))
    read = ReadFile(root)
    for _ in range(30):
        context = Context()
        context.cancel()
        try:
            result = read.execute("big", lines, context=context)
            break
        except ToolError as error:
            assert error.type == "cancelled"
    assert result.output == numbered(lines, 100).decode()


def test_a_column_that_is_not_reached_in_time_is_told_and_reached_later(root):
    make(root / "big", b"x" * 3_000_000 + b"\nend")
    read = ReadFile(root)
    messages = []
    for _ in range(100):
        try:
            result = read.execute("big", 1, column=2_999_999, context=Context(timeout=1e-9))
            break
        except ToolError as error:
            messages.append(error.message)
    assert "ended before byte 2999999 of line 1; 0 lines are counted" in messages[-1]
    assert result.output == "xx\nend"


def test_a_tail_that_is_not_found_in_time_says_what_may_do(root):
    (root / "big").write_bytes(b"\n" * 10 + b"x" * 3_000_000 + b"\nend")
    read, late = ReadFile(root), Context(timeout=1e-9)
    with pytest.raises(ToolError, match="before the last 5 lines were found; a smaller tail or a longer time limit"):
        read.execute("big", tail=5, context=late)
    with pytest.raises(ToolError, match=r"before the last lines; 10 lines are counted.*line_numbers=false counts"):
        read.execute("big", tail=1, line_numbers=True, context=late)
    assert read.execute("big", tail=1, context=late).output == "end"


def test_several_files_are_shown_as_far_as_the_time_of_the_call_permits(root):
    for name in "abc":
        (root / name).write_bytes(b"x" * 3_000_000 + b"\nend")
    late = Context(timeout=1e-9)
    result = ReadFiles(root).execute(["a", "b", "c"], context=late)
    assert result.ok
    assert result.output.count("[... more of this line: offset=1 column=2001 limit=1]") == 3


calls = st.lists(
    st.one_of(
        st.fixed_dictionaries({"offset": st.integers(1, 30_000), "limit": st.integers(1, 50)}),
        st.fixed_dictionaries(
            {"offset": st.integers(1, 30_000), "column": st.integers(1, 150_000), "limit": st.integers(1, 5)}
        ),
        st.fixed_dictionaries({"tail": st.integers(1, 20_000), "line_numbers": st.just(True)}),
    ),
    max_size=8,
)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(calls=calls)
def test_what_was_read_before_changes_no_answer(root, encoding, calls):
    if not (root / "file").exists():
        lines = [f"{line} " + "\u0a0a€" * (line % 70) + "x" * (line % 997 == 5) * 90_000 for line in range(25_000)]
        make(root / "file", "\r\n".join(lines).encode(encoding))
    one = ReadFile(Workspace(root))
    for call in calls:
        assert one.call(path="file", **call) == ReadFile(Workspace(root)).call(path="file", **call)


def test_after_a_change_lines_are_counted_anew(root):
    file, read = root / "file", ReadFile(root)

    def line(number):
        return read.call(path="file", offset=number, limit=1, line_numbers=True).output.splitlines()[0]

    make(file, b"".join(numbered(number, 100) for number in range(1, 40_001)))
    for _ in range(2):
        assert int(line(30_000).split("\t")[1]) == 30_000
    before = file.stat()
    file.write_bytes(b"".join(numbered(number, 50) for number in range(1, 80_001)))  # of the same size
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert int(line(30_000).split("\t")[1]) == 30_000
    assert int(line(60_000).split("\t")[1]) == 60_000
    with file.open("ab") as more:
        more.write(b"appended\n")
    assert line(80_001) == "80001\tappended"
    (root / "new").write_bytes(b"".join(numbered(number, 200) for number in range(1, 20_001)))
    (root / "new").replace(file)
    assert int(line(15_000).split("\t")[1]) == 15_000


def test_a_change_that_no_time_tells_is_seen_by_the_bytes_in_front_of_a_mark(root):
    file, read = root / "file", ReadFile(root)
    size = 4_000_000

    def line(number):
        return int(read.call(path="file", offset=number, limit=1).output.split("\n")[0])

    make(file, b"".join(numbered(number, 100) for number in range(1, size // 100 + 1)))
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), size) as mapped:
        mapped[:] = mapped[:]  # from here on its pages may be written to, and nobody notes the time
        settle(file)
        assert [line(30_000), line(30_001)] == [30_000, 30_001]
        mapped[:] = b"".join(numbered(number, 50) for number in range(1, size // 50 + 1))
        assert [line(30_000), line(30_001), line(70_000)] == [30_000, 30_001, 70_000]


def test_the_file_changed_while_it_was_read_is_said_and_it_does_not_count_as_read(root):
    file = root / "log"
    file.write_bytes(numbered(1, 100) * 30_000)
    is_done = threading.Event()

    def append():
        with file.open("ab", buffering=0) as log:
            while not is_done.is_set():
                log.write(numbered(2, 100))

    writer = threading.Thread(target=append)
    writer.start()
    told = 0
    try:
        for _ in range(3000):
            ledger = Ledger()
            result = ReadFile(Workspace(root, ledger=ledger)).call(path="log", offset=29_990, limit=5)
            lines = result.output.splitlines()
            assert [int(line) for line in lines[:5]] == [1] * 5
            if "changed_meanwhile" in result.metadata:
                told += 1
                assert "the file was changed while it was read" in lines[5]
                assert "version" not in result.metadata
                assert ledger.last_seen(Stamp.of(file.stat())) is None
                if told == 5:
                    return
    finally:
        is_done.set()
        writer.join()
    pytest.fail("no change was noticed")


def test_a_file_that_shrinks_grows_and_is_replaced_while_it_is_read_never_fails_a_call(root):
    file, is_done = root / "log", threading.Event()
    file.write_bytes(numbered(7, 100) * 30_000)

    def change():
        while not is_done.is_set():
            os.truncate(file, 0)
            file.write_bytes(numbered(7, 100) * 30_000)
            (root / "new").write_bytes(numbered(7, 100) * 20_000)
            (root / "new").replace(file)

    writer = threading.Thread(target=change)
    writer.start()
    read = ReadFile(root)
    try:
        for number in range(300):
            wanted = {"tail": 3} if number % 3 == 0 else {"offset": 19_000 - number, "limit": 3}
            result = read.call(path="log", **wanted)
            assert result.ok, result
            whole = [line for line in result.output.splitlines() if len(line) == 99 and line.isdigit()]
            assert all(int(line) == 7 for line in whole)
    finally:
        is_done.set()
        writer.join()


@pytest.mark.slow
def test_many_threads_that_read_on_in_one_file_get_its_lines(root):
    lines = 8000
    make(root / "big", b"".join(numbered(line, 300) for line in range(1, lines + 1)))
    read = ReadFile(root)

    def whole(start):
        texts = [str(result) for result in follow(read, {"path": "big", "offset": start, "limit": 100})]
        return [int(line) for text in texts for line in text.splitlines() if line[0] != "["]

    with ThreadPoolExecutor(8) as pool:
        starts = range(1, 2000, 250)
        assert list(pool.map(whole, starts)) == [list(range(start, lines + 1)) for start in starts]


def stamp(inode):
    return Stamp(1, inode, 1 << 50, 0, 0)


def mark(position):
    return Mark(position, position // 100, b"0123456789abcdef")


@given(
    positions=st.lists(st.integers(1, 1 << 45), min_size=1, max_size=60),
    stops=st.lists(st.integers(1, 1 << 45), max_size=60),
    wanted=st.integers(0, 1 << 45),
)
def test_a_mark_is_one_that_was_made_and_as_near_as_they_are_apart(positions, stops, wanted):
    index = LineIndex()
    for position in positions:
        index.add(stamp(1), mark(position), is_stop=False)
    for position in stops:
        index.add(stamp(1), mark(position), is_stop=True)
    assert index.last(stamp(2), lambda _: True) is None
    assert index.last(stamp(1)._replace(ctime_ns=1), lambda _: True) is None
    found = index.last(stamp(1), lambda mark: mark.position <= wanted)
    before = [position for position in positions if position <= wanted]
    assert found is None or (found.position <= wanted and found.position in positions + stops)
    if before:
        assert found is None or found.position > max(before) - SPACING
        assert found is not None or max(before) - min(positions) < SPACING or max(before) < SPACING
    for position in stops:
        assert index.last(stamp(1), lambda mark, most=position: mark.position <= most) == mark(position)


@pytest.mark.slow
def test_an_index_stays_small_whatever_is_read(root):
    tracemalloc.start()
    try:
        index = LineIndex()
        for inode in range(40):
            for step in range(1200):
                index.add(stamp(inode), mark((step + 1) * SPACING), is_stop=True)
        assert tracemalloc.get_traced_memory()[0] < 4 * MEGABYTE
    finally:
        tracemalloc.stop()
    assert index.last(stamp(0), lambda _: True) is None  # of the files, too, only the last ones are kept
    far = 1199 * SPACING
    for wanted in range(SPACING, far, far // 50):  # a larger file has fewer marks, and they are evenly apart
        found = index.last(stamp(39), lambda mark, most=wanted: mark.position <= most)
        assert wanted - (found.position if found else 0) <= 8 * SPACING
