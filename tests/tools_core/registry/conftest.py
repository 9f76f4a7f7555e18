from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tools_core
from tools_core import Registry

GET = """
    from tools_core import Tool


    class Get(Tool):
        \"\"\"Say where it comes from.\"\"\"

        name = "get"

        def execute(self) -> str:
            return __name__
"""


class Site:
    """A folder with installed distributions in it, as site-packages is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []
        self.path = os.pathsep.join([str(folder), str(Path(tools_core.__file__).parents[1])])

    def install(self, distribution, entries, source=GET, *, version="1.0", group="ask_tools.tools", module=None):
        """Add a distribution with one module; `entries` are lines of its group, `{}` being the module."""
        module = module or distribution.replace("-", "_").lower()
        if source is not None:
            imported = self.folder / f"{module}.imported"
            mark = f"with open({str(imported)!r}, 'a') as mark:\n    mark.write('x')\n"
            (self.folder / f"{module}.py").write_text(mark + textwrap.dedent(source))
            self.modules.append(module)
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        lines = entries if isinstance(entries, str) else "\n".join(entries)
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines.replace('{}', module)}\n")
        return info

    def times_imported(self, module):
        mark = self.folder / f"{module}.imported"
        return len(mark.read_text()) if mark.exists() else 0


@pytest.fixture
def site(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    # Bytecode stays valid for a source of the same size and the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    site = Site(folder)
    yield site
    for module in site.modules:
        sys.modules.pop(module, None)


@pytest.fixture
def discovered(site):
    """Return a function that makes a registry of the packages in the site."""

    def discover(**options):
        registry = Registry()
        registry.discover(paths=[site.folder], **options)
        return registry

    return discover


@pytest.fixture
def run_python(site):
    """Run code in a fresh interpreter that sees the site and no other packages, and return what it printed."""

    def run(code, *, options=("-c",), cwd=None, **environment):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ASK_TOOLS")}
        done = subprocess.run(
            [sys.executable, "-S", *options, textwrap.dedent(code)],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**inherited, "PYTHONPATH": site.path, **environment},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def locked(tmp_path, run_python):
    """Return a function that locks the packages in the site and returns the path of the lock."""

    def lock():
        path = tmp_path / "ask-tools.lock"
        run_python(str(path), options=["-m", "tools_core", "lock", "--file"])
        return path

    return lock
