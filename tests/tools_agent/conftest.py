import asyncio
import os
import shutil
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import pytest


@pytest.fixture
def arun():
    """Run a coroutine to its end, with a limit."""

    def run(coroutine, limit=20):
        async def limited():
            return await asyncio.wait_for(coroutine, limit)

        return asyncio.run(limited())

    return run


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory):
    """A PostgreSQL server in a temporary folder."""
    matches = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = shutil.which("initdb") or (str(matches[-1]) if matches else None)
    if initdb is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg")
    pytest.importorskip("sqlalchemy")
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:  # a short path, for the socket
        server = Server(Path(initdb).resolve().parent, folder)
        server.start()
        yield server
        server.stop()


class Server:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.user = "nobody" if os.geteuid() == 0 else None  # the server refuses to run as root
        if self.user:
            shutil.chown(folder, self.user)
        self._run("initdb", "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
        self._numbers = count(1)

    def start(self):
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off -c shared_buffers=16MB"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-o", options, "-l", f"{self.folder}/log", "-w", "start")

    def stop(self):
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def new_database(self):
        """Return the URL of an empty schema, which takes less time to create than a database."""
        name = f"test{next(self._numbers)}"
        self._run("psql", "-h", self.folder, "-U", "tester", "-c", f"CREATE SCHEMA {name}", "postgres")
        return f"postgresql://tester@/postgres?host={self.folder}&options=-csearch_path%3D{name}"

    def _run(self, program, *arguments):
        command = [self.programs / program, *arguments]
        with open(f"{self.folder}/output", "w+") as output:  # not a pipe, which the server would keep open
            code = subprocess.call(command, user=self.user, cwd=self.folder, stdout=output, stderr=output)
            output.seek(0)
            assert code == 0, output.read()
