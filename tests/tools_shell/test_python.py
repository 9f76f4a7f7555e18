"""Python code in a separate interpreter: its results, and what stays inside."""

from __future__ import annotations

import os
import sys
import venv

import pytest

from tools_core import Context, Image, ToolError
from tools_shell import Python


@pytest.fixture
def every(root, level):
    """The tool at each level of isolation."""
    return Python(root, sandbox=level)


@pytest.fixture
def python(root):
    return Python(root, sandbox="contained")


def test_a_result_has_the_value_the_streams_and_the_exit_code(every):
    output = every.call(code="import sys\nprint('out')\nprint('error', file=sys.stderr)\n[1, 'a']").output
    facts = {"value": "[1, 'a']", "output": "out\nerror\n", "exit_code": 0, "timed_out": False}
    assert output == facts


def test_a_traceback_shows_only_frames_of_the_code(every):
    result = every.call(code="def f():\n    return 1 / 0  # here\nprint('before')\nf()")
    assert result.ok
    output = result.output
    assert (output["output"], output["exit_code"]) == ("before\n", 1)
    assert (output["error"]["type"], output["error"]["message"]) == ("ZeroDivisionError", "division by zero")
    assert output["error"]["traceback"].startswith('Traceback (most recent call last):\n  File "<code 1>", line 4')
    assert "    return 1 / 0  # here\n" in output["error"]["traceback"]


def test_a_long_traceback_shows_its_last_frames(python):
    code = "import sys\nsys.setrecursionlimit(20_000)\ndef f():\n    f()\nf()"
    error = python.call(code=code).output["error"]
    assert error["type"] == "RecursionError"
    assert error["traceback"].count('File "<code 1>", line 4, in f') == 3
    assert "more times]" in error["traceback"]


def test_code_may_have_a_mark_an_encoding_and_crlf(every):
    code = "\ufeff# -*- coding: latin-1 -*-\r\n\x0cif True:\r\n\tprint('é')\r\n2"
    output = every.call(code=code).output
    assert (output["value"], output["output"]) == ("2", "é\n")


@pytest.mark.parametrize(
    "text",
    [
        "```python\n{}\n```",
        "\n```py\r\n{}\r\n```\r\n",
        "~~~~ Python3 \n{}\n  ~~~~ \n",
        "```\n{}",  # cut off
        "\ufeff```\n{}\n\n```",
    ],
)
def test_code_may_be_in_a_fence_of_markdown(python, text):
    code = "text = '''```python\n1\n```'''\nlen(text)"
    assert python.call(code=text.format(code)).output["value"] == "15"
    assert "SyntaxError" in str(python.call(code="Run this:\n```python\n1\n```"))


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('why')", 1),
        ("import os; os._exit(4)", 4),
        ("import os; os.execvp('false', ['false'])", 1),
        ("import sys; sys.exit(300)", 300 & 0xFF),
    ],
)
def test_code_that_exits_has_its_exit_code(every, code, status):
    output = every.call(code=f"print('before')\n{code}").output
    assert output["output"] == ("before\nwhy\n" if "why" in code else "before\n")
    assert output["exit_code"] == status
    assert "error" not in output


@pytest.mark.parametrize(("code", "name"), [("os.abort()", "SIGABRT"), ("os.kill(os.getpid(), 9)", "SIGKILL")])
def test_a_signal_is_reported_by_its_name(every, code, name):
    assert every.call(code=f"import os; {code}").output["signal"] == name


def test_calls_have_separate_interpreters(python):
    python.call(code="x = 1\nimport builtins\nbuiltins.y = 2")
    assert python.call(code="('x' in dir(), hasattr(__builtins__, 'y'))").output["value"] == "(False, False)"


def test_stdin_has_the_text_or_is_empty(every):
    assert every.call(code="input() + input()", stdin="one\ntwo\n").output["value"] == "'onetwo'"
    assert every.call(code="import sys\nsys.stdin.read()").output["value"] == "''"


def test_code_runs_in_the_workdir_and_imports_its_modules(every, root):
    (root / "inner").mkdir()
    (root / "inner" / "mine.py").write_text("x = 5")
    code = "import os, mine\n(os.path.basename(os.getcwd()), mine.x)"
    assert every.call(code=code, workdir="inner").output["value"] == "('inner', 5)"
    assert every.call(code=code, workdir="..").error_type == "denied"


def test_code_runs_as_the_main_module(python):
    code = "import __main__, pickle\nclass P: pass\n"
    code += "(__name__, __main__.P is P, type(pickle.loads(pickle.dumps(P()))) is P)"
    assert python.call(code=code).output["value"] == "('__main__', True, True)"


def test_the_host_may_add_to_the_environment(root, tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "theirs.py").write_text("x = 6")
    env = {"PYTHONPATH": str(tmp_path / "library")}
    assert Python(root, sandbox="contained", env=env).call(code="import theirs\ntheirs.x").output["value"] == "6"


def test_threads_exit_handlers_and_tasks_end_before_the_call_does(python):
    code = """
import asyncio, atexit, threading, time
atexit.register(print, "exit handler")
go = threading.Event()
threading.Thread(target=lambda: (go.wait(), print("thread"))).start()
async def forever():
    try: await asyncio.sleep(900)
    finally: print("task")
task = asyncio.ensure_future(forever()) if False else None
async def begin():
    global task
    task = asyncio.create_task(forever())
    await asyncio.sleep(0)
await begin()
threading.Timer(0.05, go.set).start()
"""
    output = python.call(code=code).output
    assert sorted(output["output"].split("\n")) == ["", "exit handler", "task", "thread"]


def test_background_processes_of_code_are_ended(python, lifeline):
    code = f"import subprocess\nsubprocess.Popen('exec 9> {lifeline.path}; sleep 900', shell=True) and 1"
    output = python.call(code=code).output
    assert output["value"] == "1"
    assert "background" in output
    assert lifeline.holders_are_gone()


def test_code_that_times_out_has_output_and_a_traceback(every, lifeline, at_its_limit):
    code = f"held = open({str(lifeline.path)!r}, 'w')\nprint('begun')\ndef wait():\n    while True: pass\nwait()"
    result = at_its_limit(every, lambda result: result.metadata["output"], code=code)
    assert result.error_type == "timeout_error"
    assert "    while True: pass" in result.error
    assert "begun" in result.error
    assert (result.metadata["timed_out"], result.metadata["output"]) == (True, "begun\n")
    assert lifeline.holders_are_gone()


def test_a_fork_cannot_reply_for_its_parent(python):
    code = "import os\nif os.fork() == 0:\n    1 / 0\nos.wait()\n'parent'"
    output = python.call(code=code).output
    assert output["value"] == "'parent'"
    assert "ZeroDivisionError" in output["output"]


TERMINATED = """
import multiprocessing, time
process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(900,))
process.start()
process.terminate()
process.join()
process.exitcode
"""
THEIR_HANDLER = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGTERM)
os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


@pytest.mark.parametrize(("code", "status"), [(TERMINATED, "-15"), (THEIR_HANDLER, "7")])
def test_a_fork_of_the_code_ends_by_signals_as_in_any_program(python, code, status):
    output = python.call(code=code).output
    assert (output["value"], output["output"]) == (status, "")


def test_large_programs_and_large_output_pass(python):
    code = "x = '" + "a" * 3_000_000 + "'\nprint(x)\nlen(x)"
    output = python.call(code=code).output
    assert output["value"] == "3000000"
    assert output["truncated"] == 3_000_001 - 2 * 64 * 1024


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"code": " \n"}, "validation_error"),
        ({"code": "1", "timeout": 0}, "validation_error"),
        ({"code": "1", "workdir": "missing"}, "not_found"),
    ],
)
def test_an_invalid_request_has_a_stable_error_type(python, arguments, kind):
    assert python.call(arguments).error_type == kind


# ---------------------------------------------------------------------------------------------------- interpreters


def test_an_interpreter_or_environment_can_be_chosen(root, tmp_path):
    venv.create(tmp_path / "environment", with_pip=False)
    for interpreter, prefix in ((None, sys.prefix), (tmp_path / "environment", str(tmp_path / "environment"))):
        python = Python(root, interpreter=interpreter)
        assert python.call(code="import sys\nsys.prefix").output["value"] == repr(prefix)


def test_an_environment_in_the_workspace_runs_only_in_the_sandbox(root, level, tmp_path):
    if level in {"none", "contained"}:
        pytest.skip("this level hides no files")
    place = root / level  # each is asked once
    venv.create(place, with_pip=False)
    (site,) = (place / "lib").glob("python*/site-packages")
    (site / "of_a_command.pth").write_text(f"import os; os.mkdir({str(tmp_path / 'escaped')!r})\n")
    output = Python(root, sandbox=level, interpreter=place).call(code="import sys\nsys.prefix").output
    assert output["value"] == repr(str(place))
    assert not (tmp_path / "escaped").exists()


def test_an_interpreter_may_be_a_link(root, level, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(sys.executable)
    assert Python(root, sandbox=level, interpreter=link).call(code="6 * 7").output["value"] == "42"


@pytest.mark.parametrize("level", ["landlock", "bubblewrap"], indirect=True)
def test_a_changed_interpreter_link_shows_no_other_folder(root, level, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "secret").write_text("secret")
    program = tmp_path / "bin" / "program"
    program.write_text(f"#!/bin/sh\nexec cat {tmp_path}/secret\n")
    program.chmod(0o755)
    (root / "python").symlink_to(program)
    result = Python(root, sandbox=level, interpreter=root / "python").call(code="1")
    assert "secret" not in str(result.output or result.error)


@pytest.mark.parametrize("executable", ["", "/missing/python"])
def test_a_host_without_interpreter_gets_advice(root, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    result = Python(root, sandbox="none").call(code="1")
    assert (result.error_type, "Python(interpreter=" in result.error) == ("unavailable", True)


def test_an_interpreter_that_the_system_cannot_execute_is_unavailable(root, tmp_path):
    text = tmp_path / "python"
    text.write_text("this is no program\n")
    text.chmod(0o755)
    result = Python(root, interpreter=text, sandbox="none").call(code="1")
    assert result.error_type == "unavailable"
    assert result.error.startswith(f"{text} cannot be started: Exec format error; pass")


def test_a_missing_interpreter_raises_in_the_constructor(root):
    with pytest.raises(ToolError, match="no Python at '/missing'"):
        Python(root, interpreter="/missing")


# -------------------------------------------------------------------------------------------------------- pictures

PICTURE = """
class Picture:
    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\n" + bytes({size})
"""


def test_a_value_with_a_png_is_shown_as_an_image(python):
    result = python.call(code=PICTURE.format(size=10) + "Picture()")
    text, image = result.content
    assert text.startswith("=> <__main__.Picture")
    assert image == Image(b"\x89PNG\r\n\x1a\n" + bytes(10))


@pytest.mark.parametrize(
    "method",
    [
        "return b'no picture'",
        "return 5",
        "return None",
        "raise ValueError",
        "return b'\\x89PNG\\r\\n\\x1a\\n' * 1_000_000",
    ],
)
def test_invalid_and_large_images_are_omitted(python, method):
    result = python.call(code=f"class Picture:\n    def _repr_png_(self): {method}\nPicture()")
    assert result.ok
    assert "images" not in result.output
    assert isinstance(result.content, str)


def test_classes_and_mocks_are_not_images(python):
    output = python.call(code=PICTURE.format(size=1) + "Picture").output
    assert "images" not in output
    assert "notes" not in output
    output = python.call(code="from unittest.mock import MagicMock\nMagicMock()").output
    assert "images" not in output


@pytest.mark.slow
def test_figures_of_matplotlib_are_shown_and_closed(python):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.figure()\nplt.plot([3])\nplt.show()"
    result = python.call(code=code, timeout=120)
    assert [block.mime_type for block in result.content[1:]] == ["image/png", "image/png"]
    assert result.output["output"] == ""
    code = "from matplotlib.figure import Figure\nfigure = Figure(figsize=(90, 1))\nfigure.subplots().plot([1])\nfigure"
    (_, block) = python.call(code=code, timeout=120).content
    assert int.from_bytes(block.data[16:20], "big") <= 2000


FIGURES = """
import matplotlib.pyplot as plt
class Drawn(plt.Figure):
    def savefig(self, *arguments, **settings):
        print("drawn")
        super().savefig(*arguments, **settings)
for _ in range(10):
    plt.figure(figsize=(1, 1), FigureClass=Drawn)
"""


@pytest.mark.slow
def test_excess_figures_are_counted_and_not_drawn(python):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    result = python.call(code=FIGURES, timeout=120)
    assert len(result.content) == 1 + 8
    assert result.output["output"] == "drawn\n" * 8
    assert result.output["notes"] == ["2 images were omitted: at most 8 of up to 4 MiB are shown"]


@pytest.mark.slow
def test_images_of_pillow_are_shown(python):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    (_, block) = python.call(code="from PIL import Image\nImage.new('RGB', (30, 10))").content
    assert block.data.startswith(b"\x89PNG")


# ------------------------------------------------------------------------------------------------ calls and callers


@pytest.mark.slow
@pytest.mark.usefixtures("no_garbage")
def test_neither_zombies_nor_descriptors_grow_over_calls(python):
    free = []
    for _ in range(20):
        python.call(code="1")
        free.append(os.dup(0))
        os.close(free[-1])
    assert free[-1] <= free[1]


def test_a_cancelled_call_ends_its_code(python, lifeline):
    from concurrent.futures import ThreadPoolExecutor

    context = Context()
    code = f"held = open({str(lifeline.path)!r}, 'wb', 0)\nheld.write(b'begun')\nwhile True: pass"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(python.call, {"code": code}, context=context)
        while not _can_read(lifeline):
            pass
        context.cancel()
        assert call.result(30).error_type == "cancelled"
    assert lifeline.holders_are_gone()


def _can_read(lifeline):
    try:
        return os.read(lifeline.descriptor, 100) == b"begun"
    except BlockingIOError:
        return False
