"""`Sessions`: the stored sessions, and the chats that run in this process."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tools_agent import (
    Agent,
    ProviderError,
    Session,
    SessionConflictError,
    StoreError,
    System,
    TextDelta,
    ToolProgress,
    get_provider,
    open_store,
)
from tools_runtime import Policy, PolicyError
from tools_workspace import Workspace, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_agent import SessionInfo
    from tools_core import Tool
    from tools_studio._events import Hub

DEMO = "scripted:demo"
ERRORS = (ProviderError, StoreError, SessionConflictError, PolicyError, WorkspaceError, OSError, KeyError, ValueError)


class Chat:
    """A run of an agent in this process: its agent, and the text of a reply that has not ended."""

    def __init__(self, agent: Agent, session: Session) -> None:
        self.agent = agent
        self.session = session
        self.text = ""


class Sessions:
    """The sessions of `ask-tools run` and `ask-tools chat`, and the chats of the studio."""

    def __init__(self, hub: Hub, workspace: Workspace) -> None:
        self._hub = hub
        self._workspace = workspace
        self.store = open_store()
        self.chats: dict[str, Chat] = {}  # the active ones
        self.errors: dict[str, str] = {}  # of the last runs
        self._new_copies: dict[str, str] = {}  # for sessions whose copy was applied or discarded
        self._lengths: dict[str, int] = {}
        self._waiting: dict[tuple[str, int], bool] = {}  # by id and length
        self._tasks: set[asyncio.Task[None]] = set()

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

    @property
    def models(self) -> list[str]:
        """Return the models to suggest: the user's default, the models of earlier sessions, and the demo."""
        earlier = [str(info.metadata["model"]) for info in self.all() if info.metadata.get("model")]
        default = os.environ.get("ASK_TOOLS_MODEL")
        return list(dict.fromkeys([*([default] if default else []), *earlier, DEMO]))

    def create(self, prompt: str, model: str, tools: Sequence[str], instructions: str, *, in_copy: bool) -> str:
        """Create a session for a chat, and return its id. Raises ProviderError for a model that cannot be used."""
        get_provider(model)
        id = uuid4().hex[:8]
        copy = self._workspace.copy() if in_copy else None
        metadata: dict[str, Any] = {
            "model": model,
            "title": " ".join(prompt.split())[:200],
            "workspace": (copy or self._workspace).path,
            "tools": list(tools),
        }
        messages = [System(content=instructions)] if instructions.strip() else []
        Session(messages, id=id, store=self.store, metadata=metadata)
        return id

    def start(self, id: str, prompt: str | None, tools: Mapping[str, Tool]) -> None:
        """Run the agent of a session in the background, or tell the running one something. Call in the event loop."""
        chat = self.chats.get(id)
        if chat is not None:
            if prompt:
                chat.agent.steer(prompt)
            return
        task = asyncio.get_running_loop().create_task(self._run(id, prompt, tools))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self, id: str) -> None:
        """Interrupt the run of a chat."""
        if (chat := self.chats.get(id)) is not None:
            chat.agent.interrupt("stopped by the user")

    def look(self) -> None:
        """Tell pages which sessions other processes have changed since the last look."""
        with suppress(StoreError):
            lengths = {info.id: info.length for info in self.all()}
            changed = [id for id, length in lengths.items() if length != self._lengths.get(id)]
            if changed or lengths.keys() != self._lengths.keys():
                self._hub.publish("sessions")
            for id in changed if self._lengths else ():
                if id not in self.chats:
                    self._hub.publish(f"session:{id}")
            self._lengths = lengths

    async def _run(self, id: str, prompt: str | None, tools: Mapping[str, Tool]) -> None:
        self.errors.pop(id, None)
        try:
            chat = await asyncio.to_thread(self._chat, id, tools)
            self.chats[id] = chat
            self._hub.publish(f"session:{id}")
            async with chat.agent:
                async for event in chat.agent.astream(prompt):
                    if isinstance(event, TextDelta):
                        chat.text += event.content
                        self._hub.publish(f"text:{id}", text=event.content)
                    elif not isinstance(event, ToolProgress):
                        chat.text = ""
                        self._hub.publish(f"session:{id}")
        except Exception as error:  # noqa: BLE001  (the page shows it: no caller would receive it)
            self.errors[id] = str(error) or type(error).__name__
        finally:
            self.chats.pop(id, None)
            self._hub.publish(f"session:{id}")
            self._hub.publish("sessions")

    def _chat(self, id: str, tools: Mapping[str, Tool]) -> Chat:
        info, session = self.info(id), self.open(id)
        metadata = info.metadata if info else {}
        workspace = self._folder(info) if info else self._workspace.path
        if not Path(workspace).is_dir():
            workspace = self._new_copies[id] = self._workspace.copy().path
        names = metadata.get("tools")
        chosen = {name: tool for name, tool in tools.items() if names is None or name in names}
        agent = Agent(
            session,
            model=metadata.get("model") or DEMO,
            tools=list(chosen.values()),
            policy=Policy(),
            workspace=workspace,
            max_steps=50,
            tool_timeout=120.0,
        )
        return Chat(agent, session)

    def _folder(self, info: SessionInfo) -> str:
        return str(self._new_copies.get(info.id) or info.metadata.get("workspace") or self._workspace.path)
