"""A small server that speaks the protocols of four providers."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tools_agent import AnthropicProvider, GeminiProvider, OpenAIProvider, OpenAIResponsesProvider, Retry

USAGE = {"input": 10, "cached": 4, "output": 5}


@dataclass
class Answer:
    """The reply of a model, in no provider's format; `events` are a provider's own events instead."""

    texts: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, JSON text
    stop: str = ""  # "length", "filter"
    thought: str = ""
    refusal: str = ""
    events: tuple[dict[str, Any], ...] = ()
    raw: str = ""  # the whole body
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: str = "overloaded"
    code: str | None = None
    sent: int | None = None  # the number of events after which the connection is cut
    keeps_alive: bool = False  # leaves the connection open
    waits: bool = False  # after the first events, until the client hangs up


def chat(answer):
    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    if answer.thought:
        yield chunk({"reasoning_content": answer.thought})
    for text in answer.texts:
        yield chunk({"content": text})
    if answer.refusal:
        yield chunk({"refusal": answer.refusal})
    for index, (id_, name, text) in enumerate(answer.calls):
        start = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": text[:3]}}
        yield chunk({"tool_calls": [start]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text[3:]}}]})
    stops = {"length": "length", "filter": "content_filter", "": "tool_calls" if answer.calls else "stop"}
    yield chunk({}, stops[answer.stop])
    details = {"cached_tokens": USAGE["cached"]}
    usage = {"prompt_tokens": USAGE["input"], "completion_tokens": USAGE["output"], "total_tokens": 15}
    yield chunk({}) | {"choices": [], "usage": usage | {"prompt_tokens_details": details}}


def responses(answer):
    items = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}] if answer.thought else []
    response = {"id": "r", "object": "response", "model": "m", "created_at": 0, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    if answer.thought:
        yield {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": answer.thought}
        yield {"type": "response.output_item.done", "output_index": 0, "item": items[0]}
    if answer.texts or answer.refusal:
        index = len(items)
        kind = "refusal" if answer.refusal else "output_text"
        for text in answer.texts or [answer.refusal]:
            yield {"type": f"response.{kind}.delta", "output_index": index, "content_index": 0, "delta": text}
        content = {"type": kind, "text": "".join(answer.texts), "annotations": []}
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [content]})
        yield {"type": "response.output_item.done", "output_index": index, "item": items[-1]}
    for id_, name, text in answer.calls:
        index, item = len(items), {"type": "function_call", "id": "fc_1", "call_id": id_, "name": name}
        items.append(item | {"arguments": text})
        yield {"type": "response.output_item.added", "output_index": index, "item": item | {"arguments": ""}}
        yield {"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}
        if not answer.stop:
            yield {"type": "response.output_item.done", "output_index": index, "item": items[-1]}
    details = {"input_tokens_details": {"cached_tokens": USAGE["cached"]}}
    usage = {"input_tokens": USAGE["input"], "output_tokens": USAGE["output"], "total_tokens": 15} | details
    reason = {"length": "max_output_tokens", "filter": "content_filter", "": None}[answer.stop]
    kind = "incomplete" if reason else "completed"
    done = response | {"status": kind, "output": items, "usage": usage}
    yield {
        "type": f"response.{kind}",
        "response": done | ({"incomplete_details": {"reason": reason}} if reason else {}),
    }


def anthropic(answer):
    blocks = [({"type": "thinking", "thinking": "", "signature": ""}, [answer.thought])] if answer.thought else []
    texts = answer.texts or (() if not answer.refusal else (answer.refusal,))
    blocks += [({"type": "text", "text": ""}, texts)] if texts else []
    for id_, name, text in answer.calls:
        blocks.append(({"type": "tool_use", "id": id_, "name": name, "input": {}}, [text[:3], text[3:]]))
    usage = {"input_tokens": USAGE["input"] - USAGE["cached"], "cache_read_input_tokens": USAGE["cached"]}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}
    yield {"type": "message_start", "message": message | {"usage": usage | {"output_tokens": 1}}}
    for index, (block, pieces) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for piece in pieces:
            key, kind = {
                "thinking": ("thinking", "thinking_delta"),
                "text": ("text", "text_delta"),
                "tool_use": ("partial_json", "input_json_delta"),
            }[block["type"]]
            yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}
        if block["type"] == "thinking":
            signed = {"type": "signature_delta", "signature": "signed"}
            yield {"type": "content_block_delta", "index": index, "delta": signed}
        yield {"type": "content_block_stop", "index": index}
    stops = {"length": "max_tokens", "filter": "refusal", "": "tool_use" if answer.calls else "end_turn"}
    reason = "refusal" if answer.refusal else stops[answer.stop]
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": USAGE["output"]}}
    yield {"type": "message_stop"}


def gemini(answer):
    parts = [{"text": answer.thought, "thought": True}] if answer.thought else []
    parts += [{"text": text} for text in answer.texts]
    for id_, name, text in answer.calls:
        signature = {"thoughtSignature": "c2lnbmVk+/8="} if answer.thought else {}
        parts.append(
            {"functionCall": {"id": id_, "name": name.replace("_", "."), "args": json.loads(text)}} | signature
        )
    for part in parts:
        yield {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
    usage = {"promptTokenCount": USAGE["input"], "candidatesTokenCount": 3, "thoughtsTokenCount": 2}
    reason = {"length": "MAX_TOKENS", "filter": "SAFETY", "": "STOP"}[answer.stop]
    yield {
        "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": reason}],
        "usageMetadata": usage | {"cachedContentTokenCount": USAGE["cached"]},
    }


PROTOCOLS = {"openai": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}
PROVIDERS = {
    "openai": OpenAIProvider,
    "openai-responses": OpenAIResponsesProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
}


def encoded(event):
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


class Server:
    """Sends the answers in `queue`, and records the bodies of requests."""

    def __init__(self, provider):
        self.queue: deque[Answer] = deque()
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.hung_up = threading.Event()
        self.is_waiting = threading.Event()
        self.connections_closed = threading.Semaphore(0)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def finish(self):
                super().finish()
                outer.connections_closed.release()

            def do_POST(self):
                outer.paths.append(self.path)
                outer.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                outer.answer(self, outer.queue.popleft(), PROTOCOLS[provider])

            def log_message(self, *words):
                """Print nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, handler, answer, protocol):
        failed = answer.status != 200
        handler.send_response(answer.status)
        handler.send_header("Content-Type", "application/json" if failed else "text/event-stream")
        if not answer.keeps_alive:
            handler.send_header("Connection", "close")
        if not failed:
            handler.send_header("Transfer-Encoding", "chunked")
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if failed:
            error = {"error": {"message": answer.error, "code": answer.code or answer.status}}
            handler.wfile.write(json.dumps(error).encode())
            return
        events = list(answer.events or protocol(answer))[: answer.sent]
        with contextlib.suppress(ConnectionError):  # the client may hang up at any time
            for data in [answer.raw.encode()] if answer.raw else map(encoded, events):
                handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if answer.waits:
                self.is_waiting.set()
                handler.connection.recv(1)
        if answer.waits:
            self.hung_up.set()
        elif answer.sent is None:
            handler.wfile.write(b"0\r\n\r\n")

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@dataclass
class Api:
    """A provider and its server; `delays` are its delays before retries."""

    name: str
    provider: Any
    server: Server
    delays: list[float]

    @property
    def body(self):
        return self.server.bodies[-1]


@pytest.fixture
def connect():
    """Connect a provider to a new server: `connect("openai", {"texts": ["Hello"]}, ...)`, with fields of Answer."""
    servers = []

    def connect(name, *answers, **options):
        servers.append(server := Server(name))
        server.queue.extend(Answer(**answer) for answer in answers)
        delays = []

        async def sleep(delay):
            delays.append(delay)

        url = f"{server.url}/v1" if name.startswith("openai") else server.url
        retry = Retry(attempts=3, sleep=sleep)
        provider = PROVIDERS[name](**{"api_key": "key", "base_url": url, "retry": retry} | options)
        return Api(name, provider, server, delays)

    yield connect
    for server in servers:
        server.close()


@pytest.fixture(params=PROVIDERS)
def api(request, connect):
    """`api({"texts": ["Hello"]}, ...)`: each provider in turn."""
    return lambda *answers, **options: connect(request.param, *answers, **options)
