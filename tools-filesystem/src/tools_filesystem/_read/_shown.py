"""A window of lines as text, with hints that say how to read on and what does not look as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_filesystem._read._encoding import settle

if TYPE_CHECKING:
    from typing import Any

    from tools_filesystem._read._encoding import Encoding
    from tools_filesystem._read._lines import Piece, Window


class Shown:
    """How the pieces of a window look; `is_faithful` says whether each character stands for its very bytes."""

    def __init__(self, window: Window, encoding: Encoding, path: str, line_numbers: bool) -> None:
        self._window = window
        self._pieces = window.pieces
        self._path = path
        self._line_numbers = line_numbers
        self._encoding = settle(encoding, b"\n".join(piece.data for piece in window.pieces))
        decoded = [self._encoding.decode(piece.data) for piece in window.pieces]
        self._texts = [text for text, _ in decoded]
        self._is_broken = any(broken for _, broken in decoded)
        self._has_nul = any("\0" in text for text in self._texts)
        self.is_faithful = not (self._is_broken or self._has_nul)

    def ranges(self) -> list[tuple[int, int]]:
        """The byte ranges that are shown, in order and apart from each other."""
        out: list[tuple[int, int]] = []
        for piece in self._pieces:
            start = 0 if piece.start == self._encoding.mark else piece.start
            if out and out[-1][1] == start:
                start = out.pop()[0]
            out.append((start, piece.end))
        return out

    def text(self) -> tuple[str, list[str]]:
        """The lines, and what is to be said of how they look."""
        out: list[str] = []
        for piece, text in zip(self._pieces, self._texts, strict=True):
            if self._line_numbers:
                out.append(f"{piece.line}\t")
            out.append(text)
            if piece.is_cut:
                out.append(self._cut_mark(piece))
            elif piece.ending:
                out.append("\n")
        return "".join(out).replace("\0", "\u2400"), self._looks()

    def facts(self, limit: int, tail: int | None) -> dict[str, Any]:
        """The same for a program."""
        window, first, last = self._window, self._pieces[0], self._pieces[-1]
        facts: dict[str, Any] = {"lines": len(self._pieces), "encoding": self._encoding.name}
        if window.is_numbered:
            facts |= {"start_line": first.line, "end_line": last.line}
        if window.total is not None:
            facts["total_lines"] = window.total
        endings = {len(piece.ending) // self._encoding.width for piece in self._pieces if piece.ending}
        if endings:
            facts["line_endings"] = "mixed" if len(endings) > 1 else "crlf" if 2 in endings else "lf"
        if not window.has_more and not last.is_cut:
            facts["final_newline"] = bool(last.ending)
        if self._is_broken:
            facts["undecodable"] = True
        if cut := [self._arguments(piece) for piece in self._pieces if piece.is_cut]:
            facts["cut_lines"] = cut if window.is_numbered else len(cut)
        facts["truncated"] = window.has_more or last.is_cut or bool(window.left_out)
        if (window.has_more or last.is_cut) and window.is_numbered:
            column = {"column": _next_column(last)} if last.is_cut else {}
            facts["next"] = {"path": self._path, "offset": last.line + (not last.is_cut), **column, "limit": limit}
        if window.left_out and tail is not None and window.is_numbered:
            earliest = max(1, last.line - tail + 1)
            facts["previous"] = {"path": self._path, "offset": earliest, "limit": first.line - earliest}
        return facts

    def hints(self, facts: dict[str, Any]) -> list[str]:
        """How to read on."""
        notes: list[str] = []
        if following := facts.get("next"):
            where = "".join(f" {name}={following[name]}" for name in ("offset", "column") if name in following)
            lines = f"lines {facts['start_line']} to {facts['end_line']}"
            notes.append(f"{lines}; there is more: read on with{where}")
        if before := facts.get("previous"):
            where = f"offset={before['offset']} limit={before['limit']}"
            notes.append(f"only the last {len(self._pieces)} of these lines; those before them: {where}")
        return notes

    def _looks(self) -> list[str]:
        notes: list[str] = []
        name = self._encoding.name
        if name == "cp1252":
            notes.append("not UTF-8: read as cp1252, which is a guess")
        elif name == "utf-8-sig":
            notes.append("encoding utf-8-sig: its byte order mark is not shown")
        elif name != "utf-8":
            notes.append(f"encoding {name}")
        if self._is_broken:
            notes.append(f"bytes that are not {name} are shown as \ufffd")
        if self._has_nul:
            notes.append("NUL bytes are shown as \u2400")
        if any(len(piece.ending) > self._encoding.width for piece in self._pieces):
            notes.append("line endings are CRLF, shown as LF")
        return notes

    def _cut_mark(self, piece: Piece) -> str:
        count = "more" if piece.more is None else f"{piece.more} more bytes"
        where = f": offset={piece.line} column={_next_column(piece)} limit=1" if self._window.is_numbered else ""
        return f"[... {count} of this line{where}]\n"

    def _arguments(self, piece: Piece) -> dict[str, Any]:
        return {"path": self._path, "offset": piece.line, "column": _next_column(piece), "limit": 1}


def _next_column(piece: Piece) -> int:
    return piece.column + len(piece.data)
