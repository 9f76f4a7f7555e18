"""`--params`: the parameters of a tool in one line, such as `city:str "Name of the city", days:int=3, units:C|F`."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple, NoReturn

from tools_scaffold._errors import ScaffoldError, shown
from tools_scaffold._types import SIMPLE, TYPES, literal, read_default

EXAMPLE = 'city:str "Name of the city", days:int=3, tags:list[str]?, units:C|F=C'
LIMIT = 50  # parameters, and choices of one

_name = re.compile(r"\w+")
_bare = re.compile(r"[^\s,|=?\"\[\]:]+")
_default = re.compile(r"[^,\"]*")
_string = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_well_named = re.compile("[a-z][a-z0-9_]*").fullmatch

# What a parameter would hide from the code around it, and what models of pydantic have already.
_HIDING = frozenset({"date", "datetime", "self", "time", "tool"}) | SIMPLE
_MODEL = frozenset({"construct", "copy", "dict", "json", "schema", "validate"})
_USUAL_ERRORS = {"string": "str", "text": "str", "integer": "int", "number": "float", "boolean": "bool"}


class Parameter(NamedTuple):
    """One parameter; `default` is Python code, None where there is none."""

    name: str
    type: str  # a key of TYPES, or nothing where there are choices
    choices: tuple[str, ...]
    is_list: bool
    is_optional: bool
    default: str | None
    description: str

    @property
    def is_required(self) -> bool:
        """Whether a call has to give it."""
        return self.default is None


def read_params(text: str, *, pydantic: bool = False) -> tuple[Parameter, ...]:
    """Read parameters; ScaffoldError shows the place of a mistake and how it would be right."""
    return _Reader(text, pydantic=pydantic).parameters()


class _Reader:
    """Reads from left to right; `at` is the place of what comes next."""

    def __init__(self, text: str, *, pydantic: bool) -> None:
        self.text = text
        self.pydantic = pydantic
        self.at = 0

    def parameters(self) -> tuple[Parameter, ...]:
        """Read them all; the required ones come first."""
        found: list[Parameter] = []
        self.blank()
        if self.at == len(self.text):
            self.fail("there is no parameter in it; leave the option away for a sample tool")
        while True:
            start = self.at
            read = self.parameter()
            if read.name in [each.name for each in found]:
                self.fail(f"there are two parameters called {read.name}", start)
            found.append(read)
            if len(found) > LIMIT:
                self.fail(f"more than {LIMIT} parameters are too many for a model", start)
            if self.at == len(self.text):
                return tuple(sorted(found, key=lambda each: not each.is_required))  # as Python wants them
            if not self.mark(","):
                self.fail("expected a comma, or the end")

    def parameter(self) -> Parameter:
        """Read one, up to its comma."""
        name = self.name()
        if not self.mark(":"):
            self.fail(f"expected a colon and a type after {name}")
        start = self.at
        kind, choices, is_list = self.type()
        is_optional = self.mark("?")
        default = "None" if is_optional else None
        if self.mark("="):
            default = self.default(kind, choices, is_list=is_list)
        words = self.description() or name.replace("_", " ").strip().capitalize()
        if len(choices) == 1:
            self.fail(f"one choice is none: give two or more, such as {choices[0]}|other", start)
        return Parameter(name, kind, choices, is_list, is_optional, default, words)

    def name(self) -> str:
        """Read a name that Python, the tool's own code and, if asked for, pydantic can take."""
        start = self.at
        match = _name.match(self.text, self.at)
        if match is None:
            self.fail("expected the name of a parameter")
        name = match[0]
        if not _well_named(name):
            self.fail(f"{name} is no name for a parameter: use a to z, digits and underscores", start)
        if len(name) > 40:
            self.fail("a parameter's name has at most 40 characters", start)
        if keyword.iskeyword(name):
            self.fail(f"{name} is a word of the Python language; {name}_ would do", start)
        if name in _HIDING:
            self.fail(f"a parameter called {name} would hide what its own code needs; the_{name} would do", start)
        if self.pydantic and (name in _MODEL or name.startswith("model_")):
            self.fail(f"models of pydantic have a {name} of their own; the_{name} would do", start)
        self.at = match.end()
        self.blank()
        return name

    def type(self) -> tuple[str, tuple[str, ...], bool]:
        """Read a type, a list of one, or choices."""
        start = self.at
        if self.text.startswith("list", self.at) and self.text[self.at + 4 :].lstrip().startswith("["):
            self.at += 4
            self.blank()
            self.mark("[")
            kind = self.known_type()
            if not self.mark("]"):
                self.fail("expected a closing bracket")
            return kind, (), True
        first = self.choice()
        if not self.text.startswith("|", self.at):
            if self.text[start] == '"':
                return "", (first,), False
            self.at = start
            return self.known_type(), (), False
        choices = [first]
        while self.mark("|"):
            place = self.at
            choices.append(self.choice())
            if choices[-1] in choices[:-1]:
                self.fail(f"the choice {choices[-1]} is there twice", place)
        if len(choices) > LIMIT:
            self.fail(f"more than {LIMIT} choices are too many for a model", start)
        self.refuse_union(choices, start)
        return "", tuple(choices), False

    def refuse_union(self, choices: list[str], start: int) -> None:
        """`int|str` would be two choices that look like types."""
        if "None" in choices:
            self.fail("None is no choice; a question mark after the type makes a parameter optional", start)
        types = [choice for choice in choices if choice in TYPES]
        if types and '"' not in self.text[start : self.at]:
            self.fail(f'a parameter has one type; if {types[0]} is meant as a choice, write "{types[0]}"', start)

    def known_type(self) -> str:
        """Read the name of a type."""
        start = self.at
        match = _bare.match(self.text, self.at)
        word = match[0] if match else ""
        self.at += len(word)
        if word not in TYPES:
            self.fail(_unknown_type(word), start)
        self.blank()
        return word

    def choice(self) -> str:
        """Read one choice, or what may turn out to be a type."""
        if self.text.startswith('"', self.at):
            quoted = self.quoted()
            return quoted if quoted.strip() else self.fail("a choice needs a letter")
        match = _bare.match(self.text, self.at)
        if match is None:
            self.fail("expected a type or choices")
        self.at = match.end()
        self.blank()
        return self.printable(match[0], match.start())

    def default(self, kind: str, choices: tuple[str, ...], *, is_list: bool) -> str:
        """Read a default, as Python code."""
        start = self.at
        if self.text.startswith('"', self.at):
            word = self.quoted()
        else:
            match = _default.match(self.text, self.at)
            word = match[0].strip() if match else ""
            self.at += len(match[0]) if match else 0
        self.printable(word, start)
        if is_list:
            self.fail("a list takes no default here; a question mark makes it optional, such as tags:list[str]?", start)
        if not choices:
            try:
                return read_default(kind, word)
            except ValueError as error:
                self.fail(str(error), start)
        if word not in choices:
            self.fail(f"the default {word} is none of {', '.join(choices)}", start)
        return literal(word)

    def description(self) -> str:
        """Read a description; nothing if there is none."""
        if not self.text.startswith('"', self.at):
            return ""
        start = self.at
        words = self.quoted().strip()
        if not words or len(words) > 200:
            self.fail("a description has 1 to 200 characters", start)
        return words

    def quoted(self) -> str:
        """Read a string in double quotes."""
        match = _string.match(self.text, self.at)
        if match is None:
            self.fail('this string has no end; inside it, write \\" for a quote and \\\\ for a backslash')
        start, self.at = self.at, match.end()
        self.blank()
        return self.printable(re.sub(r"\\(.)", r"\1", match[1]), start)

    def printable(self, word: str, at: int) -> str:
        """Refuse what no line of code should hold."""
        return word if not word or word.isprintable() else self.fail("there is an unprintable character in it", at)

    def mark(self, sign: str) -> bool:
        """Pass over `sign` and blanks, if it comes next."""
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        self.blank()
        return True

    def blank(self) -> None:
        """Pass over blanks."""
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        """Show a mistake where it is."""
        place = self.at if at is None else at
        first = max(0, place - 40)
        line = "".join(sign if sign.isprintable() else " " for sign in self.text[first : place + 40])
        problem = "".join(sign if sign.isprintable() else "?" for sign in problem[:400])
        raise ScaffoldError(f"--params: {problem}\n  {line}\n  {' ' * (place - first)}^\n  right is: {EXAMPLE}")


def _unknown_type(word: str) -> str:
    if not word:
        return f"expected a type: {', '.join(TYPES)}, list[...] of these, or choices such as C|F"
    from difflib import get_close_matches  # only for a mistake

    near = [_USUAL_ERRORS[word.lower()]] if word.lower() in _USUAL_ERRORS else get_close_matches(word, TYPES, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else "choices are written such as C|F."
    return f"{shown(word, 40)} is no type; {hint} Types are {', '.join(TYPES)}, and list[...] of these"
