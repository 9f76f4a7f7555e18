"""Splits the tokens of a script into simple commands, by bash's own rule: between operators and reserved words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._environment import is_variable_name
from tools_shell._script._parts import Assignment, Expanded, Redirection, SimpleCommand
from tools_shell._script._tokens import Token, Unreadable

if TYPE_CHECKING:
    from tools_shell._script._parts import Word

_OPENING = frozenset(("!", "do", "elif", "else", "if", "then", "until", "while", "{"))
_CLOSING = frozenset(("done", "esac", "fi", "}"))
_ENDS_ITEM = frozenset((";;", ";&", ";;&"))
_REDIRECTIONS = frozenset(("<", ">", "<<", "<<-", "<<<", "<&", "<>", ">>", ">&", ">|", "&>", "&>>"))


class Runs:
    """The simple commands of one level, each as its tokens, and what stands between them."""

    def __init__(self, tokens: list[Token]) -> None:
        self.commands: list[list[Token]] = []
        self.closing: list[list[Token]] = []  # the redirections of loops and groups
        self.headers: dict[int, str] = {}
        self.variables: dict[int, Assignment] = {}  # of loops
        self.functions: set[int] = set()
        self.reasons: list[str] = []
        self._tokens = tokens
        self._at = 0
        self._is_closed = False  # a loop or a group has just ended: nothing but redirections may follow
        while self._at < len(self._tokens):
            self._step()

    def _is(self, *values: str, ahead: int = 0) -> bool:
        """Whether the token at hand is one of these operators or reserved words."""
        at = self._at + ahead
        if at >= len(self._tokens):
            return False
        token = self._tokens[at]
        return token.text in values and (token.kind != "word" or token.is_plain)

    def _step(self) -> None:
        token = self._tokens[self._at]
        if _separates(token):
            self._at += 1
            self._is_closed = token.text == ")"
            if token.text in _ENDS_ITEM:
                self._pattern()
        elif self._is(*_OPENING, *_CLOSING):
            self._at += 1
            self._is_closed = token.text in _CLOSING
        elif self._is_closed:
            self.closing.append(self._take())
        elif self._is("for", "select"):
            self._loop(token)
        elif self._is("case"):
            self._case(token)
        elif self._is("function") or self._is("(", ahead=1):
            self._function(token)
        elif self._is("[["):
            self.commands.append(self._condition())
        else:
            self.commands.append(self._take())

    def _take(self) -> list[Token]:
        start = self._at
        while self._at < len(self._tokens) and not _separates(self._tokens[self._at]):
            self._at += 1
        return self._tokens[start : self._at]

    def _skip_newlines(self) -> None:
        while self._is("\n"):
            self._at += 1

    def _loop(self, token: Token) -> None:
        if self._is("select"):
            self.reasons.append("`select` reads a choice")
        self.headers[token.start] = "for_statement"
        _, *words = self._take()
        if not words or words[0].value is None or any(word.kind != "word" for word in words):
            raise Unreadable("a loop without a plain variable")
        values = Expanded(" ".join(word.text for word in words[2:]), is_single=True)
        self.variables[token.start] = Assignment(words[0].value, values)

    def _case(self, token: Token) -> None:
        self.headers[token.start] = "case_statement"
        self._at += 2  # and the word that is compared
        self._skip_newlines()
        if not self._is("in"):
            raise Unreadable("a `case` without `in`")
        self._at += 1
        self._pattern()

    def _pattern(self) -> None:
        self._skip_newlines()
        if self._is("esac") or self._at >= len(self._tokens):
            return
        self.headers[self._tokens[self._at].start] = "case_item"
        if self._is("("):
            self._at += 1
        while not self._is(")"):
            if self._at >= len(self._tokens) or not (self._is("|") or self._tokens[self._at].kind == "word"):
                raise Unreadable("a pattern of `case` that is not closed")
            self._at += 1
        self._at += 1
        self._is_closed = False

    def _function(self, token: Token) -> None:
        self.functions.add(token.start)
        has_keyword = self._is("function")
        name = self._tokens[self._at + has_keyword].text if self._at + has_keyword < len(self._tokens) else ""
        self.reasons.append(f"a function is defined: {name}")
        self._at += 1 + has_keyword
        if self._is("(") and self._is(")", ahead=1):
            self._at += 2
        self._is_closed = False

    def _condition(self) -> list[Token]:
        start = self._at
        while not self._is("]]"):
            self._at += 1
            if self._at >= len(self._tokens):
                raise Unreadable("a `[[` that is not closed")
        self._take()
        return self._tokens[start : self._at]


def _separates(token: Token) -> bool:
    return token.kind == "newline" or (token.kind == "operator" and token.text not in _REDIRECTIONS)


def simple_command(tokens: list[Token]) -> SimpleCommand:
    """Make a command of its tokens."""
    words, redirections = split_redirections(tokens)
    assignments = []
    while words and (assignment := _assigned(words[0])):
        assignments.append(assignment)
        words = words[1:]
    text = " ".join(token.text for token in tokens)
    return SimpleCommand(
        name=words[0].value or None if words else "",
        arguments=tuple(_word(token) for token in words[1:]),
        assignments=tuple(assignments),
        redirections=redirections,
        text=text,
    )


def split_redirections(tokens: list[Token]) -> tuple[list[Token], tuple[Redirection, ...]]:
    """Separate the words of a command from where its descriptors lead."""
    is_condition = tokens[0].text == "[[" and tokens[0].is_plain
    end = next((n for n, token in enumerate(tokens) if token.text == "]]"), 0) if is_condition else 0
    words, redirections = tokens[:end], []
    rest = iter(tokens[end:])
    descriptor = None
    for token in rest:
        if token.kind == "descriptor":
            descriptor = int(token.text)
        elif token.kind == "operator":
            target = next(rest, None)
            if target is None or target.kind != "word":
                raise Unreadable("a redirection without a target")
            redirections.append(Redirection(token.text, _word(target), descriptor))
            descriptor = None
        else:
            words.append(token)
    return words, tuple(redirections)


def _word(token: Token) -> Word:
    if token.kind != "word":
        return token.text  # an operator between `[[` and `]]`
    return Expanded(token.text, token.prefix, token.is_single) if token.value is None else token.value


def _assigned(token: Token) -> Assignment | None:
    """The assignment that a word is, if it stands in front of a command."""
    name, equals, text = token.text.partition("=")
    is_added = name.endswith("+")
    name = name.removesuffix("+")
    if not equals or token.kind != "word":
        return None
    if not is_variable_name(name):
        if name.isascii() and name.partition("[")[0].isidentifier() and name.endswith("]"):
            raise Unreadable("an element of an array is set")
        return None
    if token.value is None or is_added:
        return Assignment(name, Expanded(text, token.prefix[len(name) + 1 :], is_single=True))
    return Assignment(name, token.value[len(name) + 1 :])
