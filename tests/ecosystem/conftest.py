"""Build all packages once, install them with pip into empty environments, and run them as users do."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import threading
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
TIMEOUT = 300  # seconds; a command that takes longer hangs


def clean_environ(**more):
    """Return environment variables without paths to this checkout, and without settings of pip, uv or ask-tools."""
    foreign = (
        "PIP_",
        "UV_",
        "PYTHON",
        "PYTEST_",
        "ASK_TOOLS_",
        "COVERAGE_",
        "VIRTUAL_ENV",
        "COLUMNS",
        "FORCE_COLOR",
    )
    variables = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return variables | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUTF8": "1"} | more


def run(command, *, cwd, check=True, **more):
    """Run a command and return the finished process, with its output as text."""
    process = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=clean_environ(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    if check:
        assert process.returncode == 0, (
            f"{command} exited with {process.returncode}\n{process.stdout}\n{process.stderr}"
        )
    return process


class Environment:
    """An empty virtual environment, with methods that run its programs."""

    def __init__(self, folder):
        self.folder = folder
        run([sys.executable, "-m", "venv", "--without-pip", folder], cwd=folder.parent)
        self.scripts = folder / SCRIPTS
        self.interpreter = self.scripts / Path(sys.executable).name

    def pip(self, *words):
        pip = [sys.executable, "-m", "pip", "--python", self.interpreter]
        return run([*pip, *words], cwd=self.folder)

    def python(self, *words, **options):
        return run([self.interpreter, *words], **{"cwd": self.folder} | options)

    def ask_tools(self, *words, **options):
        return run([self.scripts / "ask-tools", *words], **{"cwd": self.folder} | options)

    def site_packages(self):
        return Path(self.python("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())

    def copy_distribution(self, name, parents=frozenset()):
        """Copy `name` and its dependencies from the environment of the tests, without a network."""
        if name in parents:
            return
        source = distribution(name)
        target = self.site_packages()
        for file in source.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source.locate_file(file), target / file)
        for text in source.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                self.copy_distribution(requirement.name, {*parents, name})


def build(project, folder, *targets):
    """Build `project` with the installed build backend, without a network."""
    words = [word for target in targets for word in ("-t", target)]
    run([sys.executable, "-m", "hatchling", "build", "-d", folder, *words], cwd=project)


def projects():
    """Return the folder of every published distribution."""
    packages = sorted(path.parent for path in (ROOT / "packages").glob("*/pyproject.toml"))
    return [ROOT, ROOT / "tools-core", ROOT / "tools-filesystem", ROOT / "tools-shell", *packages]


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory):
    """A folder with the wheel and the source distribution of every published distribution."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    for project in projects():
        build(project, folder, "sdist", "wheel")
    return folder


@pytest.fixture
def environment(tmp_path):
    """An empty environment."""
    return Environment(tmp_path / "environment")


@pytest.fixture
def install(environment, wheelhouse):
    """Install distributions from the wheelhouse by name, or wheels by path; no others."""

    def install(*distributions):
        environment.pip("install", "--no-index", "--find-links", wheelhouse, *distributions)
        return environment

    return install


@pytest.fixture
def package(tmp_path):
    """Build the wheel of a small package from its name, the source of its module and its entry points."""

    def package(name, source, tools):
        project = tmp_path / "projects" / name
        module = name.replace("-", "_")
        (project / module).mkdir(parents=True)
        (project / module / "__init__.py").write_text(source, encoding="utf-8")
        lines = "\n".join(f'{tool} = "{module}:{attribute}"' for tool, attribute in tools.items())
        (project / "pyproject.toml").write_text(
            '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
            f'[project]\nname = "{name}"\nversion = "1.0"\ndependencies = ["tools-core"]\n'
            f'[project.entry-points."ask_tools.tools"]\n{lines}\n',
            encoding="utf-8",
        )
        folder = tmp_path / "wheels" / name
        build(project, folder, "wheel")
        return next(folder.glob("*.whl"))

    return package


class Shell:
    """One bash that runs a page's commands, each after the other, as a person types them."""

    MARK = "the-command-has-ended"

    def __init__(self, folder, variables):
        self._process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self.folder = Path(folder)

    def run(self, command):
        """Run a command, and return its output and exit code; `folder` is where the shell is then."""
        return self._type(f"eval {shlex.quote(command)} </dev/null\n")

    def paste(self, lines):
        """Run lines as they are, so that a command may read the following lines; return output and failed commands."""
        output, _ = self._type(f"trap 'echo {self.MARK}: $BASH_COMMAND' ERR\n{lines}\ntrap - ERR\n")
        failed = [line for line in output.splitlines() if line.startswith(f"{self.MARK}: ")]
        return output, failed

    def _type(self, text):
        limit = threading.Timer(TIMEOUT, self._process.kill)
        limit.start()
        self._process.stdin.write(f"{text}printf '\\n%s %s %s\\n' {self.MARK} $? \"$PWD\"\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.startswith(f"{self.MARK} "):
                _, code, folder = line.rstrip("\n").split(" ", 2)
                self.folder = Path(folder)
                limit.cancel()
                return "".join(lines).removesuffix("\n"), int(code)
            lines.append(line)
        raise AssertionError(f"the shell ended at: {text}\n{''.join(lines)}")

    def close(self):
        self._process.communicate()


@pytest.fixture
def shell(tmp_path_factory):
    """`shell(folder, **variables)`: a shell in an environment that has the test's packages, and may be installed in."""
    shells = []

    def start(folder, **variables):
        environment = tmp_path_factory.mktemp("environment") / "venv"
        run([sys.executable, "-m", "venv", "--without-pip", environment], cwd=environment.parent)
        python = environment / "bin/python"
        (site_packages,) = environment.glob("lib/python*/site-packages")
        theirs = sysconfig.get_path("purelib")
        (site_packages / "theirs.pth").write_text(f"import site; site.addsitedir({theirs!r})\n")
        command = environment / "bin/ask-tools"
        command.write_text(f"#!{python}\nimport sys\nfrom tools_core.command import main\nsys.exit(main())\n")
        command.chmod(0o755)
        path = os.pathsep.join([str(environment / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_ROOT_USER_ACTION": "ignore"}
        home = {"PATH": path, "HOME": str(folder), "PYTHONWARNINGS": "error"}
        shells.append(Shell(folder, clean_environ(**offline, **home, **variables)))
        return shells[-1]

    yield start
    for each in shells:
        each.close()
