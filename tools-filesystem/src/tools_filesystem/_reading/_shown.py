"""Lines as a model sees them: numbered, with notes on what is left out and what does not look as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tools_filesystem._reading._encoding import UTF_8, settle

if TYPE_CHECKING:
    from tools_filesystem._reading._encoding import Encoding
    from tools_filesystem._reading._lines import Line


class Shown(NamedTuple):
    """The text, notes and facts about some lines; `is_faithful` if each character stands for its very bytes."""

    text: str
    notes: list[str]
    facts: dict[str, Any]
    is_faithful: bool


def show(lines: list[Line], encoding: Encoding, *, numbers: bool) -> Shown:
    """Return lines as text."""
    codec = encoding if encoding.width == 1 else UTF_8
    codec = settle(codec, b"\n".join(line.text for line in lines))
    decoded = [codec.decode(line.text) for line in lines]
    is_broken = any(broken for _, broken in decoded)
    out: list[str] = []
    for line, (text, _) in zip(lines, decoded, strict=True):
        end = f"[... {line.more} more bytes of this line]\n" if line.more else "\n" * bool(line.ending)
        out.append((f"{line.number}\t" if numbers else "") + text + end)
    text = "".join(out)
    name = codec.name if encoding.width == 1 else encoding.name
    facts: dict[str, Any] = {"encoding": name, "lines": len(lines)}
    facts |= {"start_line": lines[0].number, "end_line": lines[-1].number}
    endings = {line.ending for line in lines if line.ending}
    if endings:
        facts["line_endings"] = "mixed" if len(endings) > 1 else "crlf" if b"\r\n" in endings else "lf"
    has_nul = "\0" in text
    notes = _notes(name, is_broken=is_broken, has_nul=has_nul, has_crlf=b"\r\n" in endings)
    is_faithful = not (is_broken or has_nul or any(line.more for line in lines))
    return Shown(text.replace("\0", "\u2400"), notes, facts, is_faithful)


def _notes(name: str, *, is_broken: bool, has_nul: bool, has_crlf: bool) -> list[str]:
    notes: list[str] = []
    if name == "cp1252":
        notes.append("not UTF-8: read as cp1252, which is a guess")
    elif name == "utf-8-sig":
        notes.append("encoding utf-8-sig: its byte order mark is not shown")
    elif name != "utf-8":
        notes.append(f"encoding {name}")
    if is_broken:
        notes.append(f"bytes that are not {name} are shown as \ufffd")
    if has_nul:
        notes.append("NUL bytes are shown as \u2400")
    if has_crlf:
        notes.append("line endings are CRLF, shown as LF")
    return notes
