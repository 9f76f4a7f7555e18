"""Inspect (inspect-ai): our tools in its tasks, and reports as its logs. Needs the extra `inspect`."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from inspect_ai.log import EvalLog, write_eval_log
from inspect_ai.model import ContentImage, ContentText
from inspect_ai.tool import ToolDef, ToolError, ToolParams

from tools_core import Approve, Image, Registry, Result, Tool, ToolCall
from tools_core.formats import openai
from tools_core.schema import resolve
from tools_eval._report import Attempt, Rate, Report


def to_inspect(tools: Iterable[Tool], *, approve: Approve = None) -> list[Any]:
    """Return tools for Inspect's `use_tools(...)` and agents; a failure is a `ToolError` that the model reads.

    A tool that requires approval runs if `approve` is "all" or a function that answers. Inspect's own approval policies
    apply as well, before a call.
    """
    registry = Registry()
    for tool in tools:
        registry.register(tool)
    return [_tool(definition, registry, approve) for definition in registry.definitions()]


def _tool(definition: dict[str, Any], registry: Registry, approve: Approve) -> Any:
    function = openai.definitions([definition])[0]["function"]
    schema = _inlined(function["parameters"], function["parameters"], 0)

    async def execute(**arguments: Any) -> Any:
        result = await registry.acall(ToolCall(None, definition["name"], arguments), approve=approve)
        if result.error is not None:
            raise ToolError(result.error)
        return _content(result)

    fields = {key: schema[key] for key in ("properties", "required", "additionalProperties") if key in schema}
    for name, member in fields.get("properties", {}).items():
        member.setdefault("description", name.replace("_", " "))  # Inspect requires a description
    parameters = ToolParams.model_validate(fields)
    return ToolDef(execute, function["name"], function["description"], parameters).as_tool()


def _inlined(schema: Any, root: dict[str, Any], depth: int) -> Any:
    """Return a schema without references, which Inspect does not have; a recursive one ends after some levels."""
    if isinstance(schema, list):
        return [_inlined(item, root, depth) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "$defs")}
    if "$ref" in schema and depth < 5:
        target: Any = resolve(root, schema["$ref"])
        rest = {**target, **rest}
        depth += 1
    return {key: _inlined(value, root, depth) for key, value in rest.items()}


def _content(result: Result) -> Any:
    """Return text, or a list with pictures."""
    parts = result.content
    if isinstance(parts, str) or not any(isinstance(part, Image) for part in parts):
        return str(result)
    return [
        ContentImage(image=f"data:{part.mime_type};base64,{b64encode(part.data).decode()}")
        if isinstance(part, Image)
        else ContentText(text=str(part))
        for part in parts
    ]


def write_inspect_logs(report: Report, folder: str | Path) -> list[Path]:
    """Write a log for each model into a folder, for `inspect view`, and return their paths."""
    paths = []
    for (model,), attempts in report.groups("model").items():
        name = re.sub(r"[^\w.-]+", "-", model)
        paths.append(Path(folder) / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}_{name}_{uuid4().hex[:8]}.json")
        write_eval_log(_log(model, [attempt for attempt in attempts if attempt.error is None]), str(paths[-1]))
    return paths


def _log(model: str, attempts: list[Attempt]) -> Any:
    samples: list[dict[str, Any]] = []
    epochs: Counter[str] = Counter()
    for attempt in attempts:
        epochs[attempt.case] += 1
        samples.append(_sample(attempt, epochs[attempt.case]))
    accuracy = {"name": "accuracy", "value": Rate.of(attempts).share}
    log = {
        "status": "success",
        "eval": {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "task": "ask-tools eval",
            "model": model,
            "dataset": {"name": "cases", "samples": len(epochs), "sample_ids": [*epochs]},
            "config": {"epochs": max(epochs.values(), default=1)},
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": "tools", "scorer": "tools", "metrics": {"accuracy": accuracy}}],
        },
        "samples": samples,
    }
    return EvalLog.model_validate(log)


def _sample(attempt: Attempt, epoch: int) -> dict[str, Any]:
    calls = [
        {"id": str(number), "function": call["name"], "arguments": _object(call["arguments"])}
        for number, call in enumerate(attempt.calls, 1)
    ]
    reply = {"role": "assistant", "content": attempt.text, "tool_calls": calls or None}
    score = {
        "value": "C" if attempt.passed else "I",
        "answer": attempt.chosen,
        "explanation": "; ".join(attempt.problems) or None,
    }
    return {
        "id": attempt.case,
        "epoch": epoch,
        "input": attempt.question,
        "target": attempt.expected,
        "messages": [{"role": "user", "content": attempt.question}, reply],
        "output": {"model": attempt.model, "choices": [{"message": reply}]},
        "scores": {"tools": score},
    }


def _object(arguments: Any) -> dict[str, Any]:
    return arguments if isinstance(arguments, dict) else {"invalid": arguments}
