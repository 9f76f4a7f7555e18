"""One session: the process behind it, which is started when it is wanted, and again when it was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from tools_shell._facts import conclude, stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_core import Image, Result
    from tools_shell._process._run import Ended
    from tools_shell._sandbox._isolation import Isolation


class Interpreter(Protocol):
    """A process that keeps its state from one piece of code to the next."""

    lost: str | None  # why it and all its state are gone

    @property
    def isolation(self) -> Isolation: ...

    def is_alive(self) -> bool:
        """Whether it can be given code; asks the system, since anybody may have killed it meanwhile."""
        ...

    def close(self) -> None:
        """End it, with all that it started."""
        ...


InterpreterT = TypeVar("InterpreterT", bound=Interpreter)


class Session(Generic[InterpreterT]):
    """Starts its interpreter when that is wanted, and again when it was lost; nothing is ever run twice."""

    what: ClassVar[str]  # is run in it
    keeps: ClassVar[str]

    def __init__(self, name: str, why: str | None) -> None:
        """`why` says what became of an earlier session of that name."""
        self.name = name
        self.is_stopped = False
        self._why = why
        self._interpreter: InterpreterT | None = None

    def stop(self) -> None:
        """Have the call that uses it end soon; any thread may ask for it."""
        self.is_stopped = True

    def close(self) -> None:
        """End the interpreter; what is run next gets a new one."""
        if self._interpreter is not None:
            self._interpreter.close()
            self._interpreter = None

    def current(self) -> InterpreterT | None:
        """The interpreter with the state so far, if there is any."""
        if self._interpreter is not None and not self._interpreter.is_alive():
            self._forget(self._interpreter)
        return self._interpreter

    def ready(self, start: Callable[[], InterpreterT]) -> tuple[InterpreterT, list[str]]:
        """The interpreter, by `start` if need be, and what there is to say about a beginning."""
        interpreter = self.current()
        notes = [] if self._why is None else [f"this is a new session without the earlier state: {self._why}"]
        if interpreter is None:
            interpreter = self._interpreter = start()
        self._why = None
        return interpreter, notes

    def state(self, lost: str | None) -> str:
        """What has become of all that it keeps, in words."""
        if lost is None and not self.is_stopped:
            return f"its {self.keeps} are kept"
        lost = lost or "it was closed"
        ended = f"the session has ended ({lost})"
        return f"{ended}: its {self.keeps} are lost, nothing is run again, and the next call begins a new session"

    def result(
        self,
        facts: dict[str, Any],
        ended: Ended,
        interpreter: InterpreterT,
        *,
        is_complete: bool,
        images: Sequence[Image] = (),
    ) -> Result:
        """What there is to say of what was run; `is_complete` when it came to its end, if only by its own will."""
        problem = None
        if ended.reason is not None or not is_complete:
            state = self.state(interpreter.lost)
            unfinished = (f"the {self.what} did not come to its end; {state}", "execution_error")
            problem = stopped(ended, self.what, state) or unfinished
        if interpreter.lost is not None:
            self._forget(interpreter)
        return conclude(facts, interpreter.isolation, problem, images)

    def _forget(self, interpreter: InterpreterT) -> None:
        self._why = f"the earlier one was lost ({interpreter.lost})"
        self._interpreter = None
