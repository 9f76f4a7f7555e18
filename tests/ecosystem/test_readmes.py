"""Every block of every page and every example runs and prints the documented output.

A page is one session of a shell, as for a person who follows it: a folder that a block enters is the folder of the
next one. `bash` blocks are pasted as a whole. `console` blocks run the lines `$ ...` and compare their output with the
following lines, in which `...` stands for any text. `python` blocks run as separate programs; lines `#> ...` are the
expected output. A block that begins with `# name.py` or `# name.toml` is saved under that name. An example prints the
lines of the comment `# Output:` at its end.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import get_args, get_overloads, get_type_hints
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tools_core import Limits, Parameter, registry, tool
from tools_core.command import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("*/README.md"))]  # examples/ included
PAGES += [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("packages/*/README.md"))]
# The pages that the fast tests run; the others take seconds, or need the SDKs of providers.
QUICK = {ROOT / "README.md", ROOT / "tools-core/README.md", ROOT / "docs/tools.md", ROOT / "docs/results.md"}
# Their programs need frameworks: tests/tools_adapters runs each in a separate environment.
ELSEWHERE = {ROOT / "packages/tools-adapters/README.md", ROOT / "docs/adapters.md"}
ELSEWHERE |= {ROOT / "docs/from-langchain.md", ROOT / "docs/from-openai-agents.md"}
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
NOT_RUN = {"json", "sh", "text", "toml"}  # `sh` is for what wants a network or changes the machine
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """Line number, language and text of each fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


# formats.md passes plain dicts to SDKs, whose types want a TypedDict for each kind of message.
UNTYPED = {ROOT / "docs/formats.md", *ELSEWHERE}
TYPED = [page for page in PAGES if page not in UNTYPED and any(block[1] == "python" for block in blocks(page))]


def run(command, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "PATH": path, "HOME": str(folder), "PYTHONUTF8": "1", "PYTHONWARNINGS": "error"},
        timeout=300,
        check=False,
    )


def run_python(text, shell, location):
    name = re.match(r"# (\w+\.py)\n", text)
    program = shell.folder / (name[1] if name else "block.py")
    program.write_text(text, encoding="utf-8")
    with tempfile.NamedTemporaryFile(encoding="utf-8", mode="r") as errors:  # such as the log of a bug in a tool
        output, code = shell.run(f"python {program.name} 2>{errors.name}")
        assert code == 0, f"{location}\n{output}\n{errors.read()}"
    if not name:
        program.unlink()
    assert not re.search(r"^\s*# > ", text, re.MULTILINE), (
        f"{location}: a formatter has changed the marks of the output"
    )
    expected = re.findall(r"^\s*#> ?(.*)$", text, re.MULTILINE)
    if expected:
        assert output.splitlines() == expected, location


def run_console(text, shell, location):
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{location}: a console block begins with a command"
    for command, expected in zip(parts[1::2], parts[2::2], strict=True):
        output, code = shell.run(command)
        assert code == 0, f"{location}: {command}\n{output}"
        assert matches(output, expected), f"{location}: {command}\n{output}\nis not\n{expected}"


def run_bash(text, shell, location):
    output, failed = shell.paste(text)
    assert not failed, f"{location}\n{output}"


def matches(output, expected):
    pattern = ".*".join(re.escape(part) for part in tidy(expected).split("..."))
    return re.fullmatch(pattern, tidy(output), re.DOTALL) is not None


def forecast(path, body):
    """The model of the pages: it asks for the weather, and repeats what the tool says."""
    last = body["messages"][-1]
    if path == "/v1/messages":
        message = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "usage": {}}
        if isinstance(last["content"], list):
            return message | {"content": [{"type": "text", "text": last["content"][0]["content"]}]}
        return message | {
            "content": [{"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}]
        }
    if last["role"] == "tool":
        text = {"role": "assistant", "content": last["content"]}
        if body.get("stream"):
            return [{"choices": [{"index": 0, "delta": text, "finish_reason": "stop"}]}]
        return {"choices": [{"index": 0, "message": text}]}
    function = {"name": "weather", "arguments": '{"city": "Oslo", "days": null}'}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    if not body.get("stream"):
        return {"choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [call]}}]}
    pieces = ('{"city": ', '"Oslo"}')
    deltas = [{"tool_calls": [call | {"function": {"name": "weather", "arguments": ""}}]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    return [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas] + [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    ]


def load_example(name):
    spec = spec_from_file_location(name, ROOT / f"examples/{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tidy(text):
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=() if page in QUICK else pytest.mark.slow) for page in PAGES], ids=name_of
)
def test_the_blocks_of_a_page_print_the_documented_output(page, tmp_path, model_server, shell):
    providers = {f"{name}_BASE_URL": model_server(forecast).url for name in ("OPENAI", "ANTHROPIC")}
    keys = {f"{name}_API_KEY": "none" for name in ("OPENAI", "ANTHROPIC")}
    session = shell(tmp_path, **providers, **keys)
    runners = {"python": run_python, "console": run_console, "bash": run_bash}
    for line, language, text in blocks(page):
        location = f"{page.relative_to(ROOT).as_posix()}:{line}"
        if language == "python" and page in ELSEWHERE:
            continue
        if language in runners:
            runners[language](text, session, location)
        else:
            if name := re.match(r"# ([\w/]+\.toml)\n", text):
                (session.folder / name[1]).write_text(text, encoding="utf-8")
            assert language in NOT_RUN, f"{location}: a block is one of {sorted({*runners, *NOT_RUN})}"


@pytest.mark.slow
@pytest.mark.parametrize("page", TYPED, ids=name_of)
def test_type_checkers_accept_the_programs_of_a_page(page, tmp_path, tmp_path_factory):
    programs = [text for _, language, text in blocks(page) if language == "python"]
    for number, text in enumerate(programs):
        name = re.match(r"# (\w+\.py)\n", text)
        (tmp_path / (name[1] if name else f"block{number}.py")).write_text(text, encoding="utf-8")
    cache = f"--cache-dir={tmp_path_factory.getbasetemp() / 'mypy'}"
    for checker in (["mypy", "--strict", cache], ["basedpyright", "--level=error"]):
        checked = run([sys.executable, "-m", *checker, "."], tmp_path)
        assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_is_short_and_prints_its_documented_output(example, tmp_path):
    text = example.read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert len(text.splitlines()) <= 60
    _, _, output = text.partition("\n# Output:\n")
    if output:
        process = run([sys.executable, example], tmp_path)
        assert process.stdout == output.replace("# ", "", 1).replace("\n# ", "\n")


def test_the_web_application_streams_events_of_the_agent():
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    app = load_example("web_app").app
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        body = json.dumps({"session": "trip", "prompt": "How is Oslo?"}).encode()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/chat"
        with pytest.raises(HTTPError, match="401"):
            urlopen(Request(url, body), timeout=30)
        with urlopen(Request(url, body, {"X-User": "ada"}), timeout=30) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            lines = response.read().decode().splitlines()
        server.should_exit = True
        thread.join()
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    texts = [event["content"] for name, event in zip(names, events, strict=True) if name == "text_delta"]
    assert "".join(texts) == "It is sunny."
    [finished] = [event for name, event in zip(names, events, strict=True) if name == "tool_finished"]
    assert (finished["name"], finished["result"]) == ("weather", "Oslo: sunny")
    assert names[-1] == "end"
    assert events[-1] == {"outcome": "completed", "content": "It is sunny.", "pending": []}


def test_the_mcp_server_serves_its_tools():
    toolset = pytest.importorskip("tools_mcp").McpToolset
    with toolset([sys.executable, str(ROOT / "examples/mcp_server.py")], name="example") as tools:
        assert tools.tool("compare").call(cities=["Oslo", "Rome"]).output == {"Oslo": "sunny", "Rome": "sunny"}
        assert tools.tool("subscribe").call(city="Oslo").output == "subscribed to Oslo"


def test_the_navigation_of_the_site_has_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")]
    pages += [
        f"packages/{page.parent.name}.md" for page in PAGES if page.parent.name.startswith(("tools-", "scaffold"))
    ]
    pages += [f"tools/{name}.md" for name in registry if registry.origin(name).distribution.startswith("tools-")]
    assert [page for page in pages if page not in navigation and "examples" not in page] == []


@pytest.mark.slow
def test_type_checkers_accept_the_examples(tmp_path):
    programs = [*EXAMPLES, ROOT / "docs/build.py"]
    checked = run([sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", *programs], ROOT)
    assert checked.returncode == 0, checked.stdout


def anchors(page):
    """The anchors of the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page):
    for path, anchor in re.findall(r"\]\((?!\w+:)([^)#]*)#?([^)]*)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / path) if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_every_package_with_tools_shows_them_at_work():
    silent = [page for page in PAGES if page.parent.name.startswith("tools-")]
    assert silent
    assert [page for page in silent if "python" not in {language for _, language, _ in blocks(page)}] == []


def test_no_page_installs_unpublished_names_from_the_index():
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            assert not re.search(r"pip install (?:ask-tools|tools-\w+)", line) or "once published" in line.lower(), line


def test_the_page_on_the_command_has_every_command_option_and_variable(capsys):
    page = (ROOT / "docs/command.md").read_text(encoding="utf-8")
    commands = ["list", "show", "search", "call", "schema", "check", "lock", "verify", "new", "add", "doctor"]
    commands += ["completion"]
    for command in commands:
        main([command, "--help"])
    options = set(re.findall(r"^  (--?[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tools-core/src").rglob("*.py")]
    variables = set(re.findall(r"ASK_TOOLS_[A-Z_]+", "\n".join(texts)))
    assert len(options) > 15
    for word in {*commands, *options, *variables} - {"-h", "--help"}:
        assert re.search(rf"`{word}\b", page), word


def test_the_page_on_tools_has_every_option():
    page = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
    options = {*inspect.signature(Parameter).parameters, *inspect.signature(Limits).parameters}
    (unpacked,) = get_args(get_type_hints(get_overloads(tool)[0])["options"])
    options |= unpacked.__annotations__.keys()
    assert [option for option in options - {"type"} if f"`{option}`" not in page] == []


def test_the_text_after_a_command_is_compared_with_its_output():
    assert matches("one\ntwo\n", "one\n...\n")
    assert matches("one\ntwo\n", "...tw...\n")
    assert not matches("one\ntwo\n", "one\n")
    assert not matches("one\ntwo\n", "three...\n")
