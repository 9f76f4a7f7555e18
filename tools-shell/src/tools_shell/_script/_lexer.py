"""Splits a script into words and operators as bash does, substitutions and here-documents included.

It knows less than bash: what it cannot split with certainty it refuses.
"""

from __future__ import annotations

import unicodedata

from tools_shell._script._tokens import Token, Unreadable
from tools_shell._script._words import BLANKS, WordReader

LONGEST = 8 * 1024  # characters: where it is nonsense, a parser's time grows with the square
_DEEPEST = 20
_LONGEST_NUMBER = 9  # digits: to bash, 2147483648 is a word and no descriptor
_OPERATORS = (
    *(b";;&", b"&>>", b"<<<", b"<<-"),
    *(b";;", b";&", b"&&", b"&>", b"||", b"|&", b"<<", b"<&", b"<>", b">>", b">&", b">|"),
    *(b";", b"&", b"|", b"<", b">", b"(", b")"),
)
_DELIMITER = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


class Lexed:
    """All that was found: the tokens, and where there is what a second reading must find, too."""

    def __init__(self) -> None:
        self.levels: list[list[Token]] = []  # those of the script, and of each substitution in it
        self.substitutions: set[tuple[int, int]] = set()
        self.comments: set[tuple[int, int]] = set()
        self.here_documents: set[tuple[int, int]] = set()  # the lines that end them
        self.has_arithmetic = False


def lex(script: str) -> Lexed:
    """Split `script`; raises `Unreadable`."""
    _check_characters(script)
    data = script.encode()
    lexed = Lexed()
    _Reader(data, lexed, 0).level(b"")
    return lexed


def _check_characters(script: str) -> None:
    if len(script) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST} characters")
    for character, behind in zip(script, script[1:] + "\n", strict=False):
        if character in "\t\n" or " " <= character <= "~":
            continue
        # Invisible ones deceive who reads, and some are blanks to one shell and letters to another.
        if unicodedata.category(character)[0] in "CZ":
            raise Unreadable(f"it contains the character U+{ord(character):04X}")
        # In some legacy encodings this would be the second half of a character.
        if behind in "\\`|":
            raise Unreadable(f"{behind} stands right behind {character}")


class _Reader:
    def __init__(self, data: bytes, lexed: Lexed, depth: int) -> None:
        if depth > _DEEPEST:
            raise Unreadable("it is nested too deep")
        self._data = data
        self._lexed = lexed
        self._depth = depth
        self._tokens: list[Token] = []
        self._position = 0
        self._open = 0  # parentheses
        self._pending: list[int] = []  # the tokens of delimiters whose here-documents begin at the next line

    def level(self, closing: bytes, position: int = 0) -> int:
        """Read up to `closing`, and return where that is."""
        self._position = position
        self._lexed.levels.append(self._tokens)
        while self._skip_blanks():
            if closing == b")" and not self._open and self._byte() == closing:
                break
            self._step(nested=bool(closing))
        if self._position >= len(self._data) and closing == b")":
            raise Unreadable("a substitution is not closed")
        if self._pending:
            raise Unreadable("a here-document is not there")
        if self._open:
            raise Unreadable("a parenthesis is not closed")
        return self._position

    def _byte(self) -> bytes:
        return self._data[self._position : self._position + 1]

    def _skip_blanks(self) -> bool:
        """Go to the next token; False at the end."""
        data = self._data
        while self._position < len(data):
            if data[self._position] in BLANKS:
                self._position += 1
            elif data.startswith(b"\\\n", self._position):
                if not self._position or data[self._position - 1] not in b" \t\n":
                    raise Unreadable("a line is continued inside a word")
                self._position += 2
            else:
                return True
        return False

    def _step(self, *, nested: bool) -> None:
        byte, start = self._byte(), self._position
        if byte == b"\n":
            self._position += 1
            self._tokens.append(Token("newline", "\n", start, self._position))
            self._here_documents()
        elif byte == b"#":
            if nested:
                raise Unreadable("a comment inside a substitution")
            end = self._data.find(b"\n", start)
            self._position = len(self._data) if end < 0 else end
            self._lexed.comments.add((start, self._position))
        elif byte == b"-" and self._tokens and self._tokens[-1].text in ("<&", ">&"):
            self._position += 1  # `>&-x` closes a descriptor, and `x` is the next word
            self._tokens.append(Token("word", "-", start, self._position, "-"))
        elif operator := self._operator():
            self._take_operator(operator, nested=nested)
        else:
            self._word()

    def _operator(self) -> bytes | None:
        if self._byte() in (b"<", b">") and self._data[self._position + 1 : self._position + 2] == b"(":
            return None  # the beginning of a word
        return next((each for each in _OPERATORS if self._data.startswith(each, self._position)), None)

    def _take_operator(self, operator: bytes, *, nested: bool) -> None:
        start = self._position
        self._position += len(operator)
        behind = self._byte()
        if operator == b"(":
            self._opening(start, behind)
        elif operator == b")":
            self._closing(nested=nested)
        elif operator in (b"<<", b"<<-") and nested:
            raise Unreadable("a here-document inside a substitution")
        self._tokens.append(Token("operator", operator.decode(), start, self._position))
        if operator in (b"<<", b"<<-"):
            if not self._skip_blanks():
                raise Unreadable("a here-document is not there")
            self._word()
            self._pending.append(len(self._tokens) - 1)

    def _opening(self, start: int, behind: bytes) -> None:
        self._open += 1
        if behind == b"(" or (start and self._data[start - 1 : start] == b"("):
            raise Unreadable("two parentheses in a row: arithmetic, or groups that look like it")
        is_adjacent = bool(self._tokens) and self._tokens[-1].kind == "word" and self._tokens[-1].end == start
        if is_adjacent and behind != b")":
            raise Unreadable("an array or an extended pattern")

    def _closing(self, *, nested: bool) -> None:
        if self._open:
            self._open -= 1
        elif nested or not any(token.value == "case" and token.is_plain for token in self._tokens):
            raise Unreadable("a parenthesis that nothing opened")

    def _word(self) -> None:
        reader = WordReader(self._data, self._position, self._substitution)
        token = reader.word()
        if token.end == token.start:
            raise Unreadable("an operator where a word should be")
        self._position = token.end
        self._lexed.has_arithmetic |= reader.has_arithmetic
        behind = self._byte()
        if behind in (b"<", b">") and token.text.isascii() and token.text.isdigit():
            if len(token.text) > _LONGEST_NUMBER:
                raise Unreadable("a descriptor whose number is too long")
            token = token._replace(kind="descriptor")
        elif behind in (b"<", b">") and token.text.startswith("{"):
            raise Unreadable("a descriptor that is kept in a variable")
        if self._pending and "\n" in token.text:
            raise Unreadable("a line ends inside a word, before its here-document")
        self._tokens.append(token)

    def _substitution(self, start: int, closing: bytes) -> int:
        """Read the substitution that begins at `start`; returns where it ends."""
        data = self._data
        if closing == b"`":
            end = data.find(b"`", start + 1)
            inner = data[start + 1 : end]
            if end < 0 or any(byte in b"\\'\"#<" for byte in inner):
                raise Unreadable("quotes inside backticks, or backticks that are not closed")
            _Reader(data[:end], self._lexed, self._depth + 1).level(closing, start + 1)
        else:
            reader = _Reader(data, self._lexed, self._depth + 1)
            end = reader.level(closing, start + 2)
            if any(token.value in ("case", "esac") for token in reader._tokens):
                raise Unreadable("`case` inside a substitution")
        self._lexed.substitutions.add((start, end + 1))
        return end + 1

    def _here_documents(self) -> None:
        if len(self._pending) > 1:
            raise Unreadable("two here-documents in one line")
        for number in self._pending:
            delimiter = self._tokens[number]
            has_tabs = self._tokens[number - 1].text == "<<-"
            self._tokens[number] = self._here_document(delimiter, has_tabs=has_tabs)
        self._pending.clear()

    def _here_document(self, delimiter: Token, *, has_tabs: bool) -> Token:
        """Read the body that begins here, and return the token of its delimiter with it."""
        if not delimiter.value or not set(delimiter.value) <= _DELIMITER:
            raise Unreadable("a here-document whose delimiter is not plain")
        start = line = self._position
        data, wanted = self._data, delimiter.value.encode()
        while True:
            end = data.find(b"\n", line)
            end = len(data) if end < 0 else end
            first = line
            while has_tabs and data[first : first + 1] == b"\t":
                first += 1
            if data[first:end] == wanted:
                break
            if end >= len(data):
                raise Unreadable("a here-document is not closed")
            line = end + 1
        body = self._body(start, line, is_quoted=not delimiter.is_plain)
        self._position = end
        self._lexed.here_documents.add((first, end))
        return delimiter._replace(value=body.value, prefix="", text=body.text)

    def _body(self, start: int, end: int, *, is_quoted: bool) -> Token:
        if is_quoted:
            text = self._data[start:end].decode()
            return Token("word", text, start, end, text)
        reader = WordReader(self._data[:end], start, self._substitution)
        body = reader.here_document(end)
        self._lexed.has_arithmetic |= reader.has_arithmetic
        return body
