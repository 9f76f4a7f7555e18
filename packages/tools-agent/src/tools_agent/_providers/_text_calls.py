"""Tool calls as text, in four notations: each writes calls, and reads them again out of a reply."""

from __future__ import annotations

import ast
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from keyword import iskeyword
from typing import Any, ClassVar
from uuid import uuid4
from xml.sax.saxutils import quoteattr, unescape

from tools_agent._providers._turns import argument_text
from tools_core import InvalidArguments, ToolCall

MALFORMED = "malformed_call"  # the name of a call that cannot be read; its arguments are the text as it came


class Notation(ABC):
    """One way to write calls. `names` are those of the tools; other names are read, too."""

    example: ClassVar[str]
    start: ClassVar[re.Pattern[str]]  # where calls begin
    almost: ClassVar[re.Pattern[str]]  # the end of a text that may become the beginning of calls

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)

    @abstractmethod
    def write(self, calls: Sequence[ToolCall]) -> str:
        """Return calls as text."""

    @abstractmethod
    def blocks(self, text: str) -> list[tuple[int, int]]:
        """Return where calls stand in a text."""

    @abstractmethod
    def read_block(self, block: str) -> list[ToolCall]:
        """Return the calls in a block; ValueError says what is wrong with it."""

    def read(self, text: str) -> tuple[str, list[ToolCall]]:
        """Return the text without its calls, and the calls, each with an id.

        Drops the text after a result that the model invents. A block that cannot be read becomes a call of `MALFORMED`.
        """
        calls: list[ToolCall] = []
        texts: list[str] = []
        end = 0
        for start, stop in [*self.blocks(text), (len(text), len(text))]:
            between, invented, _ = text[end:start].partition("<tool_result")
            texts.append(between.strip())
            if invented or start == stop:
                break
            try:
                found = self.read_block(text[start:stop])
            except ValueError:
                found = [ToolCall(None, MALFORMED, text[start:stop])]
            calls += [ToolCall(f"call_{uuid4().hex}", call.name, call.raw_arguments) for call in found]
            end = stop
        return ("\n\n".join(filter(None, texts)) if calls else text), calls

    def problem(self, block: str) -> str:
        """Return what is wrong with a malformed block."""
        try:
            self.read_block(block)
        except ValueError as error:
            return str(error)
        return ""


class _Tagged(Notation):
    """Each call stands in a `<tool_call>` element, whose end may be missing at the end of the text."""

    start = re.compile(r"<tool_call\b")
    almost = re.compile(r"<[acelot_]{0,9}\Z")
    _BLOCK = re.compile(r"<tool_call\b([^>]*)>(.*?)(?:</tool_call>|$)", re.DOTALL)

    def write(self, calls: Sequence[ToolCall]) -> str:
        return "\n".join(argument_text(call) if call.name == MALFORMED else self.write_call(call) for call in calls)

    def blocks(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in self._BLOCK.finditer(text)]

    def read_block(self, block: str) -> list[ToolCall]:
        match = self._BLOCK.match(block)
        if match is None:
            raise ValueError("the tag <tool_call> does not end")
        return [self.read_call(match[1], match[2].strip())]

    @abstractmethod
    def write_call(self, call: ToolCall) -> str:
        """Return one call as an element."""

    @abstractmethod
    def read_call(self, attributes: str, body: str) -> ToolCall:
        """Return the call of an element."""


class JsonWithTag(_Tagged):
    """A JSON object with the name and the arguments."""

    example = '<tool_call>\n{"name": "the_tool", "arguments": {"city": "Oslo", "days": 2}}\n</tool_call>'

    def write_call(self, call: ToolCall) -> str:
        return f"<tool_call>\n{_json({'name': call.name, 'arguments': _given(call)})}\n</tool_call>"

    def read_call(self, attributes: str, body: str) -> ToolCall:  # noqa: ARG002  (other notations have some)
        value = _parsed(body)
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise ValueError('expected a JSON object with "name" and "arguments"')  # noqa: TRY004  (text of a model)
        arguments = value.get("arguments", {})
        if not isinstance(arguments, dict | str):
            raise ValueError('"arguments" has to be a JSON object')  # noqa: TRY004
        return ToolCall(None, value["name"], arguments)


class JsonInXml(_Tagged):
    """The name as an attribute, and the arguments as JSON."""

    example = '<tool_call name="the_tool">\n{"city": "Oslo", "days": 2}\n</tool_call>'

    def write_call(self, call: ToolCall) -> str:
        given = _given(call)
        body = given if isinstance(given, str) else _json(given)
        return f"<tool_call name={quoteattr(call.name)}>\n{body}\n</tool_call>"

    def read_call(self, attributes: str, body: str) -> ToolCall:
        value = _parsed(body or "{}")
        if not isinstance(value, dict):
            raise ValueError("expected a JSON object of arguments in the element")  # noqa: TRY004  (text of a model)
        return ToolCall(None, _name_in(attributes), value)


class Xml(_Tagged):
    """Each argument in an element: text for strings, JSON for other values."""

    example = (
        '<tool_call name="the_tool">\n<parameter name="city">Oslo</parameter>\n'
        '<parameter name="days" type="json">2</parameter>\n</tool_call>'
    )
    _PARAMETER = re.compile(r"\s*<parameter\b([^>]*)>(.*?)</parameter>\s*", re.DOTALL)

    def write_call(self, call: ToolCall) -> str:
        given = _given(call)
        if isinstance(given, str):
            body = f"{_escaped(given)}\n"
        else:
            body = "".join(map(self._write_parameter, given, given.values()))
        return f"<tool_call name={quoteattr(call.name)}>\n{body}</tool_call>"

    def _write_parameter(self, name: str, value: Any) -> str:
        kind, text = ("", value) if isinstance(value, str) else (' type="json"', _json(value))
        return f"<parameter name={quoteattr(name)}{kind}>{_escaped(text)}</parameter>\n"

    def read_call(self, attributes: str, body: str) -> ToolCall:
        name, arguments, end = _name_in(attributes), dict[str, Any](), 0
        for match in self._PARAMETER.finditer(body):
            if match.start() != end:
                break
            text = unescape(match[2])
            arguments[_name_in(match[1])] = _parsed(text) if 'type="json"' in match[1] else text
            end = match.end()
        if body[end:]:
            raise ValueError(f"expected <parameter name=...> elements, got {body[end:][:60]!r}")
        return ToolCall(None, name, arguments)


class Pythonic(Notation):
    """A list of Python calls with literals as keyword arguments, at the end of the reply."""

    example = '[the_tool(city="Oslo", days=2)]'
    start = re.compile(r"^(?:```\w*\n)?\[\s*[A-Za-z_][\w.]*\s*\(", re.MULTILINE)
    almost = re.compile(r"^(?:`{1,3}\w*\n?)?(?:\[[\s\w.]*)?\Z", re.MULTILINE)

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self._own = {_identifier(name): name for name in self.names}

    def write(self, calls: Sequence[ToolCall]) -> str:
        broken = [argument_text(call) for call in calls if call.name == MALFORMED]
        return "\n".join(broken) or f"[{', '.join(map(self._write_call, calls))}]"

    def _write_call(self, call: ToolCall) -> str:
        given = _given(call)
        wire = _identifier(call.name)
        if isinstance(given, str):
            return f"{wire}({given!r})"
        odd = {key: value for key, value in given.items() if key != _identifier(key) or "." in key}
        words = [f"{key}={value!r}" for key, value in given.items() if key not in odd]
        return f"{wire}({', '.join([*words, *([f'**{odd!r}'] if odd else [])])})"

    def blocks(self, text: str) -> list[tuple[int, int]]:
        for match in self.start.finditer(text):
            whole = text[match.start() :]
            block = whole.partition("\n<tool_result")[0] if self.problem(whole) else whole
            called = re.findall(r"[A-Za-z_][\w.]*(?=\s*\()", match[0])
            if not self.problem(block) or called[0] in self._own:
                return [(match.start(), match.start() + len(block))]
        return []

    def read_block(self, block: str) -> list[ToolCall]:
        text = re.sub(r"^```\w*\n|```\s*$", "", block)
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"not a Python list of calls: {error}") from None
        if not isinstance(tree, ast.List):
            raise ValueError("expected a list of calls, such as [tool(city='Oslo')]")  # noqa: TRY004
        return [self._read_call(node) for node in tree.elts]

    def _read_call(self, node: ast.expr) -> ToolCall:
        if not isinstance(node, ast.Call):
            raise ValueError(f"expected a call, got {ast.unparse(node)[:60]}")  # noqa: TRY004
        wire = ast.unparse(node.func)
        name = self._own.get(wire, wire)
        given = [ast.literal_eval(argument) for argument in node.args]
        if len(given) == 1 and isinstance(given[0], str) and not node.keywords:
            return ToolCall(None, name, given[0])
        if given:
            raise ValueError(f"{wire}: write every argument by name, such as city='Oslo'")
        arguments: dict[str, Any] = {}
        for keyword in node.keywords:
            value = ast.literal_eval(keyword.value)
            arguments |= {keyword.arg: value} if keyword.arg else value
        return ToolCall(None, name, arguments)


NOTATIONS: dict[str, type[Notation]] = {
    "json-with-tag": JsonWithTag,
    "json-in-xml": JsonInXml,
    "xml": Xml,
    "pythonic": Pythonic,
}


def _identifier(name: str) -> str:
    """Return a name, with dots, that Python can call."""
    made = re.sub(r"[^A-Za-z0-9_.]|^(?=[0-9.])", "_", name) or "_"
    return f"{made}_" if iskeyword(made) else made


def _given(call: ToolCall) -> dict[str, Any] | str:
    """Return the arguments, parsed where that is possible."""
    try:
        return call.arguments
    except InvalidArguments:
        return call.raw or ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None


def _name_in(attributes: str) -> str:
    match = re.search(r"""\bname=("[^"]*"|'[^']*')""", attributes)
    if match is None:
        raise ValueError('the attribute name="..." is missing')
    return unescape(match[1][1:-1], {"&quot;": '"', "&#10;": "\n", "&#13;": "\r", "&#9;": "\t"})
