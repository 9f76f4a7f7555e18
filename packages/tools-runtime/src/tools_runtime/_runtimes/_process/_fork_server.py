"""The fork server of the standard library, as workers need it."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from contextlib import contextmanager, suppress
from multiprocessing import Pipe, forkserver, spawn
from typing import TYPE_CHECKING, Any

from tools_runtime._runtimes._process._worker import Settings, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Generator
    from multiprocessing.connection import Connection


_starting = threading.Lock()  # starting a worker changes the environment for a moment
os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_starting.release)


def find_program() -> dict[str, str]:
    """Return where the program is, for `multiprocessing.spawn.prepare`; nothing for one that is not a file."""
    data = spawn.get_preparation_data("")
    main = {name: value for name, value in data.items() if name.startswith("init_main")}
    return main if os.path.exists(main.get("init_main_from_path", "/")) else {}


class ForkServer(forkserver.ForkServer):
    """A fork server for one pool, so that it has the environment and the modules of that pool."""

    _forkserver_pid: int | None
    _forkserver_alive_fd: int | None

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self.set_forkserver_preload([WorkerProcess.__module__, *settings.preload])

    def start_worker(self) -> tuple[Connection, Connection]:
        """Start a worker with its supervisor; returns the connections to the one and the other."""
        requests, worker_end = Pipe()
        control, supervisor_end = Pipe()
        try:
            with worker_end, supervisor_end, _starting, _safe_path():
                status, data = self.connect_to_new_process([worker_end.fileno(), supervisor_end.fileno()])
                os.close(status)
                with open(data, "wb") as file:
                    pickle.dump(_preparation(), file)
                    pickle.dump(WorkerProcess(self._settings), file)
        except BaseException:
            requests.close()
            control.close()
            raise
        return requests, control  # pyright: ignore[reportReturnType]  (Windows has another class)

    def stop(self) -> None:
        """End the fork server, which serves no other pool."""
        if self._forkserver_pid is not None:
            with suppress(OSError):  # it has ended
                os.kill(self._forkserver_pid, signal.SIGKILL)
                self._stop()  # type: ignore[attr-defined]

    def abandon(self) -> None:
        """Close what a fork of the host has inherited, and would keep alive."""
        if self._forkserver_alive_fd is not None:
            os.close(self._forkserver_alive_fd)


def _preparation() -> dict[str, Any]:
    data = spawn.get_preparation_data("tools-runtime worker")
    return {name: data[name] for name in ("name", "sys_path", "sys_argv", "orig_dir", "dir", "start_method")}


@contextmanager
def _safe_path() -> Generator[None]:
    """Keep a new fork server, which starts as `python -c`, from importing modules of the current folder."""
    if "PYTHONSAFEPATH" in os.environ:
        yield
        return
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONSAFEPATH"]
