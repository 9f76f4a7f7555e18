"""`Request`: the message from the host to the supervisor of a job."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple


class Descriptors(NamedTuple):
    """The descriptors that are sent with a request, in this order."""

    command: list[int]  # one for each of `numbers`
    network: list[int]  # a user namespace and its network namespace, or none
    folder: int  # to start in


class Request(NamedTuple):
    """A command to start in its sandbox.

    `host` is the process that waits for it, `numbers` are the descriptors of the command. `confine` describes the
    rights to drop before exec; `wrappers` is the number of processes before the command.
    """

    arguments: list[str]
    environment: dict[str, str]
    numbers: list[int]
    resources: dict[str, Any]
    terminal: bool = False  # the first program gets the controlling terminal
    confine: dict[str, Any] | None = None
    wrappers: int = 0
    host: int = 0

    def encode(self) -> bytes:
        """Return the request as a message; JSON escapes surrogates, for undecodable bytes."""
        data = json.dumps(self._replace(host=os.getpid())).encode()
        return len(data).to_bytes(4, "big") + data

    @classmethod
    def for_network(cls) -> Request:
        """Return a request without a command, to create a network."""
        return cls([], {}, [], {})

    @classmethod
    def read(cls, control: int) -> Request:
        """Read a request from a socket; EOFError if the host has exited."""
        size, data = int.from_bytes(os.read(control, 4), "big"), b""
        while len(data) < size:
            chunk = os.read(control, size - len(data))
            if not chunk:
                raise EOFError("the host has exited before the start")
            data += chunk
        return cls(*json.loads(data))

    def split(self, descriptors: list[int]) -> Descriptors:
        """Return the descriptors by their purpose."""
        count = len(self.numbers)
        return Descriptors(descriptors[:count], descriptors[count:-1], descriptors[-1])
