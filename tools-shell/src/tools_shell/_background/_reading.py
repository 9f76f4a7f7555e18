"""A part of what a background job has written, as text without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools_shell._text import decoded, split_at_end, split_at_start

if TYPE_CHECKING:
    from tools_shell._background._job import Job
    from tools_shell._background._merged import Merged, Stream


class Part(NamedTuple):
    """What was written from `cursor` to `next_cursor`; `skipped` counts the bytes before it that are not kept."""

    text: str
    cursor: int
    next_cursor: int
    skipped: int
    is_utf8: bool
    has_more: bool


def start_of(job: Job, cursor: int, stream: Stream) -> int:
    """The position that a cursor means: a negative one counts from the end, and none is after that."""
    with job.changed:
        output = job.output
        return min(cursor, output.end("both")) if cursor >= 0 else output.back(-cursor, stream)


def read(job: Job, cursor: int, limit: int, stream: Stream) -> Part:
    """The part of so many bytes at most that begins at a cursor, or at the first byte after it that is still kept.

    What may be the beginning of a character or of a secret is left for the next part, as long as more may come.
    """
    with job.changed:
        output, ended = job.output, job.ended is not None
        start = _begin(output, cursor, stream)
        before, begins = output.before(start, stream)
        data, stop = output.take(start, limit, stream)
        if output.end(stream) > stop:
            data, stop = output.take(start, len(data) - split_at_end(data), stream)
        after = output.take(stop, output.redactor.longest, stream)[0]
        held = 0 if ended else max(output.redactor.begun(before + data + after) - len(after), 0)
        if held:
            whole = data + after
            data, stop = output.take(start, max(len(data) - held, 0), stream)
            after = whole[len(data) :]
        has_more = not held and output.end(stream) > stop
    text, is_utf8 = decoded(output.redactor.clean(data, before, after, begins=begins, ends=ended))
    return Part(text, start, stop, max(start - cursor, 0), is_utf8, has_more)


def _begin(output: Merged, cursor: int, stream: Stream) -> int:
    """The first position that can be read, and not inside a character."""
    start = max(cursor, output.start(stream))
    if start == cursor and not split_at_end(output.before(start, stream)[0]):
        return start
    return output.take(start, split_at_start(output.take(start, 3, stream)[0]), stream)[1]
