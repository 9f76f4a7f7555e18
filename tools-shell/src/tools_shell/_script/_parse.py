"""`parse_script`: one pass over the syntax tree, along an allow-list of node types.

Whatever is not on the list makes the script unknown, and so does text that no token of the tree covers: a parser that
misreads a script must not hide a command.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING, ClassVar

from tools_shell._script._parts import Command, Dynamic, Redirection, Script, Unreadable
from tools_shell._script._wrappers import check_builtin, inner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import tree_sitter

    from tools_shell._script._parts import Word

WITHOUT_PARSER = 'no parser is installed: pip install "tools-shell[parser]"'
_LONGEST, _DEEPEST, _MOST = 8 * 1024, 40, 1000  # characters, nodes inside of nodes, commands

_GROUPS = frozenset((
    *("program", "list", "pipeline", "subshell", "compound_statement", "negated_command", "command_substitution"),
    *("process_substitution", "if_statement", "elif_clause", "else_clause", "while_statement", "do_group"),
))  # fmt: skip
_TOKENS = frozenset((
    *(";", "\n", "&", "&&", "||", "|", "|&", "!", "(", ")", "{", "}", "$(", "`", "<(", ">(", "if", "then", "elif"),
    *("else", "fi", "while", "until", "do", "done", "for", "in"),
))  # fmt: skip
_RESERVED = _TOKENS | {"case", "esac", "function", "select", "time", "coproc", "[[", "]]", "]"}
_PLAIN = frozenset("./:@%+,=^_-!")  # in words, besides letters and digits
_GLOB = frozenset("*?[]")
_EXPANSION = re.compile(r"\$\{#?\w+(?:(?::?[-+]|%%?|##?)[\w./*-]*)?\}", re.ASCII)
_ARITHMETIC = re.compile(r"\$\(\([\d\s+*/%()-]*\)\)", re.ASCII)
_UNARY = frozenset(f"-{letter}" for letter in "bcdefghknprstuwxzGLNOS")
_BINARY = frozenset(("=", "==", "!=", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_COMPUTING = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))  # `[[` evaluates their operands
_REDIRECTIONS = frozenset(("<", ">", ">>", ">|", "&>", "&>>", ">&", "<&"))
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse_script(text: str) -> Script:
    """Read a bash script without running it."""
    reader = _Reader()
    try:
        reader.read(text, 0)
    except Unreadable as reason:
        return Script(unknown=str(reason))
    except ImportError:
        return Script(unknown=WITHOUT_PARSER)
    return Script(tuple(reader.commands), tuple(reader.files))


@functools.cache
def _language() -> tree_sitter.Language:
    import tree_sitter  # optional: the extra `parser`
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
    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.files: list[Redirection] = []
        self._data = b""

    def read(self, text: str, depth: int) -> None:
        import tree_sitter  # optional: the extra `parser`

        _check_characters(text)
        outer, self._data = self._data, text.encode()
        root = tree_sitter.Parser(_language()).parse(self._data).root_node
        if root.has_error:
            raise Unreadable("a syntax error, or a rare construct")
        self._check_gaps(root)
        self._visit(root, depth)
        self._data = outer

    def _check_gaps(self, root: tree_sitter.Node) -> None:
        """Check that between tokens there are blanks alone, and that comments begin a word."""
        end = 0
        for leaf in _leaves(root):
            if self._data[end : leaf.start_byte].strip(b" \t\n"):
                raise Unreadable("text that is not part of any token")
            before = self._data[leaf.start_byte - 1 : leaf.start_byte]
            if leaf.type == "comment" and before not in (b"", b" ", b"\t", b"\n", b";"):
                raise Unreadable("a comment inside of a word")
            end = leaf.end_byte
        if self._data[end:].strip(b" \t\n"):
            raise Unreadable("text that is not part of any token")

    def _text(self, node: tree_sitter.Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode()

    def _visit(self, node: tree_sitter.Node, depth: int) -> None:
        """Read a statement, or a group of them."""
        if depth > _DEEPEST or len(self.commands) > _MOST:
            raise Unreadable("it is nested too deep, or has too many commands")
        kind = node.type
        if kind in _GROUPS:
            self._group(node, depth)
        elif kind in ("variable_assignment", "variable_assignments"):
            nodes = node.children if kind == "variable_assignments" else [node]
            self._add(Command("", (), tuple(self._assignment(each, depth) for each in nodes)), depth)
        elif kind in self._STATEMENTS:
            self._STATEMENTS[kind](self, node, depth)
        elif kind != "comment":
            raise Unreadable(f"a construct that is not followed: {kind}")

    def _redirected(self, node: tree_sitter.Node, depth: int) -> None:
        self._check_line(node)
        for child in node.children:
            if child.type in ("file_redirect", "heredoc_redirect"):
                self._redirection(child, depth)
            else:
                self._visit(child, depth + 1)

    def _group(self, node: tree_sitter.Node, depth: int) -> None:
        is_inside = node.type in ("command_substitution", "process_substitution")
        text = self._text(node)
        if is_inside and ("#" in text or (text.startswith("`") and any(sign in text for sign in "\\'\""))):
            raise Unreadable("quotes inside of backticks, or a comment inside of a substitution")
        for child in node.children:
            if child.is_named:
                self._visit(child, depth + 1)
            elif child.type not in _TOKENS:
                raise Unreadable(f"a token that is not followed: {child.type}")

    def _check_line(self, node: tree_sitter.Node) -> None:
        """Check that no line ends between the words of a command: what follows would be another one."""
        for before, after in zip(node.children, node.children[1:], strict=False):
            if b"\n" in self._data[before.end_byte : after.start_byte]:
                raise Unreadable("a command that goes on in the next line")

    def _command(self, node: tree_sitter.Node, depth: int) -> None:
        self._check_line(node)
        variables: list[tuple[str, Word]] = []
        words: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment" and not words:
                variables.append(self._assignment(child, depth))
            elif child.type in ("file_redirect", "herestring_redirect"):
                self._redirection(child, depth)
            else:
                words.append(self._word(child.children[0] if child.type == "command_name" else child, depth))
        if words and isinstance(words[0], Dynamic):
            raise Unreadable("the name of a command is not literal")
        name = str(words[0]) if words else ""
        if words and (not name or name in _RESERVED or not node.child_by_field_name("name")):
            raise Unreadable(f"a command that is not followed: {name}")
        self._add(Command(name, tuple(words[1:]), tuple(variables)), depth)

    def _add(self, command: Command, depth: int) -> None:
        check_builtin(command)
        self.commands.append(command)
        found = inner(command)
        if isinstance(found, str):
            self.read(found, depth + 1)
        else:
            for each in found:
                if depth > _DEEPEST:
                    raise Unreadable("it runs commands by way of too many others")
                self._add(each, depth + 1)

    def _assignment(self, node: tree_sitter.Node, depth: int) -> tuple[str, Word]:
        name, operator, *value = node.children
        if name.type != "variable_name" or operator.type != "=" or len(value) > 1:
            raise Unreadable("a variable that is not plain")
        return self._text(name), self._word(value[0], depth) if value else ""

    def _declaration(self, node: tree_sitter.Node, depth: int) -> None:
        self._check_line(node)
        first, *rest = node.children
        if first.type != "export" or any(child.type != "variable_assignment" for child in rest):
            raise Unreadable(f"`{first.type}` is not followed")
        self._add(Command("export", (), tuple(self._assignment(child, depth) for child in rest)), depth)

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
        """Read `[ ... ]` and `[[ ... ]]` in their plain forms: an operator must not come from an expansion."""
        opening, closing = node.children[0].type, node.children[-1].type
        if (opening, closing) not in (("[", "]"), ("[[", "]]")):
            raise Unreadable("a test that is not followed")
        for group in self._tests(node.children[1:-1], depth, is_double=opening == "[["):
            words = group[1:] if group[:1] == ["!"] else group
            is_unary = len(words) == 2 and words[0] in _UNARY
            is_binary = len(words) == 3 and words[1] in _BINARY
            is_computed = opening == "[[" and is_binary and words[1] in _COMPUTING
            if not (len(words) == 1 or is_unary or is_binary) or is_computed:
                raise Unreadable("a test whose operators are not literal, or that computes")
            if opening == "[" and any(isinstance(word, Dynamic) and not word.is_single for word in words):
                raise Unreadable("a test whose words may be operators")
        self._add(Command(opening), depth)

    def _tests(self, nodes: list[tree_sitter.Node], depth: int, *, is_double: bool) -> list[list[Word]]:
        groups: list[list[Word]] = [[]]
        for node in nodes:
            if node.type in ("unary_expression", "binary_expression"):
                first, *rest = self._tests(node.children, depth, is_double=is_double)
                groups[-1] += first
                groups += rest
            elif node.type in ("&&", "||") and is_double:
                groups.append([])
            elif node.type in ("test_operator", "!", "=", "==", "!="):
                groups[-1].append(self._text(node))
            else:
                groups[-1].append(self._word(node, depth))
        return groups

    def _redirection(self, node: tree_sitter.Node, depth: int) -> None:
        if node.type == "heredoc_redirect":
            return self._here_document(node)
        if node.type == "herestring_redirect":
            self._word(node.children[-1], depth)
            return None
        self._check_line(node)
        children = [child for child in node.children if child.type != "file_descriptor"]
        operator, *targets = children
        if operator.type not in _REDIRECTIONS or len(targets) != 1:
            raise Unreadable("a redirection that is not followed")
        descriptor = self._data[node.start_byte : operator.start_byte]
        if len(descriptor) > 3 or (descriptor and not descriptor.isdigit()):
            raise Unreadable("a descriptor that is not followed")
        target = self._word(targets[0], depth)
        is_copy = operator.type in (">&", "<&") and isinstance(target, str) and target.isascii() and target.isdigit()
        if operator.type in (">&", "<&") and not is_copy:
            raise Unreadable("a redirection that is not followed")
        if not is_copy and target != "/dev/null":
            self.files.append(Redirection(operator.type, target))
        return None

    def _here_document(self, node: tree_sitter.Node) -> None:
        """Take a text whose delimiter is quoted: nothing is expanded in it."""
        kinds = [child.type for child in node.children]
        texts = [self._text(child) for child in node.children]
        if kinds != ["<<", "heredoc_start", "heredoc_body", "heredoc_end"]:
            raise Unreadable("a here-document that is not followed")
        delimiter, body, end = texts[1].strip("'\""), texts[2], texts[3]
        is_quoted = texts[1] in (f"'{delimiter}'", f'"{delimiter}"') and delimiter.isidentifier()
        before = self._data[: node.end_byte].decode()
        if not is_quoted or end != delimiter or delimiter in body.split("\n") or not before.endswith(f"\n{delimiter}"):
            raise Unreadable("a here-document whose delimiter is not quoted")

    def _word(self, node: tree_sitter.Node, depth: int) -> Word:
        """Return the word that a node stands for, and read the commands inside of it."""
        kind, text = node.type, self._text(node)
        if kind in ("word", "number", "variable_name", "extglob_pattern"):
            return _bare(text)
        if kind == "raw_string":
            return text[1:-1]
        if kind == "string":
            return self._string(node, depth)
        if text == "{}":
            return text
        if kind == "concatenation":
            return _joined([self._word(child, depth) for child in node.children])
        if kind in ("command_substitution", "process_substitution"):
            self._visit(node, depth + 1)
            return Dynamic("/dev/fd/" if kind == "process_substitution" else "", kind == "process_substitution")
        if kind == "simple_expansion":
            return Dynamic(is_single=text in ("$#", "$?", "$$", "$!"))
        if (kind == "expansion" and _EXPANSION.fullmatch(text)) or _ARITHMETIC.fullmatch(text):
            return Dynamic()
        raise Unreadable(f"a word that is not followed: {kind}")

    _STATEMENTS: ClassVar[dict[str, Callable[[_Reader, tree_sitter.Node, int], None]]] = {
        "command": _command,
        "declaration_command": _declaration,
        "for_statement": _for,
        "redirected_statement": _redirected,
        "test_command": _test,
    }

    def _string(self, node: tree_sitter.Node, depth: int) -> Word:
        """Read a string in double quotes; what lies between its tokens is a part of it, too."""
        parts: list[Word] = []
        at = node.start_byte + 1
        for child in node.children[1:-1]:
            parts.append(_unescaped(self._data[at : child.start_byte].decode()))
            at = child.end_byte
            if child.type == "string_content":
                parts.append(_unescaped(self._text(child)))
            elif child.type == "expansion" and _EXPANSION.fullmatch(self._text(child).strip()):
                # The parser takes blanks before it for a part of it.
                parts.append(Dynamic(is_single="@" not in self._text(child)))
            else:
                word = self._word(child, depth)
                many = isinstance(word, Dynamic) and "@" in self._text(child)
                parts.append(Dynamic(is_single=not many))
        parts.append(_unescaped(self._data[at : node.end_byte - 1].decode()))
        return _joined(parts)


def _bare(text: str) -> Word:
    """Return what a word without quotes stands for."""
    if text in ("{}", "[", "]", "!"):
        return text
    literal: list[str] = []
    characters = iter(text)
    for number, character in enumerate(characters):
        if character == "\\":
            following = next(characters, "\n")
            if following == "\n":
                raise Unreadable("a line that is continued")
            literal.append(following)
        elif character in _GLOB:
            return Dynamic("".join(literal))
        elif character == "~" and number == 0:
            return Dynamic(is_single=True)
        elif character.isalnum() or character in _PLAIN or (character == "~" and number):
            literal.append(character)
        else:
            raise Unreadable(f"a word with {character}")
    if "=~" in text or ":~" in text:
        raise Unreadable("a word with a tilde inside")
    return "".join(literal)


def _unescaped(text: str) -> str:
    if "\\\n" in text or "`" in text.replace("\\`", ""):
        raise Unreadable("a line that is continued, or a backtick in a string")
    return re.sub(r'\\([$`"\\])', r"\1", text)


def _joined(words: list[Word]) -> Word:
    prefix, is_single = "", True
    is_known = True
    for word in words:
        if isinstance(word, Dynamic):
            prefix += word.prefix if is_known else ""
            is_known = False
            is_single &= word.is_single
        elif is_known:
            prefix += word
    return prefix if is_known else Dynamic(prefix if is_single or prefix else "", is_single)
