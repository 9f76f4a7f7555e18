"""Record a model's replies and the results of tools in a file, and replay them without network, key and tools."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_agent import Assistant, Delta, Provider, ProviderError, Request, ScriptedProvider, get_provider
from tools_core import Context, Registry, Result, Tool, ToolError, tool
from tools_core.text import is_secret_name
from tools_runtime.plugins import OutputBudget, Redactor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

Rendered: TypeAlias = dict[str, Any]  # a request as JSON

_MIN_SECRET = 8  # characters of a value that is hidden wherever it occurs
_SENT = ("name", "description", "input_schema", "examples")  # of definitions
_NOT_SENT = ("id", "items", "model", "output", "provider", "stop_reason", "usage")  # of messages


class ReplayError(ProviderError):
    """A recording has no reply to a request; the message shows the difference to the nearest recorded request."""


class RecordingProvider:
    """Passes requests to a provider, and records its replies in a file.

        agent = Agent(model=RecordingProvider("openai:gpt-5", "run.jsonl"), tools=[weather])

    The file is replaced, or continued with `append`; only its owner can read it. Results of tools are recorded with
    the next request, which has them. Hidden are the values of environment variables with secret names and `secrets`,
    also as JSON, in base64 or in an address; values of names that look secret; passwords in addresses, well-known
    tokens and private keys.
    """

    def __init__(
        self,
        provider: Provider | str,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str] = (),
        append: bool = False,
    ) -> None:
        self.provider: Provider
        self.model: str
        if isinstance(provider, str):
            self.provider, self.model = get_provider(provider)
        else:
            self.provider, self.model = provider, getattr(provider, "model", "")
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._redactor = _redactor(secrets)
        self._lock = Lock()
        self._definitions: set[str] = set()
        with open(self._path, "ab" if append else "wb", opener=_private):
            self._path.chmod(0o600)  # of a file that existed

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """Yield the reply of the provider."""
        async for piece in self.provider.astream(request):
            if isinstance(piece, Assistant):
                self._record(request, piece)
            yield piece

    def close(self) -> None:
        """Close the connections of the provider."""
        if close := getattr(self.provider, "close", None):
            close()

    async def aclose(self) -> None:
        """`close` for coroutines."""
        if aclose := getattr(self.provider, "aclose", None):
            await aclose()

    def _record(self, request: Request, reply: Assistant) -> None:
        rendered = _render(request, self._redactor)
        tools = rendered.pop("tools")
        digest = _digest(tools)
        lines: list[Any] = []
        with self._lock, self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            if digest not in self._definitions:  # once for all requests
                self._definitions.add(digest)
                lines.append({"tools": digest, "definitions": tools})
            lines.append(
                {"request": {**rendered, "tools": digest}, "reply": self._redactor.clean_json(reply.to_dict())}
            )
            file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


class ReplayProvider:
    """Answers requests from recordings, in their recorded order if the same request occurs again.

    A request that is not in the recording raises ReplayError. `tools()` are the recorded tools, which return the
    recorded results. `calls` has the requests.
    """

    def __init__(
        self, path: str | os.PathLike[str], *others: str | os.PathLike[str], secrets: Iterable[str] = ()
    ) -> None:
        self._path = Path(path)
        self._redactor = _redactor(secrets)
        self._lock = Lock()
        self._requests: dict[str, Rendered] = {}
        self._replies: defaultdict[str, list[Assistant]] = defaultdict(list)
        self._next: defaultdict[str, int] = defaultdict(int)
        self._results: defaultdict[str, dict[str, Result]] = defaultdict(dict)  # by the ids of calls, and by _digest
        self._definitions: dict[str, dict[str, Any]] = {}
        for file in (path, *others):
            self._read(Path(file))
        self.model: str = next(iter(self._requests.values()), {}).get("model", "")
        self._script = ScriptedProvider(default=self._reply)
        self.calls, self.astream = self._script.calls, self._script.astream

    def tools(self, originals: Any = None) -> list[Tool]:
        """Return tools that are not run: they return the recorded results.

        The definitions come from `originals`, tools and toolsets as an agent takes them, so that a changed definition
        is noticed, or from the recording.
        """
        if originals is not None:
            definitions = [dict(original.definition) for original in Registry(originals).all()]
        else:
            added = OutputBudget(1).tool.name  # the agent adds it again
            definitions = [definition for name, definition in self._definitions.items() if name != added]
        return [self._stub(definition) for definition in definitions]

    def _read(self, path: Path) -> None:
        definitions: dict[str, Any] = {}
        try:
            for line in filter(str.strip, path.read_text("utf-8-sig").split("\n")):  # U+2028 ends no line
                entry = json.loads(line)
                if "definitions" in entry:
                    definitions[entry["tools"]] = entry["definitions"]
                    self._definitions |= {definition["name"]: definition for definition in entry["definitions"]}
                    continue
                request = entry["request"] | {"tools": definitions[entry["request"]["tools"]]}
                key = _digest(request)
                self._requests[key] = request
                self._replies[key].append(Assistant.model_validate(entry["reply"]))
                self._read_results(request["messages"])
        except OSError as error:
            raise ReplayError(f"{path} cannot be read: {error.strerror}; record it first") from error
        except (KeyError, TypeError, ValueError) as error:
            raise ReplayError(f"{path} is not a recording: {error}") from error

    def _read_results(self, messages: Sequence[Mapping[str, Any]]) -> None:
        calls: dict[str, Any] = {}
        for message in messages:
            calls |= {call["id"]: call for call in message.get("tool_calls", ())}
            if message["role"] == "tool":
                id = message["tool_call_id"]
                key = _digest([message["name"], calls.get(id, {}).get("arguments")])
                self._results[id][key] = Result.from_dict(message["result"])

    def _reply(self, request: Request) -> Assistant:
        rendered = _render(request, self._redactor)
        key = _digest(rendered)
        with self._lock:
            replies = self._replies.get(key)
            if replies is None:
                raise ReplayError(self._difference(rendered))
            self._next[key] += 1
            return replies[(self._next[key] - 1) % len(replies)]

    def _difference(self, rendered: Rendered) -> str:
        lines = _lines(rendered)
        present = set(lines)
        nearest = max(self._requests.values(), key=lambda other: len(present.intersection(_lines(other))), default={})
        changes = unified_diff(_lines(nearest), lines, "recorded", "requested", n=1, lineterm="")
        changed = [line if len(line) <= 300 else f"{line[:300]}…" for line in changes]
        more = [f"… {len(changed) - 60} more lines"] if len(changed) > 60 else []
        difference = "\n".join([*changed[:60], *more])
        return f"{self._path} has no reply to this request; record it again, or undo this change:\n{difference}"

    def _stub(self, definition: Mapping[str, Any]) -> Tool:
        options: dict[str, Any] = {key: definition[key] for key in _SENT if definition.get(key)}

        @tool(**options)
        def replayed(context: Context, **arguments: Any) -> Any:
            results = self._results.get(context.call_id or "", {})  # several, if conversations have the same ids
            result = results.get(_digest([definition["name"], arguments]), next(reversed(results.values()), None))
            if result is None:
                message = f"{self._path} has no result for this call of {definition['name']}"
                raise ToolError(f"{message}; results that end a run are not recorded")
            return result

        return replayed


def _render(request: Request, redactor: Redactor) -> Rendered:
    """Return what the provider sends, as JSON without secrets, and without the ids and costs of messages."""
    messages = [
        {key: value for key, value in message.to_dict().items() if key not in _NOT_SENT} for message in request.messages
    ]
    rendered = {
        "model": request.model,
        "messages": messages,
        "tools": [{key: tool[key] for key in _SENT if tool.get(key)} for tool in request.tools],
        "settings": dict(request.settings),
        "output_schema": request.output_schema,
    }
    copy: Rendered = json.loads(json.dumps(rendered, default=str))
    # The names of parameters in a schema look like those of secrets.
    return {key: redactor.clean_json(copy[key], named=key in ("messages", "settings")) for key in copy}


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _lines(rendered: Rendered) -> list[str]:
    return json.dumps(rendered, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _redactor(secrets: Iterable[str]) -> Redactor:
    environment = [value for name, value in os.environ.items() if is_secret_name(name) and len(value) >= _MIN_SECRET]
    return Redactor([*environment, *secrets])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
