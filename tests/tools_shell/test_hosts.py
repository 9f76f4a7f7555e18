"""Whatever the program around the tools does with its signals, descriptors and processes, commands run and end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from tools_core import Context, ToolCall
from tools_core.files import host_folders
from tools_runtime import Executor
from tools_shell import Bash, JobOutput, JobStart, Sandbox, end_run

RUN = """
import os, signal, sys, threading
from tools_shell import Bash, JobOutput, JobStart, Python
bash, python, start = (tool(sys.argv[1], sandbox=sys.argv[2]) for tool in (Bash, Python, JobStart))
said = os.dup2(1, 99)
def job():
    started = start.call(command="echo a job")
    return JobOutput(sys.argv[1]).call(id=started.output["id"], until_end=True) if started.ok else started
"""
SHOW = """
for result in (
    bash.call(command="cat; echo out; echo error >&2; exit 3", stdin="in\\n"),
    python.call(code="print('in it'); 'the ' + 'value'"),
    job(),
):
    facts = result.output if result.ok else result.metadata | {"message": result.error}
    os.write(said, repr({name: fact for name, fact in facts.items() if name != "duration"}).encode() + b"\\n")
"""
HANDLER = """
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, reap)
"""
HOSTS = {
    "ignores SIGCHLD": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "waits for all children": HANDLER,
    "ignores all signals": "for n in signal.valid_signals() - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)",
    "blocks all signals": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "has no input": "os.close(0)",
    "has no output": "os.close(1)",
    "has neither input nor output": "os.close(0); os.close(1)",
    "has no standard streams": "os.close(0); os.close(1); os.close(2)",
    "closes all descriptors": "bash.call(command='true'); job(); os.closerange(3, 99)",
    "closes all descriptors and opens others": (
        "bash.call(command='true'); job(); os.closerange(3, 99); files = [open('/dev/null') for _ in range(20)]"
    ),
    "opens many files": (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)); "
        "files = [open('/dev/null') for _ in range(2000)]"
    ),
    "opens many files after its first command": (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096)); bash.call(command='true'); "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)); files = [open('/dev/null') for _ in range(2000)]"
    ),
    "is in a removed folder": "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
}


def run(root, level, program):
    command = [sys.executable, "-c", RUN + program, root, level]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=240)


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_commands_run_and_end_in_unusual_hosts(root, level, host):
    done = run(root, level, host + "\n" + SHOW)
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    # A host that waits for all children takes the status from us, without a supervisor in between.
    code = None if level == "none" and host in {HOSTS["ignores SIGCHLD"], HANDLER, HOSTS["ignores all signals"]} else 3
    assert f"'output': 'in\\nout\\nerror\\n', 'exit_code': {code}" in lines[0]
    assert "'output': 'in it\\n'" in lines[1] and "'value': \"'the value'\"" in lines[1]
    assert "'output': 'a job\\n'" in lines[2]
    assert done.stderr == ""


@pytest.mark.parametrize("host", [HOSTS["ignores all signals"], HOSTS["blocks all signals"]])
def test_signal_masks_of_the_host_are_not_inherited(root, level, host):
    if level == "none":
        pytest.skip("level none promises less")
    show = 'os.write(said, bash.call(command="grep -E \'Sig(Blk|Ign)\' /proc/self/status").output["output"].encode())'
    facts = dict(line.split(":\t") for line in run(root, level, f"{host}\n{show}").stdout.splitlines())
    assert int(facts["SigBlk"], 16) == 0
    assert int(facts["SigIgn"], 16) & 0x7FFFFFFF == 0  # the two above belong to the C library


def test_a_host_without_interpreter_gets_a_clear_error(root):
    program = "sys.executable = ''\nos.write(said, bash.call(command='true').error.encode())"
    assert "no Python executable is known" in run(root, "contained", program).stdout


def test_scripts_variables_and_code_are_utf8_in_any_locale(root, level):
    program = """
import sys
from tools_shell import Bash, JobOutput, JobStart, Python
settings = {"root": sys.argv[1], "sandbox": sys.argv[2], "env": {"THEIRS": "\\u00fc"}}
bash, start = Bash(**settings), JobStart(**settings)
script = {"command": "echo '\\u20ac' \\u00e9 $THEIRS"}
id = start.call(script).output["id"]
job = JobOutput(sys.argv[1]).call(id=id, until_end=True).output["output"]
said = [bash.call(**script).output["output"], bash.call(**script, session="a").output["output"], job]
said += [Python(**settings).call(code="import os; print('\\u20ac', '\\u00e9', os.environ['THEIRS'])").output["output"]]
print(sys.getfilesystemencoding(), ascii(said))
"""
    environment = {**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    arguments = [sys.executable, "-c", program, str(root), level]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("ascii " + ascii(["€ é ü\n"] * 4) + "\n", "")


OPEN_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 3000))
os.write(said, bash.call(command="ulimit -Sn; ulimit -Hn").output["output"].encode())
"""


def test_a_command_has_the_file_limit_of_its_host(root, level):
    assert run(root, level, OPEN_FILES).stdout.split() == ["300", "3000"]


FORKING = """
bash.call(command="true")
wrong, is_done = [], threading.Event()
def call():
    while not is_done.is_set():
        result = bash.call(command="cat; echo done", stdin="in\\n", timeout=120)
        if not result.ok or result.output["output"] != "in\\ndone\\n" or "background" in result.output:
            wrong.append(result)
threads = [threading.Thread(target=call) for _ in range(4)]
for thread in threads:
    thread.start()
children, (held, holds) = [], os.pipe()
for number in range(40):
    pid = os.fork()
    if pid == 0:
        os.close(holds)
        signal.alarm(200)  # one that waits for a lock would wait permanently
        if number % 2:
            os.read(held, 1)  # until all are done
        else:
            result = bash.call(command="echo child")
            if result.output["output"] != "child\\n":
                os.write(2, repr((result, result.metadata)).encode())
                os._exit(1)
        os._exit(0)
    children.append(pid)
is_done.set()
for thread in threads:
    thread.join()
os.close(holds)
print([status for pid in children if (status := os.waitpid(pid, 0)[1])], wrong)
"""


def test_forks_of_the_host_and_its_calls_do_not_wait_for_each_other(root, level):
    done = run(root, level, FORKING)
    assert done.stdout == "[] []\n", done.stderr


FULL = """
import resource, tempfile
def count():
    return len(os.listdir("/proc/self/fd"))
bash.call(command="true")
first = set(os.listdir(tempfile.gettempdir()))
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, most))
before, kinds = count(), set()
for free in range(0, 60, 3):
    files = []
    try:
        while True:
            files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for _ in range(free):
            os.close(files.pop())
    result = bash.call(command="cat", stdin="x")
    kinds.add((result.error_type, result.ok))
    for file in files:
        os.close(file)
print(count() - before, sorted({*os.listdir(tempfile.gettempdir())} - first), sorted(kinds, key=str))
"""


def test_a_shortage_of_descriptors_leaks_no_descriptors(root, level, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    done = run(root, level, FULL)
    grown, left, kinds = done.stdout.split(" ", 2)
    assert (grown, left) == ("0", "[]"), done.stderr
    folders = list((tmp_path / "temporary").glob("ask-tools-runs-*/*"))
    assert folders == []
    assert kinds.count("False") <= 2
    assert "(None, True)" in kinds
    assert "exception" not in kinds


# The interpreter of the tests may be in root's home, where no other user can start it.
GIVING_UP = """
sys.executable = next(path for path in ("/usr/bin/python3", sys.executable) if os.path.exists(path))
bash.call(command="true")
os.chmod(sys.argv[1], 0o777)
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
result = bash.call(command="id -u; id -g")
os.write(said, (result.output["output"] if result.ok else "refused: " + result.error).encode())
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root has rights to drop")
def test_commands_run_with_the_current_user_of_the_host(level):
    with tempfile.TemporaryDirectory() as folder:
        facts = run(folder, level, GIVING_UP).stdout
    assert facts == "65534\n65534\n" or facts.startswith("refused: ")


LEAKING = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (600, 1000))
os.dup2(os.open("/dev/null", os.O_RDONLY), 500, inheritable=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
os.write(said, bash.call(command="ls /proc/self/fd").output["output"].encode())
"""


def test_descriptors_beyond_a_lowered_limit_are_not_inherited(root, level):
    facts = run(root, level, LEAKING).stdout.split()
    assert {"0", "1", "2"} <= set(facts) <= {"0", "1", "2", "3"}


def test_sessions_and_jobs_stay_in_this_process_with_process_runtimes(root):
    tools = [Bash(root, sandbox="none"), JobStart(root, sandbox="none"), JobOutput()]
    calls = [
        ToolCall("session", "bash", {"command": "x=1", "session": "a"}),
        ToolCall("again", "bash", {"command": "echo $x", "session": "a"}),
        ToolCall("start", "job_start", {"command": "sleep 99"}),
        ToolCall("list", "job_output", {}),
    ]
    context = Context(workspace=root)
    with Executor(tools, runtime="process", approve="all") as executor:
        results = {call.id: executor.call(call, context=context) for call in calls}
    end_run(context.run_id)
    assert results["again"].output["output"] == "1\n"
    assert len(results["list"].output) == 1


INSIDE = """
import sys
from tools_shell import Bash
for level in ("none", "contained", "sandboxed"):
    result = Bash(".", sandbox=level).call(command="echo $((6 * 7))")
    print(result.output["output"].strip() if result.ok else result.error)
"""


def test_a_sandboxed_host_runs_commands(root, level):
    (root / "host.py").write_text(INSIDE)
    outer = Bash(root, sandbox=Sandbox(level=level, readable=map(os.path.dirname, host_folders())))
    result = outer.call(command=f"{sys.executable} host.py", timeout=100)
    assert result.output["output"] == "42\n42\n42\n", result


def test_a_call_without_proc_reports_the_reason(root):
    (root / "host.py").write_text(INSIDE)
    hidden = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/proc"]
    if not shutil.which("bwrap") or subprocess.run([*hidden, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this system has no bubblewrap")
    done = subprocess.run([*hidden, sys.executable, "host.py"], cwd=root, capture_output=True, text=True, check=False)
    assert done.stdout.count("is /proc mounted?") == 3, done.stderr


AGENT = """
import os, sys
from tools_core import Context
from tools_shell import Bash, JobInput, JobOutput, JobStart, JobStop, Python
os.environ["SERVICE_TOKEN"], os.environ["DB_URL"] = "tok-1234567890abc", "postgres://user:s3cret-pass@host/x"
tools = bash, python, start = [tool(sandbox=sys.argv[1]) for tool in (Bash, Python, JobStart)]
for name in sys.stdlib_module_names:
    with open(f"{name}.py", "w") as file:
        file.write(f"open('imported', 'a').write('{name} ')")
bash.effects({"command": "ls"})
print(bash.call(command="echo works", session="s").output["output"], end="")
results = [bash.call(command="sleep 9", timeout=1), bash.call(comand="x")]
results += [python.call(code="1", session="s"), start.call(command="cat", tty=True), JobOutput().call()]
id = results[-2].output["id"]
results += [JobInput().call(id=id, text="x\\n", keys=["ctrl-d"]), JobStop().call(id=id)]
results += [bash.call(command="ls", workdir=".."), bash.call(command="ls", session="s", timeout=2)]
for result in results:
    result.content, result.to_json()
"""


def test_a_host_in_its_workspace_imports_no_module_of_a_command(root, level):
    (root / "agent.py").write_text(AGENT)
    done = subprocess.run([sys.executable, "agent.py", level], cwd=root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("works\n", "")
    assert not (root / "imported").exists(), (root / "imported").read_text()
