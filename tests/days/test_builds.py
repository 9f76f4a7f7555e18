"""Days with builds, servers and other programs that run longer than one call."""

from __future__ import annotations

import json
import os
import re
import shutil
import sysconfig

import pytest

MAKEFILE = """\
all: report.txt

report.txt: $(sort $(wildcard data/*.txt))
\tcat $^ | sort | uniq -c > $@
\t@echo made $@

check: report.txt
\tgrep -q '2 b' report.txt

clean:
\trm -f report.txt

.PHONY: all check clean
"""
SERVER = """\
import http.server, json, pathlib

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"path": self.path, "title": pathlib.Path("title.txt").read_text().strip()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *words):
        print(self.path, flush=True)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"listening on http://127.0.0.1:{server.server_port}/ now", flush=True)
server.serve_forever()
"""


@pytest.mark.slow
def test_a_project_is_built_with_make(day, level):
    """Build with make, change an input, build only what changed, repair a broken target, and clean up."""
    day.repository({"Makefile": MAKEFILE, "data/1.txt": "a\nb\n", "data/2.txt": "c\n", ".gitignore": "report.txt\n"})
    assert "made report.txt" in day.bash("make")
    assert day.bash("make") == "make: Nothing to be done for 'all'.\n"
    assert "Error 1" in day.bash("make check", exit_code=2)
    day.call("write_file", path="data/3.txt", content="b\n")
    assert "made report.txt" in day.bash("make -j2 check")
    assert day.read("report.txt").split() == ["1", "a", "2", "b", "1", "c"]
    day.bash("make clean && git add . && git commit -qm 'Add b'")


@pytest.mark.slow
def test_an_npm_project_uses_a_package_from_a_local_archive(day):
    """Install a package from an archive with npm, write a script that uses it, and run the project's tests."""
    npm = shutil.which("npm") or shutil.which("npm", path=sysconfig.get_path("scripts"))
    if npm is None:
        pytest.skip("npm is not installed")
    path = f"export PATH=$PATH:{os.path.dirname(npm)}"
    day.repository(
        {
            "left/package.json": '{"name": "left", "version": "1.2.0", "main": "index.js"}\n',
            "left/index.js": "module.exports = (text, width) => String(text).padStart(width);\n",
            "app/package.json": '{"name": "app", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
            ".gitignore": "node_modules/\n*.tgz\n",
        }
    )
    day.bash(f"{path}; npm pack --silent", workdir="left", timeout=300)
    log = day.bash(f"{path}; npm install --offline ../left/left-1.2.0.tgz", workdir="app", timeout=300)
    assert "added 1 package" in log
    test = "require('node:test')('pads', () => require('assert').equal(require('left')(7, 3), '  7'));\n"
    day.call("write_file", path="app/pad.test.js", content=test)
    assert re.search(r"pass 1\b", day.bash(f"{path}; npm test", workdir="app", timeout=300))
    assert "node_modules" not in day.call("glob", pattern="**/*.js").content
    day.bash("git add . && git commit -qm 'Use left'")
    assert "file:../left/left-1.2.0.tgz" in day.shell("git show :app/package.json")


def test_a_server_started_as_a_job_answers_every_other_call(day, level):
    """Start a development server, fetch from it with bash, python and a second job, edit, restart and stop it."""
    day.write({"server.py": SERVER, "title.txt": "first\n"})
    job = day.start("python3 server.py", " now")
    url = re.search(r"http://\S+", day.call("job_output", id=job).content)[0]
    fetch = "import urllib.request; print(urllib.request.urlopen('%s').read().decode())"
    assert '{"path": "/bash", "title": "first"}' in day.bash(f'python3 -c "{fetch % (url + "bash")}"')
    assert '{"path": "/python", "title": "first"}' in day.call("python", code=fetch % (url + "python")).content
    day.call("read_file", path="title.txt")
    day.call("edit_file", path="title.txt", old_string="first", new_string="second")
    other = day.start(f'python3 -c "{fetch % (url + "job")}"')
    assert '"title": "second"' in day.call("job_output", id=other, until_end=True, wait=30).content
    assert re.findall(r"^/\w+$", day.call("job_output", id=job, wait_for="/job", wait=60).content, re.MULTILINE) == [
        "/bash",
        "/python",
        "/job",
    ]

    day.call("job_stop", id=job)
    assert "urlopen error" in day.bash(f'python3 -c "{fetch % url}"', exit_code=1)
    port = url.rstrip("/").rpartition(":")[2]
    day.bash(f"sed -i 's/, 0), Handler/, {port}), Handler/' server.py")
    day.start("python3 server.py", f"127.0.0.1:{port}/ now")
    assert "second" in day.bash(f'python3 -c "{fetch % url}"')


@pytest.mark.slow
def test_a_server_and_its_client_run_inside_one_script(day):
    """Start a server in the background of a script, run requests against it, and let the script end it."""
    day.write({"public/index.html": "<h1>Shop</h1>\n"})
    script = """
    python3 -u -m http.server --bind 127.0.0.1 --directory public 0 > server.log 2>&1 &
    for _ in $(seq 600); do port=$(grep -o -m1 'port [0-9]*' server.log) && break || sleep 0.05; done
    python3 - ${port#port } <<'END'
import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/").read().decode())
END
    kill %1; rm server.log
    """
    assert "<h1>Shop</h1>" in day.bash(script)
    assert day.call("job_output").output == []


@pytest.mark.slow
def test_a_long_build_is_cut_continued_and_stopped(day):
    """A build exceeds the limit of its call; a job continues it, is watched and stopped."""
    build = "for n in $(seq 1000); do [ -e out/$n ] || { sleep 0.1; echo step $n | tee out/$n; }; done"
    day.write({"build.sh": f"mkdir -p out\n{build}\n"})
    cut = day.attempt("bash", command="bash build.sh", timeout=3)
    assert cut.error_type == "timeout_error" and "step 1\n" in cut.metadata["output"] and "job_start" in cut.error
    done = len(os.listdir(day.workspace / "out"))
    assert 0 < done < 40
    job = day.start("bash build.sh", f"step {done + 2}\n")
    output = day.call("job_output", id=job).output
    assert output["status"] == "running" and "step 1\n" not in output["output"]
    more = day.call("job_output", id=job, cursor=output["next_cursor"], wait=30).output["output"]
    assert more.startswith("step ") and more not in output["output"]
    assert day.call("job_stop", id=job).output["status"] != "running"
    assert day.call("job_output").output[0]["status"] != "running"


def test_an_interactive_installer_is_answered(day, level):
    """Answer the questions of a program that reads from a terminal: text, a hidden password, and Ctrl-C."""
    installer = (
        "import getpass, sys, time\nname = input('Name? ')\npassword = getpass.getpass('Password? ')\n"
        "open('settings.ini', 'w').write(f'name={name}\\nlength={len(password)}\\n')\n"
        "try:\n    print('installing')\n    while sys.stdin.isatty():\n        time.sleep(0.1)\n"
        "except KeyboardInterrupt:\n    sys.exit('stopped by the user')\n"
    )
    day.write({"setup.py": installer})
    job = day.start("python3 setup.py", "Name? ", tty=True)
    day.call("job_input", id=job, text="Ada", keys=["enter"])
    day.call("job_output", id=job, wait_for="Password? ", wait=30)
    day.call("job_input", id=job, text="swordfish\n")
    assert "swordfish" not in day.call("job_output", id=job, wait_for="installing", wait=30).content
    day.call("job_input", id=job, keys=["ctrl-c"])
    end = day.call("job_output", id=job, until_end=True, wait=30)
    assert end.output["exit_code"] == 1 and "stopped by the user" in end.content
    assert day.read("settings.ini") == "name=Ada\nlength=9\n"


@pytest.mark.slow
def test_a_watcher_rebuilds_when_a_file_changes(day):
    """Run a watcher as a job, change a file with write_file, and read what it did."""
    watcher = (
        "import os, time\nlast = None\nwhile True:\n    stamp = os.stat('style.css').st_mtime_ns\n"
        "    if stamp != last:\n        print('built', open('style.css').read().strip(), flush=True)\n"
        "    last = stamp\n    time.sleep(0.05)\n"
    )
    day.write({"watch.py": watcher, "style.css": "a {}\n"})
    job = day.start("python3 watch.py", "built a {}")
    day.call("write_file", path="style.css", content="b {}\n", overwrite=True)
    assert day.call("job_output", id=job, wait_for="built b {}", wait=30).output["found"] is not None
    assert day.call("job_output").output[0]["id"] == job
    day.call("job_stop", id=job)


@pytest.mark.slow
def test_a_pipeline_without_a_terminal_reports_exit_codes(day):
    """Call `ask-tools` in a CI job without docker and terminal: no questions, exit codes, results as JSON."""
    day.repository({"Makefile": MAKEFILE, "data/1.txt": "b\nb\n", ".gitignore": "report.txt\n"})
    variables = {"PATH": os.environ["PATH"], "HOME": str(day.home), "CI": "true"}
    call = ("call", "bash", "--yes")
    assert "made report.txt" in day.ask_tools(*call, "command=make check", env=variables)
    assert "[exit 3 " in day.ask_tools(*call, "command=exit 3", env=variables)
    result = json.loads(day.ask_tools(*call, "--json", "command=exit 3", env=variables))
    assert result["output"]["exit_code"] == 3
    assert "--yes" in day.ask_tools("call", "bash", "command=make", env=variables, exit_code=1)
    day.ask_tools("call", "read_file", "path=Makefile", env=variables)
    day.ask_tools("check", "tools-shell:*", env=variables)
    day.bash("make clean")
