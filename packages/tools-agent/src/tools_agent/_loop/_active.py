"""`ActiveRuns`: the active runs of an agent, and the messages that wait for them."""

from __future__ import annotations

from threading import RLock
from weakref import WeakKeyDictionary

from tools_agent._loop._run import Run
from tools_agent._messages import User
from tools_agent._session._session import Session
from tools_agent._stores._store import Store


class ActiveRuns:
    """The active runs of an agent by session, and the messages of `steer` that wait for them or for the next ones."""

    def __init__(self) -> None:
        self._runs: dict[Session, Run] = {}
        self._waiting: WeakKeyDictionary[Session, list[User]] = WeakKeyDictionary()
        self._waiting_by_id: dict[tuple[int, str], list[User]] = {}  # by store and id, for sessions that are not open
        self._lock = RLock()

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __contains__(self, session: object) -> bool:
        return session in self._runs

    def find(self, session: Session | str, store: Store | None) -> Run | None:
        """Return the active run of a session, or of the one with this id in a store."""
        if not isinstance(session, str):
            return self._runs.get(session)
        if store is None:
            raise TypeError(f"the session {session!r} is in a store: pass store= to the agent")
        with self._lock:
            return next((run for run in self._runs.values() if _is_of(run, session, store)), None)

    def steer(self, session: Session | str, store: Store | None, message: User) -> None:
        """Add a message for the active run of a session, or for the next one."""
        with self._lock:
            run = self.find(session, store)
            if run is not None:
                self.waiting(run.session).append(message)
            elif isinstance(session, str):
                self._waiting_by_id.setdefault((id(store), session), []).append(message)
            else:
                self.waiting(session).append(message)

    def waiting(self, session: Session) -> list[User]:
        """Return the messages that wait for a session."""
        with self._lock:
            return self._waiting.setdefault(session, [])

    def start(self, run: Run) -> list[User]:
        """Count a run among the active ones, and return the messages that wait for its session."""
        session = run.session
        with self._lock:
            self._runs[session] = run
            waiting = self._waiting.setdefault(session, [])
            waiting.extend(self._waiting_by_id.pop((id(session.store), session.id), ()))
            return waiting

    def end(self, run: Run) -> None:
        """Forget a run; messages that have not reached it wait for the next one."""
        session = run.session
        with self._lock:
            del self._runs[session]
            waiting = self._waiting.get(session)
            if waiting and run.is_by_id:
                self._waiting_by_id.setdefault((id(session.store), session.id), []).extend(waiting)
                waiting.clear()


def _is_of(run: Run, session: Session | str, store: Store | None) -> bool:
    """Return whether this is a run of a session, which may be named by its id in a store."""
    current = run.session
    return current is session or (current.id == session and current.store is not None and current.store is store)
