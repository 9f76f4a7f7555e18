"""The requested or the best available level, and its gaps, as reported by results and `ask-tools doctor`."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import site
import subprocess
import sys
import tempfile

import pytest

from tools_core import ToolError
from tools_shell import Bash, Sandbox

IS_LINUX = sys.platform == "linux"
linux = pytest.mark.skipif(not IS_LINUX, reason="sandboxes are for Linux")
PRIVILEGES = ("privileges",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
OUTSIDE = ("files", "protected files", "network", "signals", "processes", *PRIVILEGES)


@pytest.fixture
def root(tmp_path):
    """A workspace that no earlier test has probed."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def isolation_of(sandbox, root):
    """Return the isolation of commands, and its gaps."""
    facts = Bash(root, sandbox=sandbox).diagnose()
    return facts["isolation"], tuple(facts["not_isolated"])


def available_levels():
    """Yield the levels of this machine, each with its gaps."""
    words = ["bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "--proc", "/proc", "/bin/true"]
    if shutil.which("bwrap") and subprocess.run(words, capture_output=True, check=False).returncode == 0:
        yield "bubblewrap", ()
    abi = ctypes.CDLL(None).syscall(444, None, 0, 1) if IS_LINUX else -1  # landlock_create_ruleset
    if abi > 0:
        yield "landlock", ("protected files", "file metadata", *(("signals",) if abi < 6 else ()), "process list")
    yield "contained", OUTSIDE


@linux
def test_no_level_but_a_sandbox_promises_anything(root):
    assert isolation_of("none", root) == ("none", (*OUTSIDE, "detached processes", "limits"))
    assert isolation_of("contained", root) == ("contained", OUTSIDE)


@pytest.mark.parametrize("level", ["contained", "sandboxed"])
def test_on_other_systems_than_linux_isolation_is_unavailable(root, level, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert isolation_of(level, root) == ("none", (*OUTSIDE, "detached processes", "limits"))
    with pytest.raises(ToolError, match="sandboxes need Linux"):
        isolation_of("required", root)


@linux
@pytest.mark.parametrize("level", ["sandboxed", "required"])
def test_the_best_available_level_is_used_and_reports_its_gaps(root, level):
    best = next(available_levels())
    if best[0] == "contained":
        pytest.skip("this kernel has no sandbox")
    assert isolation_of(level, root) == best


@linux
def test_without_bubblewrap_the_next_rung_is_found(root, monkeypatch):
    monkeypatch.setenv("PATH", str(root))
    assert isolation_of(Sandbox(), root) == next(name for name in available_levels() if name[0] != "bubblewrap")


@linux
def test_a_bubblewrap_that_does_not_work_is_not_used(root, tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    for script in ("exit 1", 'test "$1" = --version && echo 0.8.0'):
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        assert isolation_of(Sandbox(readable=(root,)), root)[0] != "bubblewrap"


@linux
@pytest.mark.parametrize("path", ["{root}/bin", "{outside}/link", ".", "{outside}/bin"])
def test_a_bubblewrap_that_a_command_has_put_on_the_path_is_never_run(root, tmp_path, monkeypatch, path):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    best = next(available_levels())[0]
    (root / "bin").mkdir()
    (tmp_path / "link").symlink_to(root / "bin")
    fake = root / "bin" / "bwrap"
    fake.write_text(f"#!/bin/sh\necho outside > {tmp_path}/escaped\n")
    fake.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bwrap").symlink_to(fake)
    monkeypatch.setenv("PATH", f"{path.format(root=root, outside=tmp_path)}:/usr/bin:/bin")
    monkeypatch.chdir(root / "bin")
    assert isolation_of(Sandbox(), root)[0] == best
    assert not (tmp_path / "escaped").exists()


@linux
def test_a_linked_program_folder_in_the_workspace_does_not_reveal_its_target(root, tmp_path, monkeypatch):
    (tmp_path / "secrets").mkdir()
    (root / "bin").symlink_to(tmp_path / "secrets")
    monkeypatch.setenv("PATH", f"{root}/bin:/usr/bin:/bin")
    for name in [name for name, _ in available_levels() if name != "contained"]:
        assert Bash(root, sandbox=name).call(command=f"ls {tmp_path}/secrets").output["exit_code"] != 0


@linux
def test_a_sandbox_shows_the_programs_behind_the_shims_of_a_version_manager(root, tmp_path, monkeypatch, level):
    for folder, script in (("shims", f"exec {tmp_path}/libexec/run"), ("libexec", "echo ran")):
        (tmp_path / folder).mkdir()
        for name in ("tool", "run"):
            (tmp_path / folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / folder / name).chmod(0o755)
    (tmp_path / "credentials.toml").write_text("secret")
    monkeypatch.setenv("PATH", f"{tmp_path}/shims:/usr/bin:/bin")
    bash = Bash(str(root), sandbox=level)
    assert bash.call(command="tool").output["output"] == "ran\n"
    if level in {"landlock", "bubblewrap"}:
        assert bash.call(command=f"cat {tmp_path}/credentials.toml").output["exit_code"] == 1


@linux
@pytest.mark.parametrize("name", ["readable", "writable"])
def test_a_missing_readable_or_writable_path_is_reported(root, name):
    with pytest.raises(ToolError, match=r"/nothing.*does not exist") as raised:
        isolation_of(Sandbox(**{name: ("/nothing",)}), root)
    assert raised.value.type == "not_found"


@linux
@pytest.mark.parametrize("name", ["readable", "writable"])
@pytest.mark.parametrize("way", ["cache/shown", "way/shown"])
def test_commands_cannot_redirect_a_readable_or_writable_path_with_a_symlink(root, tmp_path, name, way):
    for folder in ("cache/shown", "secrets"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "way").symlink_to(tmp_path / "cache")
    paths = {"writable": [tmp_path / "cache"], "readable": []}
    paths[name] = [*paths[name], tmp_path / way]
    (tmp_path / "secrets/secret").write_text("secret")
    (tmp_path / "cache/shown").rmdir()
    (tmp_path / "cache/shown").symlink_to(tmp_path / "secrets")
    for chosen in [name for name, _ in available_levels() if name != "contained"]:
        bash = Bash(root, sandbox=Sandbox(level=chosen, **paths))
        assert bash.call(command=f"touch {tmp_path}/cache/{chosen}").output["exit_code"] == 0
        assert bash.call(command=f"cat {tmp_path}/secrets/secret").output["exit_code"] != 0


@linux
def test_commands_cannot_redirect_the_workspace_with_a_symlink(root, tmp_path):
    for folder in (root / "in/it", tmp_path / "secrets"):
        folder.mkdir(parents=True)
    for name in [name for name, _ in available_levels() if name != "contained"]:
        tool = Bash(root / "in/it", sandbox=Sandbox(level=name, writable=(root,), protected=frozenset()))
        assert tool.call(command="mv ../it ../moved && ln -s moved ../it").ok
        inside = tool.call(command="rm ../it && ln -s ../../secrets ../it; pwd")
        assert inside.output["output"] == f"{root}/in/moved\n"
        refused = tool.call(command="touch found")
        assert refused.error_type == "denied" and "through a symlink" in refused.error
        (root / "in/it").unlink()
        (root / "in/moved").rename(root / "in/it")


@linux
def test_a_workspace_at_the_file_system_root_leaves_files_unprotected(root):
    assert all(isolation_of(name, "/")[1][0] == "files" for name, _ in available_levels())


# A kernel without Landlock, as far as this process can tell: the three calls are answered with "not implemented".
BARE = """
import ctypes, json, os, struct, sys
from tools_core import ToolError
from tools_shell import Bash
steps = [(0x20, 0, 0, 0), *((0x15, 0, 1, number) if step == 0 else (0x06, 0, 0, 0x50000 | 38)
         for number in (444, 445, 446) for step in (0, 1)), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
filter = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
if ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) or ctypes.CDLL(None).prctl(22, 2, filter, 0, 0):
    sys.exit("no filter")
os.environ["PATH"] = "/nothing"
facts = Bash(sys.argv[1]).diagnose()
said = [facts["isolation"], facts["not_isolated"]]
for level in ("required", "landlock", "bubblewrap"):
    try:
        Bash(sys.argv[1], sandbox=level).diagnose()
    except ToolError as error:
        said += [error.type, str(error)]
print(json.dumps(said))
"""


@linux
def test_without_a_sandbox_the_gaps_are_reported_and_required_levels_are_refused(root):
    ran = subprocess.run(
        [sys.executable, "-c", BARE, str(root)], capture_output=True, text=True, check=False, timeout=60
    )
    name, missing, *refused = json.loads(ran.stdout or f'"{ran.stderr}"')
    assert (name, tuple(missing), refused[::2]) == ("contained", OUTSIDE, ["unavailable"] * 3)
    either, landlock, bubblewrap = refused[1::2]
    assert "bubblewrap: it is not installed" in either and "Linux 5.13" in either
    assert "bubblewrap" not in landlock and "Linux 5.13" in landlock
    assert "bubblewrap: it is not installed" in bubblewrap and "landlock" not in bubblewrap


@linux
def test_without_a_temporary_folder_a_command_is_refused_instead_of_run_unsandboxed(root, tmp_path, monkeypatch):
    setting = Sandbox(readable=(tmp_path,))  # which no call has tried yet
    with monkeypatch.context() as full:
        full.setattr(tempfile, "tempdir", str(root / "missing"))
        with pytest.raises(ToolError, match="set TMPDIR to a folder that can be written"):
            isolation_of(setting, root)
    assert isolation_of(setting, root)[0] == next(available_levels())[0]


@linux
@pytest.mark.skipif(not PRIVILEGES, reason="only root can give a workspace away")
def test_a_sandbox_is_refused_if_the_workspace_belongs_to_another_user(root):
    os.chown(root, 65534, 65534)
    root.chmod(0o700)
    with pytest.raises(ToolError, match="belong to another user"):
        isolation_of("required", root)


@linux
def test_a_command_that_closes_the_workspace_does_not_open_the_sandbox(root):
    best = next(available_levels())[0]
    root.chmod(0o555)
    assert isolation_of(Sandbox(), root)[0] == best
    root.chmod(0)
    with pytest.raises(ToolError, match="closed to its own user") as raised:
        isolation_of(Sandbox(network=True), root)
    assert raised.value.type == "denied"
    root.chmod(0o755)


@linux
@pytest.mark.parametrize(
    ("name", "place"), [("prefix", ".venv"), ("prefix", "deep/er/.venv"), ("base_prefix", ".pyenv/versions/3")]
)
def test_commands_cannot_change_the_python_environment_of_the_host_in_the_workspace(root, monkeypatch, name, place):
    environment = root / place
    environment.mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("as it was")
    monkeypatch.setattr(sys, name, str(environment))
    top = place.split("/")[0]
    for chosen in [name for name, _ in available_levels() if name != "contained"]:
        result = Bash(root, sandbox=chosen).call(
            command=f"cat {place}/pyvenv.cfg; touch beside {top}/../beside; mv {top} moved; echo x > {place}/pyvenv.cfg"
        )
        if chosen == "bubblewrap":
            assert result.output["output"].startswith("as it was")
            assert (environment / "pyvenv.cfg").read_text() == "as it was"
        assert (root / "beside").exists()
        assert ("own environment" in result.metadata["not_isolated"]) == (chosen != "bubblewrap")
        (root / top).exists() or (root / "moved").rename(root / top)
    opened = Bash(root, sandbox=Sandbox(writable=(environment,))).call(command=f"echo x > {place}/pyvenv.cfg")
    assert opened.ok and (environment / "pyvenv.cfg").read_text() == "x\n"


@linux
def test_an_environment_behind_a_link_in_the_workspace_is_reported_as_open(root, tmp_path, monkeypatch):
    (tmp_path / "outside").mkdir()
    (root / ".venv").symlink_to(tmp_path / "outside")
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    for name in [name for name, _ in available_levels() if name != "contained"]:
        assert "own environment" in isolation_of(name, root)[1]


@linux
def test_a_folder_of_packages_that_a_command_could_create_is_reported(root, monkeypatch):
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(root / ".local/lib/python3/site-packages"))
    for name in [name for name, _ in available_levels() if name != "contained"]:
        assert "own environment" in isolation_of(name, root)[1]


SHORTAGE = """
import os, resource, sys
from tools_shell import Bash
workspace, case = sys.argv[1:]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if case == "few":
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
else:
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for _ in range(int(case)):
            os.close(held.pop())
    first = Bash(workspace).call(command="true")
    assert not first.ok or first.metadata["isolation"] == os.environ["EXPECTED"], first
    for descriptor in held:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(Bash(workspace).call(command="true").metadata["isolation"])
"""


@pytest.mark.parametrize("case", ["few", "2", "4", "6", "9", "12", "20"])
def test_a_lack_of_descriptors_does_not_lower_the_level(root, case):
    expected = Bash(root).call(command="true").metadata["isolation"]
    done = subprocess.run(
        [sys.executable, "-c", SHORTAGE, root, case],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "EXPECTED": expected},
    )
    assert done.stdout.strip() == expected, done.stderr


@pytest.mark.parametrize("level", ["bubblewrap"], indirect=True)
def test_commands_cannot_reach_the_settings_and_sessions_of_a_home_workspace(root, level, monkeypatch):
    monkeypatch.setenv("HOME", str(root))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    bash = Bash(root, sandbox=level)
    for folder in (".config", ".local/share", ".local/state"):
        own = root / folder / "ask-tools"
        result = bash.call(command=f"mkdir -p {own}; echo allow > {own}/created; echo ok")
        assert "ok" in result.output["output"]
        assert not (own / "created").exists()
        (own / "secret").write_text("secret")
        assert "secret" not in bash.call(command=f"cat {own}/*").output["output"]


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"], indirect=True)
def test_settings_that_the_host_creates_later_in_a_readable_home_are_hidden_or_reported(
    root, level, tmp_path, monkeypatch
):
    home = tmp_path / "home"
    home.mkdir()
    (home / "notes").write_text("notes")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    bash = Bash(root, sandbox=Sandbox(level=level, readable=(home,)))
    assert "notes" in bash.call(command=f"cat {home}/notes").output["output"]
    own = home / ".local/share/ask-tools"
    own.mkdir(parents=True)
    (own / "secret").write_text("secret")
    result = bash.call(command=f"cat {own}/*")
    assert ("secret" in result.output["output"]) == ("own settings" in result.metadata["not_isolated"])
