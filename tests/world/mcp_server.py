"""A server of 2025-06-18 that others could have written: `python mcp_server.py '{"tools": [...], "result": {...}}'`."""

import json
import sys
import time

options = json.loads(sys.argv[1])
first = options.get("first", "error")  # what it does with a first message other than `initialize`
tools = options.get("tools") or [{"name": "echo", "inputSchema": {"type": "object"}, **options.get("tool", {})}]
info = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}, **options.get("capabilities", {})},
    "serverInfo": {"name": "odd", "version": "1"},
}
results = {
    "initialize": info,
    "tools/list": {"tools": tools},
    "tools/call": options.get("result", {"content": [{"type": "text", "text": "done"}]}),  # of each call
    **options.get("results", {}),  # by method, or by method and the URI or name in the parameters
}


def send(id, **message):
    text = json.dumps({"jsonrpc": "2.0", "id": id, **message})
    print(f"{options.get('prefix', '')}{text}{options.get('suffix', '')}", flush=True)


sys.stdout.buffer.write(options.get("before", "").encode("latin-1"))
sys.stdout.flush()
is_first = True
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    params = message.get("params") or {}
    about = next((params[key] for key in ("uri", "name", "cursor") if key in params), None)
    if is_first and method != "initialize":
        if first == "error, exit":
            send(id, error={"code": -32600, "message": "not initialized"})
        if first in ("exit", "error, exit"):
            sys.exit(options.get("status", 1))
        if first == "close":
            sys.stdout.close()
            time.sleep(60)
        if first == "hang":
            time.sleep(60)
        if first == "ignore":
            continue
    is_first = False
    if method == "tools/call" and "question" in options:  # answers with the answer of the user
        print(json.dumps({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": options["question"]}))
        sys.stdout.flush()
        answer = json.loads(sys.stdin.readline()).get("result")
        send(id, result={"content": [{"type": "text", "text": json.dumps(answer)}]})
    elif method == "tools/call" and "line" in options:
        print(json.dumps(options["line"]), flush=True)
    elif method in options.get("errors", ()):
        send(id, error={"code": -32601, "message": "unknown method"})
    elif method == "tools/call" and "reply" in options:
        send(**{"id": id, **options["reply"]})
    elif f"{method} {about}" in results or method in results:
        send(id, result=results.get(f"{method} {about}") or results[method])
    elif id is not None and first != "ignore":
        send(id, error={"code": -32601, "message": "unknown method"})
