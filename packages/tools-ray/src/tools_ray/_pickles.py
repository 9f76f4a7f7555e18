"""Values as they go to the cluster and back."""

from __future__ import annotations

import copyreg
import io
import pickle
from importlib import import_module
from typing import Any

from tools_core import Result, Tool


def dump(value: Any) -> bytes:
    """Pickle a value, and by value what is defined in the program itself, which workers cannot import."""
    cloudpickle: Any = import_module("ray.cloudpickle")  # takes 0.5 s, and is needed for calls alone

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def reducer_override(self, made: Any) -> Any:
            if isinstance(made, Tool) and hasattr(made, "__wrapped__") and _is_local(made):
                return copyreg.__newobj__, (type(made),), dict(vars(made))  # type: ignore[attr-defined]
            return super().reducer_override(made)

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def _is_local(tool: Tool) -> bool:
    """Whether the function of a tool cannot be imported by its name."""
    return tool.__module__ == "__main__" or "<locals>" in getattr(tool, "__qualname__", "")


def dump_result(result: Result) -> bytes:
    """Pickle a result with its exception, which has the traceback as a note; without, where that is not possible."""
    error = result.exception
    if error is not None:
        from traceback import format_exception  # 3 ms, only for errors

        try:
            error.add_note(f"On the worker:\n{''.join(format_exception(error))}")
            return dump((result, dump(error)))
        except Exception:  # noqa: BLE001, S110  (a user's class may fail in any way; its text is in the result)
            pass
    try:
        return dump((result, None))
    except Exception as problem:  # noqa: BLE001  (as above)
        return dump_result(
            Result.error(
                f"The tool returned a {type(result.output).__name__} that cannot be sent from the cluster "
                f'({describe(problem)}). Return plain data, or run the tool with runtime="thread".'
            )
        )


def load_result(data: bytes) -> Result:
    """Return the result that a worker sent."""
    try:
        result, pickled = pickle.loads(data)  # noqa: S301  (a worker has the rights of its driver)
    except Exception as problem:  # noqa: BLE001  (a class that this process lacks, or that fails in any way)
        text = f"The result of the tool cannot be read from the cluster ({describe(problem)}). Return plain data."
        return Result.error(text, exception=problem)
    made: Result = result
    if pickled is None:
        return made
    try:
        error = pickle.loads(pickled)  # noqa: S301  (as above)
    except Exception:  # noqa: BLE001  (as above)
        return made
    kind = made.error_type or "execution_error"
    return Result.error(made.error or "", type=kind, metadata=made.metadata, exception=error)


def describe(error: BaseException) -> str:
    """Return the class of an exception and the first line of its message."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
