"""Sessions of `python`: variables persist, code is interrupted at its limit, and a lost session is reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tools_core import Context
from tools_shell import Python, end_run


@pytest.fixture
def session(root, level):
    """Run code in the one session of the test, at each level."""
    tool = Python(str(root), sandbox=level)
    return lambda code, **arguments: tool.call(code=code, session="s", **arguments)


@pytest.fixture
def python(root):
    return Python(str(root), sandbox="contained")


@pytest.fixture
def run(python):
    def run(code, name="s"):
        result = python.call(code=code, session=name)
        assert result.ok, result.error
        return result.output

    return run


def notes(output):
    return " ".join(output.get("notes", ()))


def test_variables_imports_and_functions_survive_from_call_to_call(session):
    session("import math\ndef f(x): return math.sqrt(x)\nclass C: pass")
    result = session("print('out'); (f(16), C.__name__)")
    assert result.output == {
        "value": "(4.0, 'C')", "output": "out\n", "session": "s", "timed_out": False,
    }  # fmt: skip
    assert result.content.startswith("out\n=> (4.0, 'C')\n[done after ")
    assert session("_").output["value"] == "(4.0, 'C')"


def test_python_sessions_share_no_variables(run):
    run("x = 1")
    assert run("'x' in dir()", "other")["value"] == "False"


def test_await_works_at_the_top_level_in_one_event_loop(run):
    run("import asyncio\nqueue = asyncio.Queue()\nloop = asyncio.get_event_loop_policy()\nawait queue.put(5)")
    assert run("await queue.get()")["value"] == "5"


def test_objects_of_classes_of_the_session_can_be_pickled(run):
    run("import pickle\nclass P:\n    pass")
    assert run("type(pickle.loads(pickle.dumps(P()))) is P")["value"] == "True"


def test_a_traceback_shows_lines_of_earlier_calls(run):
    run("def fail():\n    return 1 / 0  # earlier")
    output = run("print('before')\nfail()")
    assert (output["output"], output["error"]["type"]) == ("before\n", "ZeroDivisionError")
    assert "return 1 / 0  # earlier" in output["error"]["traceback"]
    assert "_inside" not in output["error"]["traceback"]
    assert run("1 + 1")["value"] == "2"


@pytest.mark.parametrize("code", ["x = 1\nif then", "x = (", "x = 1\n  y = 2"])
def test_invalid_syntax_has_no_effect(run, code):
    assert run(code)["error"]["type"] in {"SyntaxError", "IndentationError"}
    assert run("'x' in dir()")["value"] == "False"


@pytest.mark.parametrize("leave", ["import sys; sys.exit(3)", "raise SystemExit(3)", "exit(3)"])
def test_exit_ends_the_code_and_not_the_session(run, leave):
    run("x = 1")
    assert run(leave)["exit_code"] == 3
    assert run("x")["value"] == "1"


STUCK = {
    "sleep": "import time\nwhile True: time.sleep(1)",
    "loop": "while True: pass",
    "program": "import subprocess\nsubprocess.run(['sleep', '900'])",
    "coroutine": "import asyncio\nawait asyncio.sleep(900)",
    "input": "import os\nos.read(os.pipe()[0], 1)",
}


@pytest.mark.parametrize("name", ["sleep", *(pytest.param(name, marks=pytest.mark.slow) for name in list(STUCK)[1:])])
def test_a_timeout_interrupts_code_and_preserves_variables(session, name, at_its_limit):
    session("x = 'kept'")

    class Tool:
        call = staticmethod(session)

    code = f"print('begun')\n{STUCK[name]}"
    result = at_its_limit(Tool, lambda result: result.metadata["output"], code=code)
    assert result.error_type == "timeout_error"
    assert "KeyboardInterrupt" in result.error
    assert "the variables of the session remain" in result.error
    assert session("x").output["value"] == "'kept'"


@pytest.mark.slow
def test_an_interrupt_does_not_reach_later_code(session):
    session("import time")
    for _ in range(5):
        assert session("while True: time.sleep(0.001)", timeout=1).error_type == "timeout_error"
        for n in range(20):
            assert session(f"time.sleep(0.001); {n}").output["value"] == f"{n}"


@pytest.mark.slow
def test_code_that_ignores_interrupts_loses_its_session(session, lifeline, at_its_limit):
    session("x = 1")
    stubborn = f"import signal\nheld = open({str(lifeline.path)!r}, 'w')\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"
    result = session(f"{stubborn}\nprint('begun')\nwhile True: pass", timeout=2)
    assert result.error_type == "timeout_error"
    assert "its variables are lost" in result.error
    assert lifeline.holders_are_gone()
    assert "this is a new session without the earlier variables" in notes(session("'x' in dir()").output)


@pytest.mark.parametrize(
    ("death", "reason"),
    [("os._exit(4)", "exit 4"), ("os.kill(os.getpid(), 9)", "SIGKILL"), ("os.abort()", "SIGABRT")],
)
def test_code_during_which_the_session_dies_is_never_run_twice(run, root, death, reason):
    run("import os\nx = 1")
    output = run(f"open('runs', 'a').write('run ')\n{death}")
    assert f"the session has ended ({reason})" in notes(output)
    after = run("'x' in dir()")
    assert (after["value"], (root / "runs").read_text()) == ("False", "run ")
    assert reason in notes(after)


def test_a_session_killed_between_calls_restarts_with_a_note(run):
    pid = int(run("import os\nos.getpid()")["value"])
    os.kill(pid, signal.SIGKILL)
    output = run("6 * 7")
    while "notes" not in output:  # the news may be under way
        output = run("6 * 7")
    assert "SIGKILL" in notes(output)


def test_parallel_calls_of_one_session_run_one_after_the_other(run):
    run("n = 0\nimport time")
    with ThreadPoolExecutor(5) as pool:
        for interpreters in [pool.submit(run, "m = n\ntime.sleep(0.01)\nn = m + 1") for _ in range(5)]:
            interpreters.result()
    assert run("n")["value"] == "5"


def test_a_call_for_a_busy_session_ends_at_its_limit(python, root):
    os.mkfifo(root / "begun")
    os.mkfifo(root / "go")
    busy = threading.Thread(
        target=python.call,
        args=({"code": "open('begun', 'w').close()\nopen('go')", "session": "s"}, Context(run_id="r")),
    )
    busy.start()
    (root / "begun").read_text()
    context = Context(run_id="r", timeout=0.2)
    assert python.call({"code": "open('file', 'w')", "session": "s"}, context).error_type == "conflict"
    (root / "go").write_text("")
    busy.join()
    assert not (root / "file").exists()


def test_a_cancelled_call_interrupts_its_code_and_keeps_the_variables(python, lifeline):
    context = Context(run_id="r")
    python.call({"code": "x = 1", "session": "s"}, context)
    code = f"held = open({str(lifeline.path)!r}, 'w')\nheld.write('begun')\nheld.flush()\nwhile True: pass"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(python.call, {"code": code, "session": "s"}, context)
        lifeline.wait_for(b"begun")
        context.cancel()
        assert call.result(60).error_type == "cancelled"
    assert python.call({"code": "x", "session": "s"}, Context(run_id="r")).output["value"] == "1"


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.stdout = None",
        "import sys, io\nsys.stderr = sys.stdout = io.StringIO()",
    ],
)
def test_output_works_again_after_code_that_replaced_it(run, code):
    run(code)
    assert run("print('shown')")["output"] == "shown\n"


def test_output_of_children_and_partial_lines_is_shown(run):
    output = run(
        "import subprocess\nprint('one', end=' ')\nsubprocess.run(['echo', 'two']) and None\nprint('three', end='')"
    )
    assert sorted(output["output"].split()) == ["one", "three", "two"]


def test_a_fork_cannot_reply_for_its_session(run):
    output = run("import os\nif os.fork() == 0:\n    1 / 0\nos.wait() and 'parent'")
    assert output["value"] == "'parent'"
    assert "ZeroDivisionError" in output["output"]
    assert run("'still here'")["value"] == "'still here'"


def test_children_inherit_no_descriptor_of_the_session(run):
    code = "import subprocess\nsubprocess.check_output(['ls', '/proc/self/fd'], close_fds=False)"
    assert run(code)["value"] == repr(b"0\n1\n2\n3\n")


def test_threads_continue_between_calls_and_their_output_is_shown(run):
    run("import threading\ngo = threading.Event()\ndef say():\n    go.wait()\n    print('thread')")
    run("thread = threading.Thread(target=say)\nthread.start()")
    assert run("go.set()\nthread.join()")["output"] == "thread\n"


def test_output_of_threads_between_calls_is_shown_later(run, root):
    os.mkfifo(root / "go")
    os.mkfifo(root / "done")
    run("import threading\ndef say():\n    open('go').read()\n    print('thread')\n    open('done', 'w').close()")
    run("threading.Thread(target=say).start()")
    (root / "go").write_text("")
    (root / "done").read_text()
    assert run("1")["output"] == "thread\n"


def test_an_endlessly_printing_thread_delays_no_call(run):
    run("import threading\ndef flood():\n    while True: print('x' * 1000)")
    run("threading.Thread(target=flood, daemon=True).start()")
    assert run("6 * 7")["value"] == "42"


def test_a_long_value_is_cut_with_a_count(run):
    value = run("'x' * 1_000_000")["value"]
    assert "[... 984,002 characters omitted ...]" in value
    assert len(value) < 17_000


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("class E(Exception):\n    def __str__(self): raise self\nraise E", "E"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
)
def test_any_exception_is_reported(run, code, kind):
    assert run(code)["error"]["type"] == kind


def test_modules_of_the_workspace_can_be_imported(run, root):
    (root / "mine.py").write_text("x = 5")
    (root / "traceback.py").write_text("raise SystemExit")
    assert run("import mine\nmine.x")["value"] == "5"
    assert "1 / 0" in run("1 / 0")["error"]["traceback"]


def test_the_least_recently_used_of_nine_sessions_ends_with_a_note(python):
    for n in range(9):
        python.call(code=f"x = {n}", session=f"s{n}")
    assert python.call(code="x", session="s8").output["value"] == "8"
    assert "at most 8" in notes(python.call(code="'x' in dir()", session="s0").output)


def test_sessions_of_all_runs_together_are_bounded(python, children_of):
    def count():
        return sum(len(children_of(child)) for child in children_of(os.getpid()))

    python.call(code="1")  # starts the supervisor
    before = count()
    small = Context(run_id="small")
    python.call({"code": "x = 1", "session": "s"}, small)
    for run in range(3):
        for n in range(7):
            python.call({"code": "1", "session": f"s{n}"}, Context(run_id=f"large {run}"))
    assert count() - before <= 16
    assert python.call({"code": "x", "session": "s"}, small).output["value"] == "1"  # the largest run makes room
    for run in ("small", "large 0", "large 1", "large 2"):
        end_run(run)


def test_ending_a_session_delays_no_other_session(python, root):
    """A stopped supervisor delays the end of its kernel for seconds."""
    stubborn, other = Context(run_id="stubborn"), Context(run_id="other")
    os.mkfifo(root / "begun")
    python.call({"code": "import os\nos.getppid()", "session": "s0"}, stubborn)
    supervisor = int(python.call({"code": "os.getppid()", "session": "s0"}, stubborn).output["value"])
    for n in range(1, 8):
        python.call({"code": "1", "session": f"s{n}"}, stubborn)
    python.call({"code": "1", "session": "s"}, other)
    os.kill(supervisor, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as pool:
            started = pool.submit(python.call, {"code": "open('begun', 'w').close()", "session": "s8"}, stubborn)
            calls = 0
            while not started.done():
                assert python.call({"code": "6 * 7", "session": "s"}, other).output["value"] == "42"
                calls += 1
                if calls == 3:
                    os.kill(supervisor, signal.SIGCONT)
                    (root / "begun").read_text()
            assert calls >= 3
    finally:
        with suppress(ProcessLookupError):  # usually it has ended
            os.kill(supervisor, signal.SIGCONT)
        for context in (stubborn, other):
            end_run(context.run_id)


JUNK = "import os\nfor n in range(3, 100):\n    try: os.write(n, {!r})\n    except OSError: pass"


@pytest.mark.parametrize("data", [b"v" * 64, b"\xff", b"[]\n", b'{"images": "x"}\n', b'{"exit_code": "x"}\n'])
@pytest.mark.parametrize("name", ["", "s"])
def test_code_that_writes_to_the_channel_of_its_result_gets_a_clear_error(python, data, name):
    result = python.call(code=JUNK.format(data), session=name)
    assert (result.error_type, type(result.exception).__name__) == ("execution_error", "ToolError")
    assert "wrote to the descriptor" in result.error
    assert python.call(code="6 * 7", session=name).output["value"] == "42"


@pytest.mark.parametrize("arguments", [{"stdin": "x"}, {"workdir": "inner"}, {"code": " "}])
def test_an_impossible_request_is_refused(python, arguments):
    assert python.call({"code": "1", "session": "s", **arguments}).error_type == "validation_error"


def test_a_session_ends_with_its_run_during_a_call(python, lifeline):
    code = f"held = open({str(lifeline.path)!r}, 'w')\nheld.write('begun')\nheld.flush()\nwhile True: pass"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(python.call, {"code": code, "session": "s"}, Context(run_id="r"))
        lifeline.wait_for(b"begun")
        end_run("r")
        call.result(60)
    assert lifeline.holders_are_gone()


HOST = """
import sys
from tools_shell import Python
python = Python(sys.argv[1], sandbox=sys.argv[2])
assert python.call(code=f"held = open({sys.argv[3]!r}, 'w')", session="s").ok
"""


def test_sessions_end_with_their_process(root, lifeline, level):
    subprocess.run([sys.executable, "-c", HOST, root, level, lifeline.path], check=True)
    assert lifeline.holders_are_gone()


@pytest.mark.slow
def test_neither_descriptors_nor_processes_grow_with_sessions(python, children_of, end_shared_run):
    def count():
        return len(os.listdir("/dev/fd")), len(children_of(os.getpid()))

    python.call(code="1", session="s")
    end_shared_run()
    before = count()
    for code in ("1", "import os; os._exit(0)", "1 / 0") * 3:
        python.call(code=code, session="s")
        end_shared_run()
    assert count() == before


def _pythons():
    interpreters = {}
    for minor in range(11, 15):
        for folder in ("/usr/bin", "/usr/local/bin", *os.environ["PATH"].split(os.pathsep)):
            path = os.path.join(folder, f"python3.{minor}")
            if os.access(path, os.X_OK) and "shims" not in path:
                interpreters.setdefault(minor, path)
    return interpreters


@pytest.mark.slow
@pytest.mark.parametrize("minor", range(11, 15))
def test_a_session_works_on_every_python_from_3_11_on(root, minor):
    if minor not in (interpreters := _pythons()):
        pytest.skip(f"this machine has no Python 3.{minor}")
    python = Python(str(root), sandbox="contained", interpreter=interpreters[minor])
    python.call(code="import asyncio\nx = 1", session="s")
    output = python.call(code="await asyncio.sleep(0)\n(x, 1 / 0)", session="s").output
    assert "1 / 0" in output["error"]["traceback"]
    assert python.call(code="x", session="s").output["value"] == "1"
