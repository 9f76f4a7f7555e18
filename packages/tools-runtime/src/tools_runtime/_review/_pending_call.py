"""`PendingCall`: a call that waits for approval, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tools_core import ApprovalRequest
from tools_core.command import json_text
from tools_runtime._review._diff import diff_of, short_path
from tools_runtime._review._lines import Line, Style, block

MAX_LINES = 40  # of a request that are shown at first
_TAIL = 10  # of these, at its end
_MAX_WIDTH = 500  # characters of a line that are shown at first
_DIFF_STYLES: Mapping[str, Style] = {"+": "added", "-": "removed", "@": "hunk", "*": "hunk"}


class PendingCall:
    """A call that waits for approval: its tool, every argument, its diff, its effects, and the reasons.

    `request` is an ApprovalRequest, or the same as JSON: an item of `response.pending` and `session.pending_approvals`.
    """

    def __init__(self, request: ApprovalRequest | Mapping[str, Any]) -> None:
        values = request.to_dict() if isinstance(request, ApprovalRequest) else request
        self.tool: str = values["tool"]
        self.agent: str | None = values.get("agent")
        self.arguments: Mapping[str, Any] = values["arguments"]
        self.effects: Mapping[str, Any] = values.get("effects") or {}
        self.workspace: str | None = values.get("workspace")
        self.reasons = "; ".join(values["reasons"])
        self.diff = diff_of(self.tool, self.arguments, self.effects.get("paths"), self.workspace)

    def lines(self, *, whole: bool = True) -> list[Line]:
        """Return the request; with `whole=False` without the middle of a long one, see `hidden`."""
        name = self.tool + (f" of {self.agent}" if self.agent else "")
        head = [Line.of("title", f"{name} needs approval: {self.reasons}"), *self._facts(whole=whole)]
        body = list(self._body())
        if not whole:
            body = [line._replace(text=_clipped(line.text)) for line in body]
            if len(body) > MAX_LINES:
                hidden = Line("note", f"… {len(body) - MAX_LINES} lines are not shown …", "  ")
                body = [*body[: MAX_LINES - _TAIL], hidden, *body[-_TAIL:]]
        return [*head, *body]

    @property
    def is_long(self) -> bool:
        """True if `lines(whole=False)` leaves something out."""
        body = list(self._body())
        return len(body) > MAX_LINES or any(len(line.text) > _MAX_WIDTH for line in body)

    def _facts(self, *, whole: bool) -> Iterator[Line]:
        """Yield what the tool reports about the call."""
        hints = [name if value else f"not {name}" for name, value in self.effects.get("annotations", {}).items()]
        paths = self.effects.get("paths", ())
        if paths is None and self.effects.get("commands") != []:
            yield Line("note", "files: not known", "  ")
        elif paths:
            names = ", ".join(short_path(path, self.workspace) for path in paths)
            yield Line.of("note", f"files: {names}", "  ")
        if hints:
            yield Line.of("note", f"hints: {', '.join(hints)}", "  ")
        if self.workspace:
            yield Line.of("note", f"workspace: {self.workspace}", "  ")
        settings = self.effects.get("settings") or {}
        text = json_text(settings, pretty=False) if whole else ", ".join(_scalars(settings))
        if settings and text:
            yield Line.of("note", f"settings: {text}", "  ")

    def _body(self) -> Iterator[Line]:
        """Yield the arguments, and the diff instead of the arguments that it contains."""
        hidden = self.diff.arguments if self.diff else ()
        for name, value in self.arguments.items():
            if name in hidden:
                continue
            text = value if isinstance(value, str) else json_text(value, pretty=False)
            is_plain = len(text) <= 200 and (not isinstance(value, str) or json_text(text, pretty=False) == f'"{text}"')
            if is_plain:
                yield Line.of("text", f"{name} = {json_text(value, pretty=False)}", "  ")
                continue
            yield Line.of("text", f"{name}:", "  ")
            yield from block(text if isinstance(value, str) else json_text(value, pretty=True))
        for line in self.diff.lines if self.diff else ():
            yield Line.of(_DIFF_STYLES.get(line[:1], "text"), line, "  │ ")


def _clipped(text: str) -> str:
    return text if len(text) <= _MAX_WIDTH else f"{text[:_MAX_WIDTH]}… ({len(text) - _MAX_WIDTH:,} more characters)"


def _scalars(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts and flags in the settings of a call."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _scalars(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, str | bool):
        yield f"{name} = {json_text(value, pretty=False)}"
