"""`Context`: data of a call that the model does not see; `Question`: what its tool asks the user."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tools_core._values._errors import ToolError

Progress: TypeAlias = Callable[[float, float | None, str], object]
Answer: TypeAlias = Callable[["Question"], str | None]
_MIN_LEFT = 0.1  # seconds that remain at least for a tool after an answer


class Context:
    """Data of a call that the model does not see, passed to an `execute` that has a parameter annotated `Context`.

    ```python
    tool.call({"city": "Oslo"}, Context(workspace="notes", timeout=30, state={"user": "ada"}))
    ```

    Args:
        workspace: The folder that file tools stay inside.
        state: The caller's own mapping or other object, passed unchanged; by default an empty dict.
        timeout: The seconds from now until calls must have ended.
        call_id: The provider's id of the call.
        run_id: The id of one conversation or batch, the key of whatever tools remember between calls; random if it is
            None. Calls without a context share one run per process.
        on_progress: Receives the tool's reports.
        on_ask: Answers the tool's questions: a function of a `Question` that returns the answer, or None if there is
            none yet. It runs in the thread of the tool, and may block.
        enforced: False if the caller watches the limit.
    """

    def __init__(
        self,
        *,
        workspace: str | os.PathLike[str] | None = None,
        state: Any = None,
        timeout: float | None = None,
        call_id: str | None = None,
        run_id: str | None = None,
        on_progress: Progress | None = None,
        on_ask: Answer | None = None,
        enforced: bool = True,
    ) -> None:
        self._workspace = workspace
        self.state: Any = {} if state is None else state
        self.timeout = timeout
        self.timeout_set_by = "the caller"
        self.deadline = None if timeout is None else _after(timeout)
        self.call_id = call_id
        self.run_id = os.urandom(8).hex() if run_id is None else run_id
        self.on_progress = on_progress
        self.on_ask = on_ask
        self.enforced = enforced
        self.caller: object = None  # what makes the call: an executor, or a run of an agent
        # Runs a function in the thread of the caller, if the caller wants tools to run there and waits in a coroutine.
        self.here: Callable[[Callable[[], Any]], Awaitable[Any]] | None = None
        self.approved = False  # whether the user has approved this call, or all calls
        self.tool = ""  # the name of the tool that is called
        self.max_characters: int | None = None  # of a result; the caller cuts a longer one
        self._questions = 0  # that the call has asked
        self._left_when_asking: float | None = None  # the time that remains, while the user is asked
        self._outer: Context | None = None
        self._cancelled = False
        self._callbacks: dict[object, tuple[Context, Callable[[], object]]] = {}  # of derived contexts, too
        self._receivers: list[Callable[[Any], object]] | None = None  # of the result of the call

    @property
    def workspace(self) -> Path | None:
        """The folder that file tools stay inside; None leaves it to the tool."""
        return None if self._workspace is None else Path(self._workspace)

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one. The time for answers of the user does not count."""
        if self._left_when_asking is not None:
            return self._left_when_asking
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def idempotency_key(self) -> str | None:
        """A key of this call for services that run equal requests once; None for a call without an id.

        It stays the same when the call is retried, or resumed in another process.
        """
        if self.call_id is None:
            return None
        import hashlib  # 3 ms

        return hashlib.sha256(f"{self.run_id}/{self.call_id}".encode()).hexdigest()[:32]

    @property
    def cancelled(self) -> bool:
        """True if the caller no longer waits: tools check this between steps, and return."""
        return self._cancelled or (self._outer is not None and self._outer.cancelled)

    def cancel(self) -> None:
        """Cancel this context and derived ones, and run their callbacks; from any thread."""
        self._cancelled = True
        for key, (context, _) in self._callbacks.copy().items():
            if context.cancelled:
                self._run(key)

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` once, in the thread that cancels; immediately if the context is already cancelled.

        Returns a function that unregisters it. An exception in a callback is logged and stops no other callback.
        """
        key = object()

        def unregister() -> None:
            self._callbacks.pop(key, None)

        self._callbacks[key] = self, callback
        if self.cancelled:  # perhaps by a thread that did not see the callback yet
            self._run(key)
        return unregister

    def on_result(self, callback: Callable[[Any], object]) -> bool:
        """Call `callback` with the Result of the call as the model receives it: cut, redacted or replaced by others.

        Returns False if nobody comes between: then the result is received as the tool returns it.
        """
        if self._receivers is None:
            return False
        self._receivers.append(callback)
        return True

    def deliver(self, result: Any) -> None:
        """Pass the final Result of a call to the callbacks of `on_result`; see `for_call`."""
        receivers, self._receivers = self._receivers or [], []
        for receive in receivers:
            try:
                receive(result)
            except Exception:
                import logging  # 6 ms

                logging.getLogger("tools_core").exception("A callback of Context.on_result raised an exception")

    def _run(self, key: object) -> None:
        if (registered := self._callbacks.pop(key, None)) is None:
            return  # another thread runs it, or it was unregistered
        try:
            registered[1]()
        except Exception:
            import logging  # 6 ms

            logging.getLogger("tools_core").exception("A callback of Context.on_cancel raised an exception")

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress, in any unit."""
        if self.on_progress is not None:
            self.on_progress(done, total, message)

    def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        """Ask the user, and return the answer: one of `choices`, if there are any. Coroutines use `aask`.

        If there is no answer yet, the call ends as `answer_required`. With the answer it runs again from its start, so
        ask before you change anything.
        """
        pending = Question(question, tuple(choices), self.tool, self, self._questions)
        self._questions += 1
        left = self.remaining
        self._left_when_asking = None if left is None else max(left, _MIN_LEFT)
        try:
            answer = None if self.on_ask is None else self.on_ask(pending)
        finally:
            if self._left_when_asking is not None:
                self.deadline = time.monotonic() + self._left_when_asking
                self._left_when_asking = None
        if answer is None:
            raise Unanswered(pending)
        if choices and answer not in choices:
            raise ToolError(f"the answer {answer!r} is not one of {', '.join(choices)}", "unavailable")
        return answer

    def confirm(self, question: str) -> None:
        """Ask the user whether the call may go on, unless it was approved; ToolError (`denied`) if not.

        For a call that needs permission because of its arguments; `requires_approval` is for all calls of a tool.
        """
        if not self.approved and self.ask(question, ("yes", "no")) != "yes":
            raise ToolError("the user did not allow it. Do not work around this; continue without it.", "denied")

    async def aask(self, question: str, choices: Sequence[str] = ()) -> str:
        """`ask` for coroutines."""
        import asyncio  # 29 ms

        from tools_core.threads import in_thread  # 10 ms

        return await asyncio.wrap_future(in_thread(lambda: self.ask(question, choices)))

    def for_call(
        self,
        timeout: float | None = None,
        call_id: str | None = None,
        *,
        set_by: str = "the tool",
        delivers: bool = False,
    ) -> Context:
        """Derive the context of one call: cancelled with this one, and with the nearer of the two deadlines.

        `timeout` and `timeout_set_by` of a context describe the limit that its deadline comes from, for messages. With
        `delivers` you pass the result to `deliver` when nothing changes it any more.
        """
        inner = object.__new__(Context)
        vars(inner).update(vars(self), _outer=self, _cancelled=False, _questions=0, call_id=call_id or self.call_id)
        if delivers:
            inner._receivers = []
        if timeout is not None:
            deadline = _after(timeout)
            if inner.deadline is None or deadline < inner.deadline:
                inner.deadline, inner.timeout, inner.timeout_set_by = deadline, timeout, set_by
        return inner

    def __repr__(self) -> str:
        return f"<Context run_id={self.run_id!r} call_id={self.call_id!r}{' cancelled' if self.cancelled else ''}>"


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question of a running tool to the user: passed to `on_ask`, and part of the result of a call that waits.

    `choices` are the possible answers; without choices any text is an answer. `tool` is the name of the tool, and
    `number` counts the earlier questions of the call.
    """

    text: str
    choices: Sequence[str]
    tool: str
    context: Context
    number: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON, to be answered later or by another process."""
        return {
            "run_id": self.context.run_id,
            "call_id": self.context.call_id,
            "tool": self.tool,
            "question": self.text,
            "choices": list(self.choices),
            "number": self.number,
        }


class Unanswered(BaseException):
    """Raised by `Context.ask` to end the call if there is no answer yet.

    It is not an `Exception`, so that a tool's own `except Exception` cannot swallow it.
    """

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


_PROCESS_RUN_ID = os.urandom(8).hex()


def process_context() -> Context:
    """Return a context for a call without one: all of them belong to one run, with a random id per process."""
    return Context(run_id=_PROCESS_RUN_ID)


def _after(timeout: float) -> float:
    if not 0 < timeout < 1e9:
        raise ValueError(f"timeout must be between 0 and 1e9 seconds, got {timeout:g}; omit it for no limit")
    return time.monotonic() + timeout
