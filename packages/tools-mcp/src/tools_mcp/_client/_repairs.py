"""Repairs of messages: a usable tool stays usable, and an effect is never reported as a protocol error."""

from __future__ import annotations

import codecs
import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from tools_core.text import sendable

if TYPE_CHECKING:
    from collections.abc import Collection

_MEMBERS = {"content", "structuredContent", "isError", "_meta", "resultType"}  # of a result
_OF_PARTS = ("type", "text", "data", "mimeType", "uri", "name", "description", "resource")
_OF_LISTS = {"resultType", "ttlMs", "cacheScope"}
_MAX_REPAIRS = 10  # of one definition
_ANSWER = re.compile(r'\{\s*"(?:jsonrpc|id|result|error)"')
_MISSING = object()
_SERVER_ERROR = -32000  # for an error without a code
_MAX_SHOWN = 2_000  # characters of a part that cannot be read


def repair_body(body: bytes, request: bytes) -> bytes:
    """Return the body of an HTTP response as one JSON-RPC message in UTF-8; ValueError if it answers no request."""
    sent = json.loads(request)
    data = json.loads(body.decode("utf-8-sig", "replace"))
    data = next(filter(_is_answer, data), None) if isinstance(data, list) else data  # a batch may have notices, too
    if not isinstance(data, dict) or not _is_answer(data) or "jsonrpc" not in sent:
        raise ValueError("not an answer")  # OAuth has errors, too
    data = repaired(data)
    if data.get("id") is None:
        data["id"] = sent.get("id")
    return sendable(json.dumps(data, ensure_ascii=False)).encode()


def repair_line(line: bytes, request: bytes) -> bytes:
    """Return a line of a stream of events, with the answer in it as `repair_body` returns it."""
    data = line.removeprefix(codecs.BOM_UTF8)
    if not data.startswith(b"data:"):
        return data
    try:
        return b"data: " + repair_body(data[5:], request)
    except (ValueError, RecursionError):  # no answer, or only a part of one
        return data


def _is_answer(data: Any) -> bool:
    return isinstance(data, dict) and not data.keys().isdisjoint(("result", "error"))


def repair_listing(result: dict[str, Any]) -> dict[str, str]:
    """Leave out tools that cannot be used; return their names with the reasons."""
    tools, problems = result.get("tools") or [], {}
    others: dict[str, Any] = {key: value for key, value in result.items() if key in _OF_LISTS}
    if isinstance(tools, list):
        result["tools"] = []
        for tool in tools:
            if problem := _repair_tool(tool, others):
                problems[str(tool.get("name") if isinstance(tool, dict) else tool)] = problem
            else:
                result["tools"].append(tool)
    if not isinstance(result.get("_meta", {}), dict):
        del result["_meta"]
    if "nextCursor" in result:
        cursor = result["nextCursor"]
        result["nextCursor"] = cursor if isinstance(cursor, str) else str(cursor or "") or None
    return problems


def _repair_tool(tool: Any, others: dict[str, Any]) -> str:
    """Leave out members that have another form than the protocol's; return why a tool cannot be used, or nothing."""
    problem = ""
    for _ in range(_MAX_REPAIRS):
        try:
            validate_server_result("tools/list", _version(others), {**others, "tools": [tool]})
        except ValidationError as error:
            problem, path = invalid(error), error.errors(include_url=False, include_input=False)[0]["loc"][2:]
        else:
            return ""
        if not (path and isinstance(tool, dict) and _leave_out(tool, path)):
            break
    return problem


def _leave_out(tool: dict[str, Any], path: tuple[int | str, ...]) -> bool:
    """Leave out an invalid member, or let an input schema accept anything; False if the tool needs the member."""
    key, *rest = path
    if key != "inputSchema":
        return key != "name" and tool.pop(str(key), _MISSING) is not _MISSING
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if rest[:1] == ["properties"] and isinstance(properties, dict) and rest[1:]:
        properties[rest[1]] = {}
    elif isinstance(schema, dict) and rest and rest[0] != "type":
        schema.pop(str(rest[0]), None)  # such as the empty list that PHP writes for an object
    else:
        tool["inputSchema"] = {**(schema if isinstance(schema, dict) else {}), "type": "object"}
    return True


def repair_hello(result: dict[str, Any]) -> None:
    """Fill in what servers leave out of the answer to `initialize`, and leave out what cannot be read."""
    offered, info = result.get("capabilities"), result.get("serverInfo")
    offered = offered if isinstance(offered, dict) else {"tools": {}}
    result["capabilities"] = {
        key: value if isinstance(value, dict) else {} for key, value in offered.items() if value or value == {}
    }
    if not isinstance(result.get("protocolVersion"), str):
        result["protocolVersion"] = LATEST_HANDSHAKE_VERSION  # as the client has proposed
    named = info if isinstance(info, dict) else {}
    result["serverInfo"] = {**named, **{key: str(named.get(key) or "unknown") for key in ("name", "version")}}


def readable(message: SessionMessage | Exception, waiting: Collection[Any]) -> list[SessionMessage | Exception]:
    """Return what the SDK could not read as messages, if the meaning is clear; `waiting` are the ids of requests.

    It is a batch, has half of a character in a text, another version, or an id, a result or an error of another form,
    or an answer is in one line with other text.
    """
    if not isinstance(message, ValidationError):
        return [message]
    inputs = [error.get("input") for error in message.errors(include_url=False)]
    data = next((part for part in inputs if isinstance(part, dict) and ("id" in part or "jsonrpc" in part)), inputs[0])
    try:
        data = json.loads(data) if isinstance(data, str) else data
    except (ValueError, RecursionError):
        data = _answers_in(str(data))
    return [_readable(part, waiting) or message for part in (isinstance(data, list) and data) or [data]]


def _answers_in(line: str) -> list[Any]:
    """Return the answers in a line that has other text, such as a log without a line break, around them."""
    answers, end = list[Any](), 0
    for match in islice(_ANSWER.finditer(line), _MAX_REPAIRS):
        if match.start() >= end:
            try:
                data, end = json.JSONDecoder().raw_decode(line, match.start())
            except (ValueError, RecursionError):
                continue
            answers += [data] if _is_answer(data) else []
    return answers


def _readable(data: Any, waiting: Collection[Any]) -> SessionMessage | None:
    if not isinstance(data, dict):
        return None
    if data.get("id") is None and "method" not in data and ("id" in data or _is_answer(data)) and len(waiting) == 1:
        data = {**data, "id": next(iter(waiting))}
    try:
        text = json.dumps(repaired(data), ensure_ascii=False)
        return SessionMessage(jsonrpc_message_adapter.validate_json(sendable(text)))
    except (ValueError, RecursionError):
        return None


def repaired(data: dict[str, Any]) -> dict[str, Any]:
    """Return a message in the form of JSON-RPC 2.0."""
    data = {**data, "jsonrpc": "2.0"}
    if isinstance(data.get("id"), float):
        data["id"] = int(data["id"])
    if data.get("error") is not None:
        error = data["error"] if isinstance(data["error"], dict) else {"message": data["error"]}
        code, text = error.get("code"), error.get("message") or error.get("data") or error
        number = re.fullmatch(r"-?\d{1,9}", str(code))
        data["error"] = {"code": int(number[0]) if number else _SERVER_ERROR, "message": plain(text)}
        if error.get("message") and error.get("data") is not None:
            data["error"]["data"] = error["data"]
    elif "method" not in data and not isinstance(data.get("result"), dict):
        data["result"] = {"content": data.get("result")}
    return data


def plain(value: Any) -> str:
    """Return text, or JSON for another value."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def repair_result(result: dict[str, Any]) -> None:
    """Make a result of a call acceptable: the call has had its effect, so its readable parts remain."""
    content, others = result.get("content"), {key: result[key] for key in ("resultType",) if key in result}
    odd = {key: value for key, value in result.items() if key not in _MEMBERS}
    if odd and content is None and result.get("structuredContent") is None:
        content = [json.dumps(odd, ensure_ascii=False)]
    parts = content if isinstance(content, list) else [] if content is None else [content]
    result["content"] = [_repair_part(part, result) for part in parts]
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = str(result["isError"]).lower() not in ("false", "0", "none", "")
    for key in ("structuredContent", "_meta"):
        part = {**others, "content": [], key: result.get(key)}
        if key in result and not _is_result(part, _version(result)):
            if key == "structuredContent" and result[key] is not None:
                result["content"].append({"type": "text", "text": json.dumps(result[key], ensure_ascii=False)})
            del result[key]


def _repair_part(part: Any, result: dict[str, Any]) -> Any:
    """Return a part of a result without invalid members that it does not need; a text about it if it needs them."""
    if _is_part(part, result):
        return part
    if isinstance(part, dict):
        needed = {key: part[key] for key in _OF_PARTS if isinstance(part.get(key), str | dict)}
        if needed.get("type") in ("image", "audio"):
            of_url = str(needed.get("data")).partition("data:")[2].partition(";")[0]
            needed.setdefault("mimeType", of_url)
        if needed.get("type") == "resource_link":
            needed.setdefault("name", needed.get("uri"))
        if _is_part(needed, result):
            return needed
    return _described(part)


def _is_part(part: Any, result: dict[str, Any]) -> bool:
    others = {key: result[key] for key in ("resultType",) if key in result}
    return isinstance(part, dict) and _is_result({**others, "content": [part]}, _version(result))


def _is_result(result: dict[str, Any], version: str) -> bool:
    try:
        validate_server_result("tools/call", version, result)
    except ValidationError:
        return False
    return True


def _described(part: Any) -> dict[str, Any]:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
    cut = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}… ({len(text):,} characters)"
    return {"type": "text", "text": cut if isinstance(part, str) else f"[a part that cannot be read: {cut}]"}


def _version(result: dict[str, Any]) -> str:
    return "2026-07-28" if "resultType" in result else "2025-11-25"


def invalid(error: ValidationError) -> str:
    """Return the first problem of a message that does not have the form of the protocol."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"invalid message: {'.'.join(map(str, first['loc']))}: {first['msg']}"
