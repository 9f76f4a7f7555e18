"""Measure the search for tools beside its peers': `python tests/benchmarks/search.py`.

The tools and questions come from the Berkeley Function Calling Leaderboard: the distinct functions of six of its
categories, and 100 questions of each. A query is the user's question, unchanged. The weights of `tools_runtime.search`
were chosen with the even questions, so the odd ones count. Environments for the peers are created in `.cache`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parents[2] / ".cache/search"
DATA = "bfcl-eval==2026.3.23"
PEERS = {
    "tools_core": [],
    "pydantic-ai": ["pydantic-ai-slim==2.68.0"],
    "fastmcp": ["fastmcp-slim[server]==4.2.3"],
}
CATEGORIES = ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple"]
QUESTIONS = 100  # of each category
RANKS = (1, 3, 5, 10)


def main() -> None:
    """Print one row for each search."""
    definitions, questions = read_data()
    work = json.dumps({"definitions": definitions, "queries": [question for question, _ in questions]})
    sizes = [len(json.dumps(definition)) // 4 for definition in definitions]
    print(f"{len(definitions)} definitions (~{sum(sizes):,} tokens), {len(questions)} questions\n")
    print(f"{'search':12} {'questions':9} {'1':>6} {'3':>6} {'5':>6} {'10':>6}   ms/query   build ms   tokens of ten")
    size_of = {definition["name"]: size for definition, size in zip(definitions, sizes, strict=True)}
    for peer in PEERS:
        command = [interpreter(peer), __file__, "--worker", peer]
        output = subprocess.run(command, input=work, capture_output=True, text=True, check=True).stdout
        answer = json.loads(output)
        for label, start, step in (("all", 0, 1), ("even", 0, 2), ("odd", 1, 2)):
            pairs = list(zip(questions, answer["rankings"], strict=True))[start::step]
            shares = [
                100 * sum(expected in ranking[:rank] for (_, expected), ranking in pairs) / len(pairs)
                for rank in RANKS
            ]  # fmt: skip
            tokens = sum(size_of[name] for _, ranking in pairs for name in ranking[:10]) / len(pairs)
            columns = " ".join(f"{share:6.1f}" for share in shares)
            times = f"{answer['milliseconds']:8.2f}   {answer['build']:8.0f}"
            print(f"{peer:12} {label:9} {columns}   {times}   {tokens:6.0f} ({100 * tokens / sum(sizes):.1f} %)")


def read_data() -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the definitions, and pairs of a question and the name of its first expected function."""
    if not list(CACHE.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE), DATA]
        subprocess.run(pip, check=True)
    definitions: dict[str, dict[str, Any]] = {}
    questions: list[tuple[str, str]] = []
    with zipfile.ZipFile(next(CACHE.glob("bfcl_eval-*.whl"))) as wheel:
        for category in CATEGORIES:
            rows = read_lines(wheel, f"BFCL_v4_{category}.json")
            answers = {
                row["id"]: row["ground_truth"] for row in read_lines(wheel, f"possible_answer/BFCL_v4_{category}.json")
            }
            for function in (function for row in rows for function in row["function"]):
                name, schema = function["name"], as_schema(function["parameters"])
                definition = {"name": name, "description": function["description"], "input_schema": schema}
                definitions.setdefault(name, definition)
            for row in (rows[number * len(rows) // QUESTIONS] for number in range(QUESTIONS)):
                messages = [message for turn in row["question"] for message in turn if message["role"] == "user"]
                text = " ".join(message["content"] for message in messages)
                questions.append((text, next(iter(answers[row["id"]][0]))))
    return list(definitions.values()), questions


def read_lines(wheel: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    """Return the JSON values of a file of the data."""
    return [json.loads(line) for line in wheel.read(f"bfcl_eval/data/{name}").decode().splitlines()]


def as_schema(value: Any) -> Any:
    """Return BFCL's Python-like schema as JSON Schema."""
    if isinstance(value, list):
        return [as_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    types = {"dict": "object", "float": "number", "tuple": "array", "any": None, "String": "string"}
    schema = {key: as_schema(item) for key, item in value.items()}
    if isinstance(value.get("type"), str) and value["type"] in types:
        schema["type"] = types[value["type"]]
        if schema["type"] is None:
            del schema["type"]
    return schema


def interpreter(peer: str) -> str:
    """Return the Python of a peer's environment, which is created if necessary."""
    if not PEERS[peer]:
        return sys.executable
    folder = CACHE / peer
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PEERS[peer]], check=True)
        (folder / "done").touch()
    return str(folder / "bin/python")


def worker(peer: str) -> None:
    """Rank with one library: read the work from standard input, and write rankings and times to standard output."""
    work = json.load(sys.stdin)
    start = time.perf_counter()
    search = {"tools_core": ours, "pydantic-ai": pydantic_ai, "fastmcp": fastmcp}[peer](work["definitions"])
    search(work["queries"][0])
    built = time.perf_counter()
    rankings = [search(query) for query in work["queries"]]
    milliseconds = 1000 * (time.perf_counter() - built) / len(rankings)
    json.dump({"rankings": rankings, "milliseconds": milliseconds, "build": 1000 * (built - start)}, sys.stdout)


def ours(definitions: list[dict[str, Any]]) -> Any:
    """Return this project's search."""
    from tools_runtime.search import Index

    index = Index(definitions)
    return lambda query: [hit.name for hit in index.search(query)]


def pydantic_ai(definitions: list[dict[str, Any]]) -> Any:
    """Return the `keywords` strategy of pydantic-ai."""
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets._tool_search import keywords_search_fn

    tools = [
        ToolDefinition(
            name=definition["name"],
            description=definition["description"],
            parameters_json_schema=definition["input_schema"],
        )
        for definition in definitions
    ]
    return lambda query: keywords_search_fn(None, [query], tools)[:10]


def fastmcp(definitions: list[dict[str, Any]]) -> Any:
    """Return the BM25 search of FastMCP."""
    from fastmcp.server.transforms.search import BM25SearchTransform
    from fastmcp.tools import Tool

    tools = [
        Tool(name=definition["name"], description=definition["description"], parameters=definition["input_schema"])
        for definition in definitions
    ]
    transform = BM25SearchTransform(max_results=10)

    def search(query: str) -> list[str]:
        return [tool.name for tool in asyncio.run(transform._search(tools, query))]

    return search


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2])
    else:
        main()
