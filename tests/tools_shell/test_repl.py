"""Sessions of Python: what persists, what cannot be forged, and what is never done twice."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools_core import Context
from tools_shell import Bash, Repl


@pytest.fixture
def every(root, level):
    """A repl at each level of isolation."""
    repl = Repl(root, sandbox=level)
    yield repl
    repl.close()


@pytest.fixture
def repl(root):
    made = Repl(root, sandbox="contained")
    yield made
    made.close()


def value_of(repl, code, **arguments):
    result = repl.call({"code": code, **arguments})
    assert result.ok, result
    assert "error" not in result.output, result.output["error"]
    return result.output["value"]


# ------------------------------------------------------------------------------------------------- what persists


def test_variables_imports_functions_and_classes_survive_from_call_to_call(every):
    assert value_of(every, "import math\ndef double(x): return 2 * x\nclass Point: x = 3\nn = 4") is None
    assert value_of(every, "double(n) + Point.x + math.floor(0.5)") == "11"
    assert value_of(every, "_ + 1") == "12"


def test_a_result_has_the_value_the_streams_and_the_session(every):
    output = every.call(code="import sys\nprint('out')\nprint('error', file=sys.stderr)\n1 + 1", session="a").output
    assert output.pop("duration") >= 0
    assert output.pop("isolation") in {"none", "contained", "landlock", "bubblewrap"}
    facts = {"value": "2", "stdout": "out\n", "stderr": "error\n", "session": "a", "timed_out": False}
    assert output == facts


def test_sessions_of_different_names_share_nothing_and_reset_begins_one_anew(repl):
    value_of(repl, "x = 1", session="a")
    value_of(repl, "x = 2", session="b")
    assert value_of(repl, "x", session="a") == "1"
    assert value_of(repl, "'x' in dir()", session="a", reset=True) == "False"
    assert repl.call(session="b", reset=True).output == {"session": "b", "reset": True}
    assert value_of(repl, "'x' in dir()", session="b") == "False"


@pytest.mark.parametrize("text", ["false", "true"])
def test_a_reset_that_is_said_in_words_means_what_it_says(repl, text):
    value_of(repl, "x = 1")
    result = repl.call({"code": "'x' in dir()", "reset": text})
    assert result.output["value"] == str(text == "false")
    assert repl.call({"code": "1", "reset": "perhaps"}).error_type == "validation_error"


def test_future_statements_hold_for_the_rest_of_the_session(repl):
    value_of(repl, "from __future__ import annotations\ndef f(x: missing): pass")
    assert value_of(repl, "def g(x: also_missing): pass\ng.__annotations__['x']") == "'also_missing'"


def test_await_works_at_the_top_level_in_one_event_loop_for_the_session(repl):
    code = "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 5\nawait later()"
    assert value_of(repl, code) == "5"
    assert (
        value_of(repl, "task = asyncio.create_task(later())\nloop = asyncio.get_running_loop()\nawait later()") == "5"
    )
    assert value_of(repl, "(await task, loop is asyncio.get_running_loop())") == "(5, True)"
    assert value_of(repl, "asyncio.run(later())") == "5"


def test_objects_of_classes_of_the_session_can_be_pickled(repl):
    value_of(repl, "import pickle\nclass Point:\n    def __init__(self, x): self.x = x")
    assert value_of(repl, "pickle.loads(pickle.dumps(Point(7))).x") == "7"


def test_modules_of_the_workspace_can_be_imported_and_do_not_get_in_the_way(repl, root):
    (root / "mine.py").write_text("x = 8")
    (root / "traceback.py").write_text("raise SystemExit('not this one')")
    assert value_of(repl, "import mine\nmine.x") == "8"
    assert repl.call(code="1 / 0").output["error"]["traceback"].endswith("ZeroDivisionError: division by zero")


def test_the_session_starts_in_the_workspace_with_a_clean_environment(repl, root, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    assert value_of(repl, "import os\nos.getcwd()") == repr(str(root))
    assert "canary" not in value_of(repl, "str(os.environ)")


def test_sources_of_earlier_calls_are_in_tracebacks_whoever_prints_them(repl):
    value_of(repl, "def divide(x):\n    return 1 / x  # here")
    error = repl.call(code="divide(0)").output["error"]
    assert (error["type"], error["message"]) == ("ZeroDivisionError", "division by zero")
    lines = error["traceback"].splitlines()
    assert lines[1:3] == ['  File "<cell 2>", line 1, in <module>', "    divide(0)"]
    assert "    return 1 / x  # here" in lines
    own = "import traceback\ntry: divide(0)\nexcept ZeroDivisionError: traceback.print_exc()"
    assert "# here" in repl.call(code=own, session="default").output["stderr"]
    assert "# here" in value_of(repl, "import inspect\ninspect.getsource(divide)")


def test_the_first_call_that_prints_a_traceback_itself_shows_its_lines_too(repl):
    own = "import traceback\ntry:\n    1 / 0  # here\nexcept ZeroDivisionError: traceback.print_exc()"
    assert "# here" in repl.call(code=own).output["stderr"]


def test_a_traceback_shows_the_frames_of_the_code_alone(repl):
    code = "import asyncio\nasync def fail():\n    raise ValueError('no')\nawait fail()"
    text = repl.call(code=code).output["error"]["traceback"]
    assert text.count("File ") == 2
    assert "_kernel" not in text


@pytest.mark.parametrize("code", ["x = (", "x = 5\nyield 3", "x = 5\nreturn", "x = 5\n'\0'", "if True:\nx = 5"])
def test_code_that_is_no_python_has_no_effect(repl, code):
    error = repl.call(code=code).output["error"]
    assert error["type"] in {"SyntaxError", "IndentationError", "ValueError"}
    assert value_of(repl, "'x' in dir()") == "False"


# ------------------------------------------------------------------------- the list of known mistakes of such tools


def test_re_01_the_value_is_its_repr_and_statements_have_none(repl):
    assert value_of(repl, "1 + 1") == "2"
    assert value_of(repl, "'text'") == "'text'"
    assert value_of(repl, "x = 1") is None
    assert value_of(repl, "None") is None
    assert value_of(repl, "# nothing") is None


def test_re_02_an_exception_is_a_fact_and_the_session_goes_on(repl):
    value_of(repl, "x = 1")
    result = repl.call(code="import json\njson.loads('{')")
    assert result.ok
    assert result.output["error"]["type"] == "JSONDecodeError"
    assert value_of(repl, "x") == "1"


def test_re_03_what_was_printed_before_an_exception_is_kept(repl):
    output = repl.call(code="print('before', end='')\n1 / 0").output
    assert output["stdout"] == "before"
    assert output["error"]["type"] == "ZeroDivisionError"


@pytest.mark.slow
@pytest.mark.parametrize("level", ["contained"], indirect=True)
def test_re_04_code_that_cannot_be_interrupted_loses_its_session_and_the_next_call_says_so(every, at_its_limit):
    value_of(every, "x = 1")
    stubborn = "import time\nprint('begun')\nwhile True:\n    try: time.sleep(9)\n    except KeyboardInterrupt: pass"
    result = at_its_limit(every, lambda result: result.metadata["stdout"], code=stubborn)
    assert result.error_type == "timeout_error"
    assert "variables are lost" in result.error
    assert "begun" in result.error
    assert (result.metadata["stdout"], result.metadata["timed_out"]) == ("begun\n", True)
    output = every.call(code="'x' in dir()").output
    assert output["value"] == "False"
    assert "could not be interrupted" in output["notes"][0]
    assert "notes" not in every.call(code="1").output


def test_re_05_a_session_that_was_killed_from_outside_is_begun_anew_and_the_call_says_so(repl):
    pid = int(value_of(repl, "x = 1\nimport os\nos.getpid()"))
    os.kill(pid, signal.SIGKILL)
    _wait_until_gone(pid)
    output = repl.call(code="'x' in dir()").output
    assert output["value"] == "False"
    assert "SIGKILL" in output["notes"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("death", "told"),
    [
        pytest.param("os._exit(3)", "exit code 3", id="exit"),
        pytest.param("os.abort()", "SIGABRT", id="abort"),
        pytest.param("os.kill(os.getpid(), 9)", "SIGKILL", id="kill"),
        pytest.param("os.execvp('true', ['true'])", "exit code 0", id="exec"),
        pytest.param("os.execvp('sleep', ['sleep', '900'])", "another program", id="exec that stays"),
        pytest.param("os.closerange(3, 1000); import time; time.sleep(900)", "descriptors", id="closes all"),
        pytest.param("import ctypes; ctypes.string_at(0)", "SIGSEGV", id="crash"),
    ],
)
def test_re_06_code_during_which_the_session_dies_is_never_run_twice(repl, root, death, told):
    result = repl.call(code=f"import os\nopen('log', 'a').write('ran ')\nprint('last words')\n{death}")
    assert result.error_type == "execution_error"
    assert told in result.error
    assert "last words" in result.error
    assert value_of(repl, "1") == "1"
    assert (root / "log").read_text() == "ran "


def test_re_07_parallel_calls_of_one_session_run_one_after_the_other(repl):
    value_of(repl, "n = 0")
    code = "before = n\nimport time\ntime.sleep(0.01)\nn = before + 1"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: value_of(repl, code), range(8)))
    assert value_of(repl, "n") == "8"


FORGERIES = """
import os, sys
print("FAKE"); sys.__stdout__.write("FAKE"); os.system("echo FAKE; echo FAKE >&2")
for descriptor in range(1, 256):
    try:
        os.write(descriptor, bytes(16) + (7).to_bytes(4, "big") + b"v\\0\\0\\0\\4FAKE")
    except OSError:
        continue
"true value"
"""


def test_re_08_nothing_that_is_written_can_pass_for_a_reply_and_standard_input_is_empty(every):
    assert value_of(every, FORGERIES) == "'true value'"
    assert value_of(every, "import sys\nsys.stdin.read()") == "''"
    assert every.call(code="input()").output["error"]["type"] == "EOFError"
    assert every.call(code="import os\nos.system('cat')").output["stdout"] == ""


FLOOD = """
import os, stat
for descriptor in range(3, 256):
    try:
        while stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            os.write(descriptor, bytes(1 << 16))
    except OSError:
        continue
"""


def test_code_that_floods_the_channel_does_not_fill_the_memory_of_the_host(repl, monkeypatch):
    monkeypatch.setattr("tools_shell._code._host._REPLY", 1 << 20)
    result = repl.call(code=FLOOD, timeout=60)
    assert (result.error_type, result.metadata["timed_out"]) == ("execution_error", False)
    assert value_of(repl, "1") == "1"


@pytest.mark.parametrize("stream", [1, 2])
def test_re_09_a_flood_on_either_stream_neither_blocks_nor_is_lost_uncounted(repl, stream):
    output = repl.call(code=f"import os\nfor _ in range(1000): os.write({stream}, b'x' * 9999 + b'\\n')\n'done'").output
    name = {1: "stdout", 2: "stderr"}[stream]
    assert output["value"] == "'done'"
    assert output["truncated_bytes"][name] == 10_000_000 - 2 * 64 * 1024


def test_re_10_bytes_that_are_no_utf8_are_replaced_and_flagged_and_long_values_are_cut(repl):
    output = repl.call(code="import os\nos.write(1, b'caf\\xe9')\n'\\ud800'").output
    assert (output["stdout"], output["not_utf8"]) == ("caf\\xe9", ["stdout"])
    output = repl.call(code="'x' * 3_000_000").output
    assert len(output["value"]) < 20_000
    assert output["value_truncated"] is True


@pytest.mark.slow
def test_re_11_closing_ends_a_session_whatever_it_does_and_nobody_else(repl, lifeline):
    code = f"""
import atexit, os, signal, threading, time
held = open({str(lifeline.path)!r}, "w")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
atexit.register(time.sleep, 900)
threading.Thread(target=time.sleep, args=(900,)).start()
"""
    value_of(repl, code)
    value_of(repl, "x = 1", session="other")
    assert repl.call(action="close").output == {"session": "default", "closed": True}
    assert lifeline.holders_are_gone()
    assert value_of(repl, "x", session="other") == "1"
    assert repl.call(action="close").error_type == "not_found"


def test_re_12_every_result_says_how_isolated_it_was(every):
    result = every.call(code="1")
    assert result.metadata["isolation"] == result.output["isolation"]
    assert isinstance(result.metadata["not_isolated"], list)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["close", "reset", "limit", "death"])
def test_re_13_what_a_session_started_ends_with_it(repl, lifeline, end, at_its_limit):
    holder = f"exec 9> {lifeline.path}; echo begun >&9; sleep 900"
    value_of(repl, f"import os, subprocess\nchild = subprocess.Popen({holder!r}, shell=True)\nchild.pid")
    lifeline.wait_for(b"begun\n")
    if end == "close":
        repl.call(action="close")
    elif end == "reset":
        repl.call(reset=True)
    elif end == "limit":
        code = "import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass"
        at_its_limit(repl, lambda result: "variables are lost" in result.error, code=code)
    else:
        repl.call(code="os._exit(0)")
    assert lifeline.holders_are_gone()


# ------------------------------------------------------------------------------------------- limits, interruptions


LASTING = {
    "loop": "while True: pass",
    "sleep": "import time; time.sleep(900)",
    "process": "import subprocess; subprocess.run(['sleep', '900'])",
    "system": "import os; os.system('sleep 900')",
    "system, then a loop": "import os; os.system('sleep 900')\nwhile True: pass",
    "await": "import asyncio; await asyncio.sleep(900)",
    "repr": "class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()",
    "message": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "lock": "import threading; threading.Event().wait()",
}


@pytest.mark.parametrize(
    "name", [name if name in ("loop", "sleep") else pytest.param(name, marks=pytest.mark.slow) for name in LASTING]
)
def test_at_its_limit_code_is_interrupted_and_the_variables_are_kept(root, at_its_limit, name):
    repl = Repl(root, sandbox="contained")
    value_of(repl, "x = 1")
    result = at_its_limit(repl, lambda result: result.metadata["stdout"], code=f"print('begun')\n{LASTING[name]}")
    assert (result.error_type, result.metadata["stdout"]) == ("timeout_error", "begun\n")
    assert "its variables are kept" in result.error
    assert value_of(repl, "x") == "1"
    repl.close()


@pytest.mark.slow
def test_an_interrupt_says_where_the_code_was(repl, at_its_limit):
    line = "    while True: pass\n"
    result = at_its_limit(repl, lambda result: line in result.error, code=f"def wait():\n{line}wait()")
    assert line in result.error
    assert "_kernel" not in result.error


@pytest.mark.slow
def test_an_interrupt_ends_the_coroutine_too(repl, at_its_limit):
    value_of(repl, "import asyncio\nlog = []")
    code = "try:\n    print('begun')\n    await asyncio.sleep(900)\nfinally:\n    log.append('ended')"
    result = at_its_limit(repl, lambda result: result.metadata["stdout"], code=code)
    assert result.error_type == "timeout_error"
    assert value_of(repl, "await asyncio.sleep(0)\nlog") == "['ended']"


@pytest.mark.slow
def test_an_interrupt_says_where_a_coroutine_waited(repl, at_its_limit):
    code = "import asyncio\nasync def work():\n    await asyncio.sleep(900)  # here\nawait work()"
    result = at_its_limit(repl, lambda result: "# here" in result.error, code=code)
    assert result.error_type == "timeout_error"
    assert "await asyncio.sleep(900)  # here" in result.error
    assert "_kernel" not in result.error


@pytest.mark.slow
def test_code_is_interrupted_whatever_signals_earlier_code_has_blocked(repl):
    value_of(repl, "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nx = 1")
    result = repl.call(code="while True: pass", timeout=1)
    assert (result.error_type, "variables are kept" in result.error) == ("timeout_error", True)
    assert value_of(repl, "x") == "1"


@pytest.mark.parametrize("end", ["SystemExit(3)", "KeyboardInterrupt"])
def test_what_ends_a_task_ends_the_code_and_says_no_more(repl, end):
    code = f"import asyncio\nasync def work():\n    raise {end}\nawait asyncio.gather(work(), asyncio.sleep(900))"
    output = repl.call(code=code).output
    assert output.get("exit_code") == 3 or output["error"]["type"] == "KeyboardInterrupt"
    assert repl.call(code="import gc\ngc.collect()\nawait asyncio.sleep(0)").output["stderr"] == output["stderr"] == ""


def test_an_interrupt_of_the_codes_own_is_a_fact(repl):
    output = repl.call(code="import signal\nsignal.raise_signal(signal.SIGINT)\n1").output
    assert output["error"]["type"] == "KeyboardInterrupt"
    assert output["timed_out"] is False


def test_a_signal_that_the_code_asked_for_does_not_hit_the_session_while_it_is_idle(repl):
    code = """
import signal, threading
def late(*_): raise TimeoutError("late")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.001)
"""
    repl.call(code=code)
    seen = [repl.call(code="signal.setitimer(signal.ITIMER_REAL, 0.0001) and 0").output for _ in range(50)]
    assert all(output.get("error", {"type": "TimeoutError"})["type"] == "TimeoutError" for output in seen)
    repl.call(code="signal.signal(signal.SIGALRM, signal.SIG_IGN)")  # the last of them may come right here
    assert value_of(repl, "late.__name__") == "'late'"


def test_an_interrupt_that_comes_too_late_is_for_nobody(repl):
    pid = int(value_of(repl, "import os\nos.getpid()"))
    for _ in range(20):
        os.kill(pid, signal.SIGINT)
        assert value_of(repl, "sum(range(1000))") == "499500"


def test_a_cancelled_call_interrupts_its_code(repl, lifeline):
    value_of(repl, f"x = 1\nheld = open({str(lifeline.path)!r}, 'wb', 0)")
    context = Context(run_id="")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(repl.call, {"code": "held.write(b'begun')\nwhile True: pass"}, context=context)
        wait_for(lifeline, b"begun")
        context.cancel()
        result = call.result(30)
    assert result.error_type == "cancelled"
    assert value_of(repl, "x") == "1"


@pytest.mark.slow
def test_the_deadline_of_the_caller_counts_too(repl):
    value_of(repl, "x = 1")
    result = repl.call({"code": "while True: pass"}, context=Context(timeout=3))
    assert result.error_type == "timeout_error"
    assert "its variables are kept" in result.error


# --------------------------------------------------------------------------------------- what code does to the kernel


@pytest.mark.parametrize("leave", ["sys.exit(3)", "exit(3)", "raise SystemExit(3)"])
def test_exit_ends_the_code_and_not_the_session(repl, leave):
    output = repl.call(code=f"import sys\nx = 1\n{leave}").output
    assert output["exit_code"] == 3
    assert "error" not in output
    assert value_of(repl, "x") == "1"
    assert repl.call(code="sys.exit('why')").output["stderr"] == "why\n"


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.stdout = None\nsys.stderr = 5",
        "import io, sys\nsys.stdout = io.StringIO()\nprint('swallowed')",
        "import sys\nsys.stdout.close()\nsys.stderr.close()",
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8')",
        "import codecs, sys\nsys.stderr = codecs.getwriter('utf-8')(sys.stderr.detach())",
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
        "import sys\nsys.stdout = open(1, 'w')\nsys.stderr = open(2, 'w')",
        "import sys\nclass S:\n    def flush(self): raise KeyboardInterrupt\nsys.stdout = S()",
        "import os\nos.close(1)\nos.close(2)",
        "import os\nos.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
    ],
)
def test_output_works_again_after_code_that_replaced_closed_or_redirected_it(repl, code):
    notes = repl.call(code=code).output["notes"]
    assert any("by the code; it is as it was before" in note for note in notes)
    output = repl.call(code="import sys\nprint('here')\nprint('there', file=sys.stderr)").output
    assert (output["stdout"], output["stderr"]) == ("here\n", "there\n")
    assert "notes" not in output


@pytest.mark.slow
def test_a_stream_that_hangs_when_it_is_flushed_is_interrupted_and_the_variables_are_kept(repl):
    value_of(repl, "x = 1")
    code = "import sys, threading\nclass S:\n    def flush(self): threading.Event().wait()\nsys.stdout = S()"
    assert "variables are kept" in repl.call(code=code, timeout=1).error
    assert value_of(repl, "x") == "1"


def test_a_fork_of_the_code_cannot_answer_for_the_session(every):
    code = (
        "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child')\nos.getpid() == me"
    )
    value_of(every, "import os\nme = os.getpid()")
    output = every.call(code=code).output
    assert output["value"] == "True"
    assert output["stdout"] == "child\nparent\n"
    assert value_of(every, "os.getpid() == me") == "True"


def test_children_inherit_no_descriptor_of_the_session(repl):
    code = "import subprocess\nsubprocess.run('ls -l /proc/self/fd', shell=True, close_fds=False).returncode"
    output = repl.call(code=code).output
    assert output["value"] == "0"
    assert "socket" not in output["stdout"]
    assert len([line for line in output["stdout"].splitlines() if " -> " in line]) == 4  # and the folder itself


def test_threads_go_on_between_calls_and_what_they_print_is_not_lost(repl):
    code = """
import threading
go = threading.Event()
def chatter():
    print("first", flush=True)
    go.wait()
    print("second", flush=True)
thread = threading.Thread(target=chatter); thread.start()
"""
    first = repl.call(code=code).output["stdout"]
    second = repl.call(code="go.set()\nthread.join()").output["stdout"]
    assert first + second == "first\nsecond\n"


@pytest.mark.slow
@pytest.mark.parametrize("flood", ["print('x' * 1000)", "os.write(1, bytes(1 << 20))"])
def test_a_thread_that_never_stops_printing_holds_nobody(repl, flood):
    code = f"""
import os, threading
def flood():
    while True: {flood}
for _ in range(4): threading.Thread(target=flood, daemon=True).start()
"""
    repl.call(code=code)
    for number in range(20):
        assert value_of(repl, f"{number}") == str(number)


def test_a_process_that_never_stops_printing_holds_nobody(repl):
    assert value_of(repl, "import subprocess\nchildren = [subprocess.Popen(['yes']) for _ in range(2)]\n1") == "1"
    for number in range(20):
        assert value_of(repl, f"{number}") == str(number)


@pytest.mark.parametrize(
    "code",
    [
        "import builtins\nfor name in ('len', 'repr', 'compile', 'eval', 'type'): delattr(builtins, name)",
        "import os\nos.read = os.write = os.getpid = os.fstat = None",
        "import sys\nsys.modules.clear()",
        "import sys\nsys.path.clear()\nsys.meta_path.clear()",
        "import sys\nsys.setrecursionlimit(60)",
        "import os\nos.chdir('/')",
        "import gc, sys\ngc.disable()\nsys.settrace(lambda *_: None)",
        "globals().clear()",
    ],
)
def test_a_session_survives_code_that_breaks_its_interpreter(repl, code):
    repl.call(code=code)
    assert repl.call(code="2 + 3").output["value"] == "5"
    assert repl.call(code="raise ValueError('seen')").output["error"]["message"] == "seen"
    assert repl.call(code="2 + 3").output["value"] == "5"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def f(): f()\nf()", "RecursionError"),
        ("b'x' * (1 << 62)", "MemoryError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E"),
        ("class E(BaseException): pass\nraise E", "E"),
        ("class E(Exception): __class__ = property(lambda self: 1 / 0)\nraise E", "E"),
        ("class E(Exception):\n    def __getattribute__(self, name): raise KeyError\nraise E", "E"),
        ("class M(type): __name__ = property(lambda c: 1 / 0)\nclass E(Exception, metaclass=M): pass\nraise E", "E"),
    ],
)
def test_whatever_is_raised_is_a_fact(repl, code, kind):
    assert repl.call(code=code).output["error"]["type"] == kind
    assert value_of(repl, "1") == "1"


# --------------------------------------------------------------------------------------------------- the sessions


def test_sessions_are_listed_with_what_they_do(repl):
    value_of(repl, "1", session="b")
    value_of(repl, "1", session="a")
    found = repl.call(action="list").output
    assert [entry["session"] for entry in found] == ["a", "b"]
    assert not any(entry["busy"] for entry in found)


def test_the_session_that_was_used_longest_ago_gives_way_and_its_next_call_is_told(root):
    repl = Repl(root, sandbox="contained", most=2)
    for name in ("a", "b", "a", "c"):
        value_of(repl, "x = 1", session=name)
    assert [entry["session"] for entry in repl.call(action="list").output] == ["a", "c"]
    output = repl.call(code="'x' in dir()", session="b").output
    assert output["value"] == "False"
    assert "2 sessions at most" in output["notes"][0]
    repl.close()


def test_a_busy_session_is_refused_where_that_was_chosen(root, lifeline):
    repl = Repl(root, sandbox="contained", busy="refuse")
    value_of(repl, f"held = open({str(lifeline.path)!r}, 'wb', 0)")
    context = Context(run_id="")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(repl.call, {"code": "held.write(b'begun')\nwhile True: pass"}, context=context)
        wait_for(lifeline, b"begun")
        refused = repl.call(code="print('must not run')")
        context.cancel()
        call.result(30)
    assert refused.error_type == "conflict"
    repl.close()


@pytest.mark.slow
def test_a_call_that_waits_for_a_busy_session_ends_by_its_limit_and_runs_nothing(repl, lifeline):
    value_of(repl, f"ran = False\nheld = open({str(lifeline.path)!r}, 'wb', 0)")
    context = Context(run_id="")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(repl.call, {"code": "held.write(b'begun')\nwhile True: pass"}, context=context)
        wait_for(lifeline, b"begun")
        refused = repl.call(code="ran = True", timeout=1)
        context.cancel()
        call.result(30)
    assert refused.error_type == "conflict"
    assert value_of(repl, "ran") == "False"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"code": " \n"}, {"code": "1", "timeout": 0}, {"code": "1", "timeout": 601}, {"code": "1", "action": "kill"}],
)
def test_an_impossible_request_is_refused(repl, arguments):
    assert repl.call(arguments).error_type == "validation_error"


@pytest.mark.slow
@pytest.mark.usefixtures("no_garbage")
def test_neither_descriptors_nor_threads_nor_processes_grow_with_sessions(root):
    def count():
        free = os.dup(0)
        os.close(free)
        return free, threading.active_count()

    repl = Repl(root, sandbox="contained")
    value_of(repl, "1")
    repl.call(action="close")
    before = count()
    for _ in range(20):
        value_of(repl, "1")
        repl.call(code="import os; os._exit(1)")
        value_of(repl, "1")
        repl.call(action="close")
    descriptors, threads = count()
    assert descriptors <= before[0] and threads <= before[1]


@pytest.mark.slow
@pytest.mark.parametrize("tool", [Repl, Bash])
def test_a_session_that_is_closed_during_a_call_ends_with_all_that_it_started(root, level, lifeline, tool):
    code = {
        Repl: f"import threading\nheld = open({str(lifeline.path)!r}, 'w')\nprint('on', file=held, flush=True)\n"
        "threading.Event().wait()",
        Bash: f"exec 9> '{lifeline.path}'; echo on >&9; sleep 60",
    }[tool]
    used = tool(root, sandbox=level)
    with ThreadPoolExecutor() as pool:
        call = pool.submit(used.call, {"code" if tool is Repl else "command": code, "session": "s"})
        lifeline.wait_for(b"on\n")
        used.close()
        assert lifeline.holders_are_gone()
        assert call.result().error_type == "cancelled"
        assert "it was closed" in call.result().error


def test_a_table_that_nobody_holds_any_more_ends_its_sessions(root, lifeline):
    import gc

    repl = Repl(root, sandbox="contained")
    value_of(repl, f"held = open({str(lifeline.path)!r}, 'w')")
    del repl
    gc.collect()
    assert lifeline.holders_are_gone()


ABANDONED = """
import sys
from tools_shell._repl import Repl
print(Repl(sys.argv[1], sandbox=sys.argv[3]).call(code=f"held = open({sys.argv[2]!r}, 'w')\\n1").output["value"])
"""


def test_sessions_end_with_their_process(root, lifeline, level):
    command = [sys.executable, "-c", ABANDONED, root, lifeline.path, level]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    assert done.stderr == ""
    assert lifeline.holders_are_gone()


def wait_for(lifeline, word):
    poll = select.poll()
    poll.register(lifeline.descriptor, select.POLLIN)
    while poll.poll(60_000):
        if os.read(lifeline.descriptor, 100) == word:
            return
    pytest.fail("it was never written")


def _wait_until_gone(pid):
    while Path(f"/proc/{pid}").exists():
        pass
