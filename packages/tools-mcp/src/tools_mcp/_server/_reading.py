"""Reading what clients send in other forms than the protocol's."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import BaseModel, ValidationError

from tools_core.text import sendable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import JSONRPCMessage

_FORM = "not a JSON-RPC message; send one a line, with text or an integer as id"
_NOT_A_MESSAGE = ErrorData(code=PARSE_ERROR, message=_FORM)


def parts_of(line: bytes) -> list[bytes]:
    """Return the messages of a batch, which 2025-03-26 has; else the line alone."""
    if not line.lstrip().startswith(b"["):
        return [line]
    try:
        return [json.dumps(part).encode() for part in json.loads(line)] or [line]
    except (ValueError, RecursionError):
        return [line]


def read_message(line: bytes) -> JSONRPCMessage:
    """Return a message, also one in another form whose meaning is clear; ValueError for another line."""
    with suppress(ValueError):
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not (isinstance(message, JSONRPCNotification) and b'"id"' in line):  # a request with an invalid id
            return message
    text = sendable(json.dumps(_repaired(json.loads(line)), ensure_ascii=False))
    return jsonrpc_message_adapter.validate_json(text, by_name=False)


def _repaired(data: Any) -> Any:
    """Return a message with a version and with an integer as id, and without an empty list as parameters."""
    if not isinstance(data, dict) or "method" not in data:
        return data
    data = {**data, "jsonrpc": "2.0"}
    if data.get("params") == []:  # PHP writes an empty object so
        del data["params"]
    id_ = data.get("id")
    if id_ is None and str(data["method"]).startswith("notifications/"):
        data.pop("id", None)
    elif isinstance(id_, float) and id_.is_integer():
        data["id"] = int(id_)
    elif "id" in data and type(id_) not in (int, str):
        raise ValueError("the id is invalid")
    return data


def refusal(line: bytes) -> JSONRPCError:
    """Return the error for a line that cannot be read, for its request if the line names it."""
    try:
        data = json.loads(line)
        id_ = data.get("id") if isinstance(data, dict) and "method" in data else None
    except (ValueError, RecursionError):
        id_ = None
    return JSONRPCError(jsonrpc="2.0", id=id_ if type(id_) in (int, str) else None, error=_NOT_A_MESSAGE)


def complete(hello: dict[str, Any]) -> None:
    """Fill in what a client has left out of `initialize`, and leave out capabilities that cannot be read."""
    offered, info = hello.get("capabilities"), hello.get("clientInfo")
    offered = offered if isinstance(offered, dict) else {}
    hello["capabilities"] = {key: value for key, value in offered.items() if _is_capability(key, value)}
    named = info if isinstance(info, dict) else {}
    hello["clientInfo"] = {**named, **{key: str(named.get(key) or "unknown") for key in ("name", "version")}}
    hello["protocolVersion"] = str(hello.get("protocolVersion") or "")


def _is_capability(key: str, value: Any) -> bool:
    nested = key in ("experimental", "extensions") and isinstance(value, dict)
    return isinstance(value, dict) and (not nested or all(isinstance(part, dict) for part in value.values()))


def read_params(model: type[BaseModel], params: Mapping[str, Any]) -> Any:
    """Return the parameters of a request; MCPError that says what is wrong with them.

    Some clients send the arguments of a tool as the text that their model wrote.
    """
    arguments = params.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, f"arguments is a text that is not JSON: {error}") from None
        params = {**params, "arguments": arguments}
    if arguments == []:  # of PHP
        params = {**params, "arguments": {}}
    meta = params.get("_meta")
    if isinstance(meta, dict) and not isinstance(meta.get("progressToken", ""), str | int):
        params = {**params, "_meta": {key: value for key, value in meta.items() if key != "progressToken"}}
    try:
        return model.model_validate(params, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise MCPError(INVALID_PARAMS, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
