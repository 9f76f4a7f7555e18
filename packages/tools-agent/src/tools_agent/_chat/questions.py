"""Questions to the user: for approval, from tools and from commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from threading import Lock
from typing import Any

from tools_agent._chat.conversation import Conversation
from tools_agent._session._session import Session
from tools_agent.approval import Line, ask_person
from tools_core import Approval, ApprovalRequest, Denial, Question
from tools_core.text import visible

_EMPTY = Line("text", "")  # the conversation has its own empty lines


class Questions:
    """Asks one question at a time, in the input of the screen."""

    def __init__(self, show: Conversation) -> None:
        self._show = show
        self._lock = asyncio.Lock()
        self._asking: asyncio.Future[str | None] | None = None
        self._approving = Lock()  # calls of one reply may need approval at the same time

    @property
    def is_open(self) -> bool:
        """True while the user is asked."""
        return self._asking is not None

    def cancel(self) -> None:
        """Withdraw the question; its answer is None."""
        if self._asking is not None:
            self._asking.cancel()

    async def ask(self, question: str, answers: Sequence[str] = (), default: str = "") -> str | None:
        """Return the line that the user enters; None after Ctrl-C, or if no user can answer.

        `answers` complete the line, which begins with `default`.
        """
        async with self._lock:
            self._asking = asyncio.ensure_future(self._show.screen.ask(question, answers, default))
            try:
                return await self._asking
            except asyncio.CancelledError:
                if not self._asking.cancelled():
                    raise
                return None
            finally:
                self._asking = None

    async def answer(self, question: Question) -> str | None:
        """Ask a question of a tool; a choice can be typed as its number."""
        choices = list(question.choices)
        lines = [Line.of("title", f"{question.tool} asks: {visible(question.text)}")]
        lines += [Line.of("text", f"{number}  {choice}", "  ") for number, choice in enumerate(choices, 1)]
        self._show.lines(lines)
        while (answer := await self.ask("answer:", choices)) is not None:
            if answer.isdecimal() and 0 < int(answer) <= len(choices):
                return choices[int(answer) - 1]
            if answer in choices or (answer and not choices):
                return answer
        return None

    def approve(
        self, request: ApprovalRequest, policy: Any, session: Session | None, loop: asyncio.AbstractEventLoop
    ) -> Approval | Denial | None:
        """Ask for approval; called in a thread, while the event loop shows the conversation."""
        with self._approving:
            if request.context.cancelled:
                return None
            return ask_person(request, _Dialog(self, self._show, loop), policy=policy, session=session)


class _Dialog:
    """The front end of `ask_person`, for a thread."""

    def __init__(self, questions: Questions, show: Conversation, loop: asyncio.AbstractEventLoop) -> None:
        self._questions, self._show, self._loop = questions, show, loop

    def show(self, lines: Sequence[Line]) -> None:
        """Append lines to the conversation."""
        self._loop.call_soon_threadsafe(self._show.lines, [line for line in lines if line != _EMPTY])

    def ask(self, prompt: str) -> str | None:
        """Return the line that the user enters."""
        return self._wait_for(lambda: self._questions.ask(prompt.strip()))

    def edit(self, name: str, text: str) -> str | None:
        """Let the user change a text in the input."""
        return self._wait_for(lambda: self._questions.ask(f"{name}:", default=text))

    def _wait_for(self, ask: Callable[[], Coroutine[Any, Any, str | None]]) -> str | None:
        return asyncio.run_coroutine_threadsafe(ask(), self._loop).result()
