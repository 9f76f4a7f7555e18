"""`scripted:demo`: a script that plays the model, without a key or a network."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tools_agent import ScriptedProvider, ToolResult, User
from tools_core import ToolCall

if TYPE_CHECKING:
    from tools_agent import Assistant, Request

    Reply = str | list[str | ToolCall] | Assistant

_TIDY = {"list_directory", "read_file", "edit_file", "bash"}
_LEFTOVER = re.compile(r"(?i).*(~|\.(bak|log|old|orig|tmp))")
_NOTES = re.compile(r"(?i)(readme.*|.*\.(md|rst|txt))")
_EMPTY: Mapping[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def demo_model(name: str) -> DemoModel:
    """Return the provider of `scripted:demo`. Raises ValueError for another script."""
    if name != "demo":
        raise ValueError(f"there is no script {name!r}; scripted:demo is one")
    return DemoModel()


class DemoModel(ScriptedProvider):
    """Play a model in any folder, with any tools.

    `Tidy this folder` edits a file, and deletes leftovers with a command, and with them one file too many. A prompt
    that names a tool calls it. Any other prompt writes a list of the files, or calls the first tool.
    """

    def __init__(self) -> None:
        super().__init__(default=_reply)

    def close(self) -> None:
        """Do nothing: a script has no connections."""

    async def aclose(self) -> None:
        """Do nothing: a script has no connections."""


def _reply(request: Request) -> Reply:
    tools = {tool["name"]: tool for tool in request.tools}
    if not tools:
        return "I am a script, not a model, and need a tool: --tools ./weather.py:weather"
    prompts = [(place, message) for place, message in enumerate(request.messages) if isinstance(message, User)]
    start, prompt = prompts[-1][0], prompts[-1][1].content
    results = [message for message in request.messages[start:] if isinstance(message, ToolResult)]
    if re.search(r"(?i)\b(clean|tidy)", prompt) and tools.keys() >= _TIDY:
        return _tidy(results)
    name = next((name for name in tools if re.search(rf"\b{name}\b", prompt)), None)
    if name is None and tools.keys() >= {"list_directory", "write_file"}:
        return _summarize(prompt, results)
    if results:
        return f"{results[-1].name} returned: {results[-1].content}"
    name = name or next(iter(tools))
    arguments = _arguments(tools[name]["input_schema"], prompt)
    return [
        f"I am a script, not a model. I call {name} with the last word of the prompt.",
        ToolCall(None, name, arguments),
    ]


def _tidy(results: Sequence[ToolResult]) -> Reply:
    """List the folder, read a file, edit it, delete leftovers and one file too many, and say what was done."""
    by_tool = {result.name: result for result in results}
    if "list_directory" not in by_tool:
        return ["I am a script, not a model. First I look at the folder.", ToolCall(None, "list_directory", {})]
    if by_tool["list_directory"].error is not None:
        return f"I could not look at the folder: {by_tool['list_directory'].content}"
    files = re.findall(r"(?m)^(.+) \([\d,]+ bytes\)$", by_tool["list_directory"].content)
    leftovers = [name for name in files if _LEFTOVER.fullmatch(name)]
    notes = min((name for name in files if _NOTES.fullmatch(name)), key=lambda name: (len(name), name), default=None)
    others = [name for name in files if name != notes and name not in leftovers and not name.startswith(".")]
    deleted = [*leftovers[:20], *others[:1]]  # the other file is the mistake
    if notes and "read_file" not in by_tool:
        return [f"{notes} should say which files are here. I read it.", ToolCall(None, "read_file", {"path": notes})]
    line = _last_unique_line(by_tool["read_file"].content) if notes else ""
    if line and "edit_file" not in by_tool:
        remaining = [name for name in files if name not in deleted][:50]
        list_of_files = "".join(f"- {name}\n" for name in remaining).rstrip("\n")
        arguments = {"path": notes, "old_string": line, "new_string": f"{line}\n\n## Files\n\n{list_of_files}"}
        return ["I add a list of the files.", ToolCall(None, "edit_file", arguments)]
    if deleted and "bash" not in by_tool:
        # On purpose the mistake happens in a copy alone: a demonstration must not lose a file of its user.
        arguments = {"command": f"[[ -n $ASK_TOOLS_COPY ]] && rm -v -- {shlex.join(deleted)}"}
        return [f"Now I delete what looks like leftovers: {', '.join(deleted)}.", ToolCall(None, "bash", arguments)]
    is_edited = "edit_file" in by_tool and by_tool["edit_file"].error is None
    is_deleted = "bash" in by_tool and "removed" in by_tool["bash"].content
    done = [f"added a list of the files to {notes}"] if is_edited else []
    done += [f"deleted {', '.join(deleted)}"] if is_deleted else []
    text = f"Done: I {' and '.join(done) or 'changed nothing'}."
    if is_deleted and others:
        text += f" {others[0]} was one too many: look at the diff, apply the rest, or undo it."
    if deleted and not is_deleted:
        is_original = by_tool["bash"].error is None
        text += (
            f" I {'delete files in a preview alone: add --mode preview' if is_original else 'could not delete files'}."
        )
    return text


def _last_unique_line(numbered: str) -> str:
    """Return the last line of a result of read_file that is nowhere else in it; empty without one."""
    lines = re.findall(r"(?m)^ *\d+\t(.*)$", numbered)
    text = "\n".join(lines)
    return next((line for line in reversed(lines) if line.strip() and text.count(line) == 1), "")


def _summarize(prompt: str, results: Sequence[ToolResult]) -> Reply:
    if not results:
        return ["I am a script, not a model. First I look at the folder.", ToolCall(None, "list_directory", {})]
    if len(results) == 1:
        summary = f"# Summary\n\nYou asked: {prompt}\n\n{results[0].content}\n"
        arguments = {"path": "summary.md", "content": summary}
        return ["Now I write the list to summary.md.", ToolCall(None, "write_file", arguments)]
    if results[-1].error is None:
        return "Done: summary.md has the list of files."
    return f"I could not write summary.md: {results[-1].content}"


def _arguments(schema: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    """Return the required arguments: choices take their first value, text the last word of the prompt."""
    words = re.findall(r"[^\s?!,;]+", prompt.rstrip(".")) or ["demo"]
    required = {name: schema["properties"][name] for name in schema.get("required", ())}
    return {
        name: parameter["enum"][0] if "enum" in parameter else _EMPTY.get(parameter.get("type"), words[-1])
        for name, parameter in required.items()
    }
