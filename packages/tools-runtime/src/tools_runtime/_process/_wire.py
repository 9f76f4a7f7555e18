"""What goes between host and worker: frames."""

from __future__ import annotations

from struct import Struct

HELLO = Struct("<I")  # a worker's process number, the first that it says; with what tells its end, where there is that
# To a worker: kind, number of the call, bytes of arguments, bytes of context, number of the tool, seconds left or -1.
REQUEST = Struct("<BQQIId")
TEXT, OBJECT, LOAD, CANCEL = 1, 2, 3, 4
CALL_KINDS = (TEXT, OBJECT)
# From a worker: kind, whether it should be replaced, number of the call, bytes that follow.
REPLY = Struct("<B?QQ")
OUTPUT, RESULT, PROGRESS = 1, 2, 3

CHUNK = 1 << 16


def request_size(read: bytes | bytearray) -> int:
    """How long the request is that begins there; its head is there as a whole."""
    _, _, size, extra, _, _ = REQUEST.unpack_from(read)
    total: int = REQUEST.size + size + extra
    return total
