"""What became of a task that gave no result, as the result of its call."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from tools_core import Result
from tools_runtime._ray._worker import OUTPUT
from tools_runtime._remote import _results

if TYPE_CHECKING:
    from tools_runtime._ray._watch import Flight

# Ray's exceptions by name: some versions lack some of them.
_LOST = {
    "WorkerCrashedError": "worker",
    "NodeDiedError": "node",
    "ObjectLostError": "node",
    "ObjectFetchTimedOutError": "node",
    "OwnerDiedError": "node",
    "LocalRayletDiedError": "node",
}


class Loss(NamedTuple):
    """The worker, or its machine, was lost; the call may be made again if that does no harm."""

    result: Result


def read(data: bytes) -> Result:
    """The result that a worker sent."""
    try:
        return _results.read(data.removeprefix(OUTPUT), is_plain=data.startswith(OUTPUT))
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        return Result.error("the worker answered with what is no result", type="unavailable", exception=error)


def head_lost(*, is_begun: bool) -> Result:
    """Nobody tells what became of the call, or where it could be made."""
    end = "may have had effects" if is_begun else "was not begun"
    text = f"the head of the cluster does not answer; the call {end}"
    return Result.error(text, type="unavailable", metadata={"crash": "head lost"})


def timed_out(limit: float) -> Result:
    """The limit passed, and the worker was ended."""
    return Result.error(
        f"did not end within its limit of {limit:.3g} s and was ended",
        type="timeout_error",
        metadata={"timeout": limit, "killed": True},
    )


def of_error(error: BaseException) -> Result | Loss:
    """The outcome of what Ray raised, or would raise."""
    cause = getattr(error, "as_instanceof_cause", None)  # what was raised in a worker, where no tool raises
    if cause is not None:
        error = cause()
    kinds = [kind.__name__ for kind in type(error).__mro__]
    where = next((_LOST[kind] for kind in kinds if kind in _LOST), None)
    if where is not None:
        what = "the worker process" if where == "worker" else "the node of the cluster"
        return Loss(
            Result.error(
                f"{what} was lost before it answered; the call may have had effects",
                metadata={"crash": f"{where} lost"},
                exception=error,
            )
        )
    if "OutOfMemoryError" in kinds:
        text = "the node had no memory left, and Ray ended the call, which may have had effects"
        return Result.error(text, type="limit_exceeded", metadata={"crash": "out of memory"}, exception=error)
    if "TaskCancelledError" in kinds:
        return Result.error("the call was cancelled", type="cancelled", exception=error)
    return Result.error(f"Ray could not make the call: {_first_line(error)}", type="unavailable", exception=error)


def of_stop(flight: Flight, wanted: dict[str, float], offered: bool) -> Result:
    """The outcome of a task that was stopped."""
    if flight.reason == "timeout" and flight.limit is not None:
        return timed_out(flight.context.as_set(flight.limit))
    if flight.reason == "cancelled":
        return Result.error("the caller gave up, and the call was ended", type="cancelled", metadata={"killed": True})
    waited = {"queue_timeout": flight.wait}
    if flight.begun is not None:
        text = "the call was given up for want of a place just as it began; it may have had effects"
        return Result.error(text, type="timeout_error", metadata={**waited, "killed": True})
    needs = ", ".join(f"{count:g} {name}" for name, count in wanted.items())
    why = f"every node that offers {needs} is taken" if offered else f"no node of the cluster offers {needs}"
    text = f"the call waited {monotonic() - flight.sent:.3g} s for a place on the cluster and was not begun: {why}"
    return Result.error(text, type="timeout_error" if offered else "unavailable", metadata=waited)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
