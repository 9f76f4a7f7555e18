"""`Sessions`: the stored sessions, and their runs that this process continues."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tools_agent import (
    Agent,
    ProviderError,
    Session,
    SessionConflictError,
    StoreError,
    TextDelta,
    ToolProgress,
    open_store,
)
from tools_runtime import Policy, PolicyError
from tools_workspace import Workspace, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_agent import SessionInfo
    from tools_core import Tool
    from tools_studio._events import Hub

DEMO = "scripted:demo"
ERRORS = (ProviderError, StoreError, SessionConflictError, PolicyError, WorkspaceError, OSError, KeyError, ValueError)


class Sessions:
    """The sessions of `ask-tools run` and `ask-tools chat`; one whose calls the user has answered goes on here."""

    def __init__(self, hub: Hub, workspace: Workspace) -> None:
        self._hub = hub
        self._workspace = workspace
        self.store = open_store()
        self.runs: dict[str, Agent] = {}  # the active ones
        self.errors: dict[str, str] = {}  # of the last runs
        self._new_copies: dict[str, str] = {}  # for sessions whose copy was applied or discarded
        self._lengths: dict[str, int] = {}
        self._waiting: dict[tuple[str, int], bool] = {}  # by id and length
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.lock = asyncio.Lock()  # held while a request changes a session

    def all(self) -> list[SessionInfo]:
        """Return the sessions, the latest first."""
        return self.store.sessions()

    def info(self, id: str) -> SessionInfo | None:
        """Return the entry of a session, or None."""
        return next((info for info in self.all() if info.id == id), None)

    def open(self, id: str) -> Session:
        """Open a session. Raises KeyError for an unknown one."""
        return Session.open(self.store, id)

    def is_waiting(self, info: SessionInfo) -> bool:
        """Return whether a call of a session waits for the user; each length of a session is read once."""
        key = info.id, info.length
        if key not in self._waiting:
            self._waiting[key] = False
            with suppress(*ERRORS):
                session = self.open(info.id)
                self._waiting[key] = bool(session.pending_approvals or session.pending_questions)
        return self._waiting[key]

    @property
    def titles(self) -> dict[str, str]:
        """Return the titles of the sessions by the folders in which they work."""
        return {self._folder(info): str(info.metadata.get("title") or info.id) for info in self.all()}

    def resume(self, id: str, tools: Mapping[str, Tool]) -> None:
        """Continue the last run of a session in the background. Call in the event loop."""
        if id not in self._tasks:
            task = self._tasks[id] = asyncio.get_running_loop().create_task(self._run(id, tools))
            task.add_done_callback(lambda _: self._tasks.pop(id))

    def stop(self, id: str) -> None:
        """Interrupt a run."""
        if (agent := self.runs.get(id)) is not None:
            agent.interrupt("stopped by the user")

    def look(self) -> None:
        """Tell pages which sessions other processes have changed since the last look."""
        with suppress(StoreError):
            lengths = {info.id: info.length for info in self.all()}
            changed = [id for id, length in lengths.items() if length != self._lengths.get(id)]
            if changed or lengths.keys() != self._lengths.keys():
                self._hub.publish("sessions")
            for id in changed if self._lengths else ():
                if id not in self.runs:
                    self._hub.publish(f"session:{id}")
            self._lengths = lengths

    async def _run(self, id: str, tools: Mapping[str, Tool]) -> None:
        self.errors.pop(id, None)
        try:
            agent = self.runs[id] = await asyncio.to_thread(self._agent, id, tools)
            self._hub.publish(f"session:{id}")
            async with agent:
                async for event in agent.astream(None):
                    if not isinstance(event, TextDelta | ToolProgress):
                        self._hub.publish(f"session:{id}")
        except Exception as error:  # noqa: BLE001  (the page shows it: no caller would receive it)
            self.errors[id] = str(error) or type(error).__name__
        finally:
            self.runs.pop(id, None)
            self._hub.publish(f"session:{id}")
            self._hub.publish("sessions")

    def _agent(self, id: str, tools: Mapping[str, Tool]) -> Agent:
        info, session = self.info(id), self.open(id)
        metadata = info.metadata if info else {}
        workspace = self._folder(info) if info else self._workspace.path
        if not Path(workspace).is_dir():
            workspace = self._new_copies[id] = self._workspace.copy().path
        names = metadata.get("tools")
        chosen = {name: tool for name, tool in tools.items() if names is None or name in names}
        return Agent(
            session,
            model=metadata.get("model") or DEMO,
            tools=list(chosen.values()),
            policy=Policy(),
            workspace=workspace,
            max_steps=50,
            tool_timeout=120.0,
        )

    def _folder(self, info: SessionInfo) -> str:
        return str(self._new_copies.get(info.id) or info.metadata.get("workspace") or self._workspace.path)
