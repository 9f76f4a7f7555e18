"""Outputs that were too long for the model, kept to be read in parts."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from typing import IO

_SPILL = 262_144  # bytes from which on an output is kept in a file


class Store:
    """Outputs by handle; the oldest go when there are too many, or they take too much."""

    def __init__(self, outputs: int, max_bytes: int) -> None:
        self._outputs = outputs
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, _Output] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._kept)

    def keep(self, data: bytes) -> str | None:
        """Keep an output, and return its handle; None where there is no room for it."""
        if len(data) > self._max_bytes:
            return None
        try:
            output = _Output(data)
        except OSError:  # the disk is full
            return None
        handle = os.urandom(12).hex()
        with self._lock:
            self._kept[handle] = output
            self._size += output.size
            while len(self._kept) > self._outputs or self._size > self._max_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
                oldest.close()
        return handle

    def read(self, handle: str, offset: int, limit: int) -> tuple[bytes, int] | None:
        """A part of an output, and the size of the whole; None for an unknown handle."""
        with self._lock:
            output = self._kept.get(handle)
            return None if output is None else (output.read(min(offset, output.size), limit), output.size)

    def clear(self) -> None:
        """Let go of all outputs."""
        with self._lock:
            _close_all(self._kept)
            self._size = 0


class _Output:
    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = b""
        self._file: IO[bytes] | None = None
        if self.size < _SPILL:
            self._data = data
            return
        import tempfile  # 10 ms, for outputs that are very long

        file = tempfile.TemporaryFile()  # noqa: SIM115  (it has no name, and is gone once it is closed)
        try:
            file.write(data)
            file.flush()
        except OSError:
            file.close()
            raise
        self._file = file

    def read(self, offset: int, limit: int) -> bytes:
        if self._file is None:
            return self._data[offset : offset + limit]
        return os.pread(self._file.fileno(), limit, offset)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _close_all(kept: OrderedDict[str, _Output]) -> None:
    while kept:
        kept.popitem()[1].close()
