"""Real clients that nobody watches, with a model on this machine: what it reads, and how its user allows a call."""

import json
import re
import shlex
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

CALLS = [
    ("read_file", {"path": "a.txt"}),
    ("edit_file", {"path": "a.txt", "old_string": "old", "new_string": "new"}),
    ("bash", {"command": "echo new > b.txt"}),
]
PROVIDER = '{{name = "fake", base_url = "{url}/v1", env_key = "KEY", wire_api = "responses"}}'


def claude_code(url, permissions):
    variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-fake"}
    return ["-p", "Use the tools.", *permissions], variables | {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def codex(url, permissions):
    settings = {"model": '"gpt-5"', "model_provider": '"fake"', "model_providers.fake": PROVIDER.format(url=url)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return ["exec", "--skip-git-repo-check", *options, *permissions, "Use the tools."], {"KEY": "fake"}


def gemini(url, permissions):
    variables = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_VERTEX_BASE_URL": url, "GOOGLE_API_KEY": "fake"}
    words = ["-m", "gemini-2.5-flash", "-p", "Use the tools.", *permissions]
    return words, variables | {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


def follow(printed, home):
    """Do what `install` says about the client's own permissions; return the options that it names."""
    if lines := re.findall(r"^  (tools\..+)$", printed, re.MULTILINE):
        config, header = home / ".codex/config.toml", "[mcp_servers.ask-tools]\n"
        config.write_text(config.read_text().replace(header, header + "\n".join(lines) + "\n"))
    if 'add "trust": true' in printed:
        config = home / ".gemini/settings.json"
        settings = json.loads(config.read_text())
        settings["mcpServers"]["ask-tools"]["trust"] = True
        config.write_text(json.dumps(settings))
    return re.findall(r"--allowedTools|mcp__\S+", printed)


# Client -> the npm package, its program, its command, and the option that gives all permissions of the client.
CLIENTS = {
    "claude-code": ("@anthropic-ai/claude-code@2.1.197", "claude", claude_code, "--allowedTools=mcp__ask-tools"),
    "codex": ("@openai/codex@0.171.0", "codex", codex, "--dangerously-bypass-approvals-and-sandbox"),
    "gemini-cli": ("@google/gemini-cli@0.61.0", "gemini", gemini, "--yolo"),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_without_questions_run_allowed_tools(client, npm, environ, model_server, tmp_path):
    release, program, command, everything = CLIENTS[client]
    node, modules = npm(release)
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("old\n")
    user = {**environ, "HOME": str(tmp_path), "PATH": f"{node.parent}:{environ['PATH']}"}

    def run(words, variables=None):
        completed = subprocess.run(
            list(map(str, words)), cwd=project, env=user | (variables or {}), check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240,
        )  # fmt: skip
        assert completed.returncode == 0, completed.stdout
        return completed.stdout

    def install(*words):
        return run([sys.executable, "-m", "tools_core", "mcp", "install", *words])

    def results(*permissions):
        model = Model()
        words, variables = command(model_server(model).url, permissions)
        output = run([modules / ".bin" / program, *words], variables)
        assert len(model.results) == len(CALLS), output
        return [model.results[index] for index in range(len(CALLS))]

    install(client)
    read, *refused = results(everything)
    assert "old" in read
    assert (project / "a.txt").read_text() == "old\n"
    for text in refused:
        assert "the user declined" not in text.lower()
        printed = install(*shlex.split(re.search(r"`ask-tools mcp install ([^`]+)`", text)[1]))
    results(*follow(printed, tmp_path))
    assert (project / "a.txt").read_text() == (project / "b.txt").read_text() == "new\n"


class Model:
    """Makes the calls one after the other, by the API of Anthropic, Gemini or the Responses API."""

    def __init__(self):
        self.results = {}  # the number of a call -> what the model has read

    def __call__(self, path, body):
        if path.endswith("/count_tokens"):
            return {"input_tokens": 1}
        if ":" in path:
            return self.gemini(body)
        events = self.messages(body) if path.endswith("/messages") else self.responses(body)
        return events if body.get("stream") else {}

    def messages(self, body):
        parts = [part for turn in body["messages"] if isinstance(turn["content"], list) for part in turn["content"]]
        results = {part["tool_use_id"]: json.dumps(part["content"]) for part in parts if part["type"] == "tool_result"}
        self.results |= {int(key[5:]): value for key, value in results.items() if key.startswith("call_")}
        names = [turn["name"] for turn in body.get("tools", [])]
        index = sum(key.startswith("call_") for key in results)
        stop, block, delta = "end_turn", {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}
        if names and index < len(CALLS) and len(results) < 9:
            name, arguments = CALLS[index]
            call = {"type": "tool_use", "id": f"call_{index}", "name": f"mcp__ask-tools__{name}", "input": {}}
            if call["name"] not in names:  # the server starts
                call |= {"id": f"wait_{len(results)}", "name": "WaitForMcpServers"}
                arguments = {}
            stop, block, delta = "tool_use", call, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        message = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        return [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]

    def responses(self, body):
        outputs = [item for item in body["input"] if item["type"] == "function_call_output"]
        self.results |= dict(enumerate(json.dumps(item["output"]) for item in outputs))
        if len(outputs) < len(CALLS):
            name, arguments = CALLS[len(outputs)]
            item = {"type": "function_call", "call_id": f"call_{len(outputs)}", "namespace": "mcp__ask_tools"}
            item |= {"name": name, "arguments": json.dumps(arguments)}
        else:
            content = [{"type": "output_text", "text": "Done.", "annotations": []}]
            item = {"type": "message", "id": "m", "role": "assistant", "content": content}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        ]

    def gemini(self, body):
        parts = [part for turn in body.get("contents", []) for part in turn["parts"] if "functionResponse" in part]
        self.results |= dict(enumerate(json.dumps(part) for part in parts))
        part = {"text": "Done."}
        if body.get("tools") and len(parts) < len(CALLS):
            name, arguments = CALLS[len(parts)]
            part = {"functionCall": {"name": f"mcp_ask-tools_{name}", "args": arguments}}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        return [{"candidates": [candidate], "usageMetadata": usage}]
