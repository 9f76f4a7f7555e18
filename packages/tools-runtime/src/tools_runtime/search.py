"""Search for tools: `Index` ranks definitions by the words of a query, and `ToolSearch` has the tool for models."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, metadata
from typing import Annotated, Any, NamedTuple

from tools_core import Limits, Registry, Result, Tool, tool

_NAME, _DESCRIPTION, _PARAMETER, _DETAIL = 3.0, 1.0, 1.0, 0.5  # weights; details are texts and values of parameters
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of BM25
# Letters of scripts without spaces between words, such as Chinese and Thai, and of Korean: each counts as a word.
_SIGN = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_WORD = re.compile(rf"{_SIGN}|(?:(?!{_SIGN})[^\W\d_])+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SUFFIXES = {"ies": "y", "sses": "ss", "ing": "", "ed": "", "es": "", "s": ""}
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be by can could did do does for from had has have how i if in is it its may me my no not "
        "of on or our please shall should that the these this those to was we were what when where which who will "
        "with would you your"
    )
)


NAME = "search_tools"
MATCHES = "matches"  # the member of a result's metadata with the names of the tools
_MAX_LINE = 160  # characters of a package in the catalogue
_MAX_PACKAGES = 100
_TOOL_DESCRIPTION = """\
Find tools by their purpose. Most tools are not listed here: search before you conclude that a task is impossible. The \
matching tools can be called from your next step on; search again with other words if none of them fits.

Tools that can be found:
"""


class Hit(NamedTuple):
    """A match: the name of a tool, and its score, which is higher for a better match."""

    name: str
    score: float


class Index:
    """An index of definitions, as `Registry.definitions()` returns them. It does not change: create another one.

    The ranking is BM25 with stemmed words: of the name (three times), the description, and the names, descriptions,
    choices and examples of parameters.

        >>> from tools_runtime import search
        >>> weather = {"name": "get_forecast", "description": "Weather of a city.", "input_schema": {}}
        >>> mail = {"name": "send_mail", "description": "Send an e-mail.", "input_schema": {}}
        >>> [hit.name for hit in search.Index([weather, mail]).search("will it rain? show me the forecasts")]
        ['get_forecast']
    """

    def __init__(self, definitions: Iterable[Mapping[str, Any]]) -> None:
        definitions = list(definitions)
        self._names: list[str] = [definition["name"] for definition in definitions]
        counts = [_count(_fields(definition)) for definition in definitions]
        mean = sum(sum(count.values()) for count in counts) / (len(counts) or 1) or 1.0
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, count in enumerate(counts):
            norm = _SATURATION * (1 - _LENGTH + _LENGTH * sum(count.values()) / mean)
            for word, weight in count.items():
                self._postings[word].append((place, weight * (_SATURATION + 1) / (weight + norm)))
        for word, postings in self._postings.items():
            rarity = math.log(1 + (len(counts) - len(postings) + 0.5) / (len(postings) + 0.5))
            self._postings[word] = [(place, rarity * score) for place, score in postings]

    def search(self, query: str, limit: int = 10) -> list[Hit]:
        """Return the best matches, the best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in _count([(1.0, query)]):
            for place, score in self._postings.get(word, ()):
                scores[place] += score
        ranking = sorted(scores, key=lambda place: -scores[place])
        return [Hit(self._names[place], scores[place]) for place in ranking[:limit]]


class ToolSearch:
    """Deferred tools by name, whose definitions a model does not read, and the tool that finds them.

    `packages` has the package of each tool: see `package_of`.
    """

    def __init__(self, tools: Mapping[str, Tool], packages: Mapping[str, str]) -> None:
        self.tools = tools
        self._packages = packages

    @cached_property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """The definitions by name."""
        return {name: {**tool.definition, "name": name} for name, tool in self.tools.items()}

    @cached_property
    def index(self) -> Index:
        """The index of the definitions."""
        return Index(self.definitions.values())

    @cached_property
    def tool(self) -> Tool:
        """The tool that the model calls."""

        @tool(name=NAME, description=_TOOL_DESCRIPTION + self.catalogue, read_only=True)
        def search_tools(
            query: Annotated[str, "Words for what the tool should do, and for its arguments"],
            limit: Annotated[int, "The number of tools", Limits(ge=1, le=50)] = 10,
        ) -> Result:
            names = [hit.name for hit in self.index.search(query, limit)]
            if not names:
                return Result.ok("No tool matches. Search with other words.", metadata={MATCHES: []})
            lines = [f"{name}: {_first_line(self.tools[name])}" for name in names]
            return Result.ok("\n".join(lines), metadata={MATCHES: names})

        return search_tools

    @property
    def catalogue(self) -> str:
        """One line for each package with deferred tools."""
        groups: dict[str, list[str]] = defaultdict(list)
        for name in self.tools:
            groups[self._packages[name]].append(name)
        lines = [f"- {package} ({len(names)} tools): {_summary(package, names)}" for package, names in groups.items()]
        more = [f"- and {len(lines) - _MAX_PACKAGES} more packages"] if len(lines) > _MAX_PACKAGES else []
        return "\n".join([line[:_MAX_LINE] for line in lines[:_MAX_PACKAGES]] + more)


def _fields(definition: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    """Yield the texts of a definition with their weights."""
    yield _NAME, definition["name"]
    yield _DESCRIPTION, definition.get("description") or ""
    yield from _parameters(definition.get("input_schema"))
    yield _DETAIL, str(definition.get("examples") or "")


def _parameters(schema: Any) -> Iterator[tuple[float, str]]:
    if isinstance(schema, Mapping):
        for name, parameter in (schema.get("properties") or {}).items():
            yield _PARAMETER, name
            yield from _parameters(parameter)
        yield _DETAIL, f"{schema.get('description', '')} {schema.get('enum', '')}"
        yield from _parameters(schema.get("items"))


def _count(fields: Iterable[tuple[float, str]]) -> Counter[str]:
    count: Counter[str] = Counter()
    for weight, text in fields:
        for word in _WORD.findall(_CAMEL.sub(" ", text).casefold()):
            if word not in _STOP_WORDS:
                count[_stem(word)] += weight  # type: ignore[assignment]  # weights are fractions
    return count


def _stem(word: str) -> str:
    """Return a word without the endings of plurals and verbs: `matches`, `matched` and `matching` are equal."""
    if len(word) < 4:
        return word
    suffix = next((suffix for suffix in _SUFFIXES if word.endswith(suffix) and len(word) - len(suffix) >= 3), "")
    if suffix and not word.endswith("ss"):
        word = word[: -len(suffix)] + _SUFFIXES[suffix]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") else word.removesuffix("e") if len(word) > 4 else word


def _summary(package: str, names: Sequence[str]) -> str:
    try:
        summary = metadata(package)["Summary"]
    except (PackageNotFoundError, ValueError):
        summary = None
    return summary or ", ".join(names)


def _first_line(tool: Tool) -> str:
    return str(tool.definition["description"]).strip().partition("\n")[0]


def package_of(source: object, name: str, tool: Tool) -> str:
    """Return the distribution or the MCP server of a tool, else the module that defines it."""
    point = source.origin(name) if isinstance(source, Registry) else None
    module: str = getattr(tool, "__module__", None) or type(tool).__module__
    return point.distribution if point is not None else module
