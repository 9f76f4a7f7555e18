"""`parse`: one pass over the syntax tree, with an allow-list of node types.

Other node types make the script unknown, and so does text that no token covers: if the parser misreads a script, it
must not hide a command.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING

from tools_shell._script._parts import Command, Dynamic, Unreadable
from tools_shell._script._words import MANY, ONE, SPLIT, decoded
from tools_shell._script._wrappers import check_builtin, inner, is_plain_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from tools_shell._script._parts import Word

_LONGEST, _DEEPEST, _MOST = 8 * 1024, 40, 1000  # limits: characters, depth, commands

_GROUPS = frozenset((
    *("program", "list", "pipeline", "subshell", "compound_statement", "negated_command", "command_substitution"),
    *("process_substitution", "if_statement", "elif_clause", "else_clause", "while_statement", "do_group"),
    *("redirected_statement", "variable_assignments"),
))  # fmt: skip
_TOKENS = frozenset((
    *(";", "\n", "&", "&&", "||", "|", "|&", "!", "(", ")", "{", "}", "$(", "<(", ">(", "if", "then", "elif"),
    *("else", "fi", "while", "until", "do", "done", "for", "in"),
))  # fmt: skip
_RESERVED = _TOKENS | {"case", "esac", "function", "select", "time", "coproc", "[[", "]]", "]"}
_LITERAL = frozenset(("word", "number", "variable_name", "extglob_pattern", "raw_string", "string_content", '"'))
_EXPANSION = re.compile(r"\$\w+|\$[#?$!@*-]|\$\{#?\w+(?:(?::?[-+]|%%?|##?)[\w./*-]*)?\}", re.ASCII)
_OPERATORS = frozenset(("test_operator", "!", "=", "==", "!="))
_COMPUTING = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))  # `[[` evaluates the operands of these
_REDIRECTIONS = frozenset(("<", ">", ">>", ">|", "&>", "&>>", ">&", "<&"))
_QUOTED_HERE = re.compile(r"<<(['\"])([A-Za-z_]\w*)\1\n((?:.*\n)*)\2", re.ASCII)  # without expansions


def parse(text: str) -> list[Command]:
    """Return all commands of a bash script, including those in substitutions and run by wrappers.

    `Unreadable` if there may be more, ImportError without a parser.
    """
    reader = _Reader(text)
    return [*reader.commands, *reader.files]


@functools.cache
def _language() -> tree_sitter.Language:
    import tree_sitter  # the optional extra `parser`
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _check_characters(text: str) -> None:
    if len(text) > _LONGEST:
        raise Unreadable(f"it is longer than {_LONGEST} characters")
    for character, following in zip(text, text[1:] + "\n", strict=False):
        if character not in "\t\n " and unicodedata.category(character)[0] in "CZ":
            raise Unreadable(f"it contains the character U+{ord(character):04X}")
        if not character.isascii() and following in "\\`|":
            raise Unreadable("a character that some encodings read together with the next one")


def _leaves(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.child_count:
            waiting += reversed(each.children)
        elif each.end_byte > each.start_byte:
            yield each


class _Reader:
    def __init__(self, text: str) -> None:
        import tree_sitter  # the optional extra `parser`

        _check_characters(text)
        self.commands: list[Command] = []
        self.files: list[Command] = []
        self._data = text.encode()
        root = tree_sitter.Parser(_language()).parse(self._data).root_node
        if root.has_error:
            raise Unreadable("a syntax error, or a rare construct")
        self._check_gaps(root)
        self._visit(root, 0)

    def _check_gaps(self, root: tree_sitter.Node) -> None:
        """Check that there are only blanks between tokens, and that comments start a word."""
        end = 0
        for leaf in _leaves(root):
            before = self._data[max(leaf.start_byte - 1, 0) : leaf.start_byte]
            if leaf.type == "comment" and before not in (b"", b" ", b"\t", b"\n", b";"):
                raise Unreadable("a comment inside of a word")
            self._check_gap(end, leaf.start_byte)
            end = leaf.end_byte
        self._check_gap(end, len(self._data))

    def _check_gap(self, start: int, end: int) -> None:
        if self._data[start:end].strip(b" \t\n"):
            raise Unreadable("text that is not part of any token")

    def _text(self, node: tree_sitter.Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode()

    def _visit(self, node: tree_sitter.Node, depth: int) -> None:
        """Read a statement or a group of statements."""
        if depth > _DEEPEST or len(self.commands) > _MOST:
            raise Unreadable("it is nested too deep, or has too many commands")
        kind = node.type
        if kind in _GROUPS:
            self._group(node, depth)
        elif kind in ("command", "declaration_command"):
            self._command(node, depth)
        elif kind == "variable_assignment":
            self._add(Command("", (), (self._assignment(node, depth),)), depth)
        elif kind in ("file_redirect", "heredoc_redirect"):
            self._redirection(node, depth)
        elif kind == "for_statement":
            self._for(node, depth)
        elif kind == "test_command":
            self._test(node, depth)
        elif kind != "comment":
            raise Unreadable(f"a construct that is not followed: {kind}")

    def _group(self, node: tree_sitter.Node, depth: int) -> None:
        text = self._text(node).lstrip()
        if node.type.endswith("substitution") and "#" in text:
            raise Unreadable("a comment inside of a substitution")
        if node.type == "redirected_statement":
            self._check_line(node)
        for child in node.children:
            if child.is_named:
                self._visit(child, depth + 1)
            elif child.type not in _TOKENS:
                raise Unreadable(f"a token that is not followed: {child.type}")

    def _check_line(self, node: tree_sitter.Node) -> None:
        """Check that no line ends between the words of a command: the rest would be another command."""
        for before, after in zip(node.children, node.children[1:], strict=False):
            if b"\n" in self._data[before.end_byte : after.start_byte]:
                raise Unreadable("a command that goes on in the next line")

    def _command(self, node: tree_sitter.Node, depth: int) -> None:
        self._check_line(node)
        variables: list[tuple[str, Word]] = []
        words: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment" and words in ([], ["export"]):
                variables.append(self._assignment(child, depth))
            elif child.type in ("file_redirect", "herestring_redirect"):
                self._redirection(child, depth)
            elif child.type == "export":
                words.append("export")
            else:
                words.append(self._word(child.children[0] if child.type == "command_name" else child, depth))
        if words and isinstance(words[0], Dynamic):
            raise Unreadable("the name of a command is not literal")
        name = str(words[0]) if words else ""
        is_named = name == "export" or node.child_by_field_name("name")
        if words and (not name or name in _RESERVED or not is_named):
            raise Unreadable(f"a command that is not followed: {name}")
        self._add(Command(name, tuple(words[1:]), tuple(variables)), depth)

    def _add(self, command: Command, depth: int) -> None:
        if depth > _DEEPEST:
            raise Unreadable("it runs commands by way of too many others")
        check_builtin(command)
        self.commands.append(command)
        for each in inner(command):
            self._add(each, depth + 1)

    def _assignment(self, node: tree_sitter.Node, depth: int) -> tuple[str, Word]:
        name, operator, *value = node.children
        if name.type != "variable_name" or operator.type != "=" or len(value) > 1:
            raise Unreadable("a variable that is not plain")
        return self._text(name), self._word(value[0], depth) if value else ""

    def _for(self, node: tree_sitter.Node, depth: int) -> None:
        for child in node.children:
            if child.type == "variable_name":
                self._add(Command("", (), ((self._text(child), Dynamic(is_single=True)),)), depth)
            elif child.type == "do_group":
                self._visit(child, depth + 1)
            elif child.is_named:
                self._word(child, depth)
            elif child.type not in _TOKENS:
                raise Unreadable(f"a token that is not followed: {child.type}")

    def _test(self, node: tree_sitter.Node, depth: int) -> None:
        """Read simple forms of `[ ... ]` and `[[ ... ]]`, in which operators do not come from expansions."""
        opening, closing = node.children[0].type, node.children[-1].type
        groups: list[list[Word]] = [[]]
        for word in self._operands(node.children[1:-1], depth):
            if opening == "[[" and word in ("&&", "||"):
                groups.append([])
            else:
                groups[-1].append(word)
        is_certain = all(
            is_plain_test(words) and not _COMPUTING.intersection(words)
            if opening == "[["
            else is_plain_test(words) and all(isinstance(word, str) or word.is_single for word in words)
            for words in groups
        )
        if (opening, closing) not in (("[", "]"), ("[[", "]]")) or not is_certain:
            raise Unreadable("a test whose operators are not literal, or that computes")
        self._add(Command(opening), depth)

    def _operands(self, nodes: list[tree_sitter.Node], depth: int) -> Iterator[Word]:
        for node in nodes:
            if node.type in ("unary_expression", "binary_expression"):
                yield from self._operands(node.children, depth)
            else:
                yield self._text(node) if node.type in {"&&", "||", *_OPERATORS} else self._word(node, depth)

    def _redirection(self, node: tree_sitter.Node, depth: int) -> None:
        text = self._text(node)
        if node.type == "heredoc_redirect":
            found = _QUOTED_HERE.fullmatch(text)
            if not found or found[2] in found[3].split("\n") or self._data[node.end_byte :][:1] not in (b"", b"\n"):
                raise Unreadable("a here-document whose delimiter is not quoted, or that is not last in its line")
            return
        self._check_line(node)
        operator, *targets = [child for child in node.children if child.type != "file_descriptor"]
        descriptor = self._data[node.start_byte : operator.start_byte]
        if len(targets) != 1 or len(descriptor) > 3 or not (descriptor or b"0").isdigit():
            raise Unreadable("a descriptor that is not followed")
        target = self._word(targets[0], depth)
        if operator.type == "<<<":
            return
        is_copy = operator.type in (">&", "<&")
        if operator.type not in _REDIRECTIONS or (is_copy and target not in ("0", "1", "2", "3", "4")):
            raise Unreadable("a redirection that is not followed")
        if not is_copy and target != "/dev/null":
            self.files.append(Command("<" if operator.type == "<" else ">", (target,)))

    def _word(self, node: tree_sitter.Node, depth: int) -> Word:
        return decoded(self._masked(node, depth))

    def _masked(self, node: tree_sitter.Node, depth: int) -> str:
        """Return the text of a word with a mark for each expansion, and read the commands inside expansions."""
        kind, text = node.type, self._text(node)
        expanded = text.lstrip()  # in strings the parser includes blanks before it
        if kind in _LITERAL:
            return text
        if kind in ("string", "concatenation"):
            parts, at = [], node.start_byte
            for child in node.children:
                parts += [self._data[at : child.start_byte].decode(), self._masked(child, depth)]
                at = child.end_byte
            return "".join(parts) + self._data[at : node.end_byte].decode()
        if kind in ("command_substitution", "process_substitution"):
            self._visit(node, depth + 1)
            return ONE if kind == "process_substitution" else SPLIT
        if kind in ("simple_expansion", "expansion") and _EXPANSION.fullmatch(expanded):
            return MANY if "@" in expanded else ONE if expanded in ("$#", "$?", "$$", "$!") else SPLIT
        raise Unreadable(f"a word that is not followed: {kind}")
