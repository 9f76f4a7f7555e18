"""Tools that the tests call in the browser and over HTTP."""

from __future__ import annotations

import datetime as dt
import struct
import time
import zlib
from dataclasses import dataclass
from typing import Literal

from tools_core import Context, Image, tool


@dataclass
class Address:
    street: str
    city: str


@dataclass
class Line:
    sku: str
    quantity: int = 1


@dataclass
class Card:
    kind: Literal["card"]
    number: str


@dataclass
class Bank:
    kind: Literal["bank"]
    iban: str
    holder: str


ORDER = {
    "customer": "Ada",
    "ship_to": {"street": "Main Street 1", "city": "Oslo"},
    "lines": [{"sku": "A1", "quantity": 2}],
    "due": "2026-12-01",
}


@tool(read_only=True)
def interrupt() -> str:
    """Behave like Ctrl-C."""
    raise KeyboardInterrupt


@tool(destructive=False, requires_approval=True, open_world=True, examples=[ORDER])
def place_order(
    customer: str,
    ship_to: Address,
    lines: list[Line],
    due: dt.date,
    at: dt.datetime | None = None,
    speed: Literal["normal", "express"] = "normal",
    discount: float | Literal["none"] = "none",
    gift: bool = False,
    labels: dict[str, str] | None = None,
    photo: bytes = b"",
) -> dict:
    """Place an order, and return its number.

    Args:
        customer: Name of the customer.
        ship_to: Address of the customer.
        lines: Articles with quantities.
        due: Latest day of arrival.
    """
    return {"number": 7, "city": ship_to.city, "due": due, "speed": speed, "discount": discount, "labels": labels}


@tool(destructive=False)
def pay(method: Card | Bank, reminders: list[int] | None = None) -> dict:
    """Pay with a card or a bank account."""
    return {"method": method, "reminders": reminders}


@tool(read_only=True)
def chart() -> Image:
    """Draw a chart."""
    rows = b"".join(b"\0" + bytes(c for x in range(160) for c in (x, 2 * y, 160)) for y in range(90))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 160, 90, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return Image(b"\x89PNG\r\n\x1a\n" + data)


@tool(read_only=True)
def count_up(to: int, context: Context) -> str:
    """Count up to a number, and report the progress."""
    for number in range(to):
        if context.cancelled:
            return "stopped"
        context.progress(number, to, f"at {number}")
        time.sleep(0.1)
    return f"# Counted\n\n- up to **{to}**\n"


@tool(read_only=True)
def block(seconds: float = 60) -> str:
    """Wait, and ignore that the caller has cancelled."""
    time.sleep(seconds)
    return "done"


@tool(read_only=True)
def ask_user(topic: str, context: Context) -> str:
    """Ask the user about a topic."""
    answer = context.ask(f"Do you like {topic}?", ["yes", "no"])
    return f"{answer}: {context.ask('Why?')}"


@tool(read_only=True)
def hostile() -> str:
    """Return text that tries to be a page."""
    return (
        "# Title\n\n<script>document.title = 'hacked'</script><img src=x onerror=\"document.title='hacked'\">\n\n"
        "[click](javascript:document.title='hacked') ![pixel](http://example.com/pixel.png) **bold**\n"
    )


@tool(read_only=True, input_schema={"type": "object", "properties": {"kind": True}})
def odd(**arguments: object) -> object:
    """Return a value that is no JSON."""
    deep: list[object] = []
    for _ in range(900):
        deep = [deep]
    circular: list[object] = []
    circular.append(circular)
    values = {"deep": deep, "circular": circular, "number": 10**5000, "name": "a\udcff", "keys": {(1, 2): {b"x"}}}
    if arguments["kind"] == "error":
        raise ValueError("no file a\udcff")
    return values[arguments["kind"]]


@tool(read_only=True)
def receive(id: int, text: str, note: str = "none", rest: list | None = None) -> dict:
    """Return the arguments."""
    return {"id": id, "text": text, "note": note, "rest": rest}
