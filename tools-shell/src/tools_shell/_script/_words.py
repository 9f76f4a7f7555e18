"""Reads one word of a script as bash does: quotes, escapes and expansions.

What it does not know for certain it refuses, since a command could hide there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._script._tokens import Token, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

BLANKS = b" \t"
_METACHARACTERS = b" \t\n;&|()<>"
_FAR = 64  # bytes to look ahead
_QUOTING = frozenset(b"\\'\"$`")
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset(b"0123456789")
_NAME = _LETTERS | _DIGITS
_SPECIAL = frozenset(b"@*#?$!-0123456789")
_ARITHMETIC = _NAME | frozenset(b" \t+-*/%<>=!&|^~?:,()$")
_OPERAND = _NAME | frozenset(b" ./-*?:@+,")  # nothing that quotes, expands or ends
# The longest first. Without those that assign (`=`), evaluate (`@`) or compute (`:offset` but by digits).
_OPERATORS = (b":-", b":+", b":?", b"-", b"+", b"?", b"##", b"#", b"%%", b"%", b"//", b"/", b"^^", b"^", b",,", b",")
_SIMPLE_ESCAPES = dict(zip(b"abefnrtv\\'\"?", b"\a\b\x1b\f\n\r\t\v\\'\"?", strict=True)) | {ord("E"): 0x1B}
_HEX = frozenset(b"0123456789abcdefABCDEF")


class WordReader:
    """A place in a script from which words are read.

    `substitution(start, closing)` reads the commands of a substitution and returns where they end.
    """

    def __init__(self, data: bytes, position: int, substitution: Callable[[int, bytes], int]) -> None:
        self.data = data
        self.position = position
        self.has_arithmetic = False  # with variables, whose values may hold commands: `a[$(rm x)]`
        self._substitution = substitution
        self._literal = bytearray()
        self._prefix: bytes | None = None  # known from the first expansion on
        self._splits = False
        self._is_single = True
        self._is_plain = True

    def word(self) -> Token:
        """Read up to where bash ends the word."""
        data, start = self.data, self.position
        while self.position < len(data):
            byte = data[self.position]
            if byte in b"<>" and self._next() == b"(":
                self._expand(self._substitution(self.position, b")"))
            elif byte in _METACHARACTERS:
                break
            else:
                self._unquoted(byte, start)
        return self._token(start)

    def here_document(self, end: int) -> Token:
        """Read the body of a here-document whose delimiter is not quoted."""
        start = self.position
        while self.position < end:
            self._double_quoted(quote=False)
        if self.position > end:
            raise Unreadable("an expansion goes on behind the end of its here-document")
        return self._token(start)

    def _token(self, start: int) -> Token:
        text = self.data[start : self.position].decode()
        is_literal = self._prefix is None
        value = self._literal.decode() if is_literal else None
        # A prefix may end inside a character only where an escape made bytes of it.
        prefix = (self._prefix or b"").decode(errors="ignore") if not (is_literal or self._splits) else ""
        return Token("word", text, start, self.position, value, prefix, self._is_single, self._is_plain)

    def _next(self) -> bytes:
        return self.data[self.position + 1 : self.position + 2]

    def _expand(self, end: int, *, splits: bool = False) -> None:
        """Go on at `end`, behind something that is known only when it runs."""
        if self._prefix is None:
            self._prefix = bytes(self._literal)
        self._splits |= splits
        self._is_single &= not splits
        self._is_plain = False
        self.position = end

    def _unquoted(self, byte: int, start: int) -> None:
        if byte in _QUOTING:
            self._is_plain = False
            self._quoting(byte)
        elif byte in b"*?[{":
            self._pattern(byte, start)
        elif byte == ord("~") and (self.position == start or self.data[start + 1 : self.position][-1:] in (b"=", b":")):
            self._expand(self.position + 1)
        else:
            self._literal.append(byte)
            self.position += 1

    def _pattern(self, byte: int, start: int) -> None:
        """A glob or a brace expansion; `[`, `[[` and `{` alone, and mostly `{}`, are what they are."""
        end, last = self.position, min(self.position + _FAR, len(self.data))
        while end < last and self.data[end] not in _METACHARACTERS:
            end += 1
        rest = self.data[self.position : end]
        if self.position == start and rest in (b"[", b"[[", b"{"):
            self._literal += rest
            self.position = end
        elif rest.startswith(b"{}") and rest.count(b"{") == rest.count(b"}") == 1 and self._is_simple(rest):
            self._literal += b"{}"
            self.position += 2
        else:
            self._is_single = False
            self._expand(self.position + 1, splits=byte == ord("{"))

    def _is_simple(self, rest: bytes) -> bool:
        """Whether this is all that is left of the word, without quotes."""
        return len(rest) < _FAR and not _QUOTING.intersection(rest)

    def _quoting(self, byte: int) -> None:
        if byte == ord("\\"):
            if self._next() in (b"", b"\n"):
                raise Unreadable("a line is continued inside a word")
            self._literal += self._next()
            self.position += 2
        elif byte == ord("'"):
            end = self.data.find(b"'", self.position + 1)
            if end < 0:
                raise Unreadable("a quote is not closed")
            self._literal += self.data[self.position + 1 : end]
            self.position = end + 1
        elif byte == ord('"'):
            self._string()
        else:
            self._expansion(byte, is_quoted=False)

    def _string(self) -> None:
        self.position += 1
        while self.data[self.position : self.position + 1] != b'"':
            if self.position >= len(self.data):
                raise Unreadable("a quote is not closed")
            self._double_quoted(quote=True)
        self.position += 1

    def _double_quoted(self, *, quote: bool) -> None:
        byte = self.data[self.position]
        if byte == ord("\\") and (behind := self._next()):
            if behind == b"\n":
                raise Unreadable("a line is continued inside a string")
            is_escape = behind in (b"$", b"`", b"\\") or (quote and behind == b'"')
            self._literal += behind if is_escape else b"\\" + behind
            self.position += 2
        elif byte in b"$`":
            self._expansion(byte, is_quoted=True)
        else:
            self._literal.append(byte)
            self.position += 1

    def _expansion(self, byte: int, *, is_quoted: bool) -> None:
        splits = not is_quoted
        if byte == ord("`"):
            self._expand(self._substitution(self.position, b"`"), splits=splits)
            return
        behind = self._next()
        if behind == b"(":
            is_arithmetic = self.data[self.position + 2 : self.position + 3] == b"("
            end = self._arithmetic() if is_arithmetic else self._substitution(self.position, b")")
            self._expand(end, splits=splits)
        elif behind == b"{":
            end = self._parameter()
            self._expand(end, splits=splits or b"@" in self.data[self.position : end])
        elif behind in (b"'", b'"') and not is_quoted:
            self._special_string(behind)
        elif behind == b"[":
            raise Unreadable("`$[` is arithmetic of old")
        elif behind and (behind[0] in _NAME or behind[0] in _SPECIAL or behind[0] >= 0x80):
            self._expand(self._name_end(self.position + 1), splits=splits or behind == b"@")
        else:
            self._literal.append(byte)
            self.position += 1

    def _name_end(self, position: int) -> int:
        if self.data[position] not in _LETTERS:
            return position + 1
        while position < len(self.data) and self.data[position] in _NAME:
            position += 1
        return position

    def _special_string(self, quote: bytes) -> None:
        self.position += 1
        if quote == b'"':  # translated, by a file that somebody may have written
            self._expand(self.position, splits=False)
            self._string()
        else:
            self.position += 1
            while (byte := self.data[self.position : self.position + 1]) != b"'":
                if not byte:
                    raise Unreadable("a quote is not closed")
                self._ansi(byte)
            self.position += 1

    def _ansi(self, byte: bytes) -> None:
        if byte != b"\\":
            self._literal += byte
            self.position += 1
            return
        behind = self._next()
        if behind and behind[0] in _SIMPLE_ESCAPES:
            self._literal.append(_SIMPLE_ESCAPES[behind[0]])
            self.position += 2
            return
        base, first, longest = (16, self.position + 2, 2) if behind == b"x" else (8, self.position + 1, 3)
        end = first
        while (
            end < first + longest
            and self.data[end : end + 1]
            and self.data[end] in (_HEX if base == 16 else b"01234567")
        ):
            end += 1
        number = int(self.data[first:end] or b"0", base)
        if not 0 < number < 0x80:  # NUL ends the word; other bytes need not be UTF-8
            raise Unreadable(f"an escape of `$'...'` that is not plain: \\{behind.decode(errors='replace')}")
        self._literal.append(number)
        self.position = end

    def _parameter(self) -> int:
        """Where `${...}` ends, in the forms that can run nothing."""
        data, position = self.data, self.position + 2
        if data[position : position + 1] == b"#" and data[position + 1 : position + 2] not in (b"}", b""):
            position += 1
        if not (data[position : position + 1] and (data[position] in _NAME or data[position] in _SPECIAL)):
            raise Unreadable("an expansion that is more than `${name}`")
        if data[position] == ord("!"):
            raise Unreadable("an indirect expansion, `${!name}`")
        position = self._subscript(self._name_end(position) if data[position] in _NAME else position + 1)
        position = self._operation(position)
        if data[position : position + 1] != b"}":
            raise Unreadable("an expansion that is more than `${name}`")
        return position + 1

    def _subscript(self, position: int) -> int:
        if self.data[position : position + 1] != b"[":
            return position
        end = self.data.find(b"]", position)
        inner = self.data[position + 1 : end]
        if end < 0 or not (inner in (b"@", b"*") or inner.isdigit()):
            raise Unreadable("a subscript that is not a number")
        return end + 1

    def _operation(self, position: int) -> int:
        for operator in _OPERATORS:
            if self.data.startswith(operator, position):
                allowed, position = _OPERAND, position + len(operator)
                break
        else:
            allowed = _DIGITS | frozenset(b":")
        while position < len(self.data) and self.data[position] in allowed:
            position += 1
        return position

    def _arithmetic(self) -> int:
        """Where `$((...))` ends; bash takes it for commands when the last two parentheses stand apart."""
        position, depth = self.position + 3, 2
        while depth:
            if position >= len(self.data) or self.data[position] not in _ARITHMETIC:
                raise Unreadable("arithmetic that is more than numbers, names and operators")
            byte = self.data[position]
            if byte == ord("$") and self.data[position + 1 : position + 2] in (b"(", b"{", b""):
                raise Unreadable("arithmetic that is more than numbers, names and operators")
            depth += {ord("("): 1, ord(")"): -1}.get(byte, 0)
            position += 1
            if depth == 1 and self.data[position : position + 1] != b")":
                raise Unreadable("commands in parentheses that look like arithmetic")
        self.has_arithmetic |= any(
            byte in _LETTERS or byte == ord("$") for byte in self.data[self.position + 1 : position]
        )
        return position
