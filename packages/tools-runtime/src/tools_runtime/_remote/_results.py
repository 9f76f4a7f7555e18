"""Results on their way out of another process: of most the output alone, of the others all that they are."""

from __future__ import annotations

from tools_core import Result
from tools_runtime._remote._errors import describe, rebuild
from tools_runtime._remote._json import decode, encode, is_exact

_NOTHING_ELSE = Result.ok().__reduce__()[1][2:]  # after whether it is ok, and its output


def write(result: Result) -> tuple[bytes, bool]:
    """A result as JSON, and whether that is its output alone."""
    plain = _plain(result)
    if plain is not None:
        return plain, True
    told = result.to_dict()
    if result.exception is not None:
        told["exception"] = describe(result.exception)
    return encode(told), False


def _plain(result: Result) -> bytes | None:
    """The output of a result that is nothing but that, as most are; None for any other."""
    try:
        # What pickles like one is one: to ask so takes half of the time of `to_dict`.
        if result.is_ok and is_exact(result.output) and result.__reduce__()[1][2:] == _NOTHING_ELSE:
            return encode(result.output)
    except RecursionError:
        pass  # `to_dict` cuts off what is too deep
    return None


def read(data: bytes, *, is_plain: bool) -> Result:
    """The result that was written; ValueError, TypeError, AttributeError or RecursionError for what is none."""
    told = decode(data)
    if is_plain:
        return Result.ok(told)
    error = told.pop("exception", None)
    result = Result.from_dict(told)
    texts = (result.error_message, result.error_type)
    if not all(text is None if result.is_ok else isinstance(text, str) for text in texts):
        raise ValueError("an error has a message and a type, a success neither")
    if error is None or result.is_ok:
        return result
    message, kind = str(result.error_message), str(result.error_type)
    return Result.error(message, type=kind, metadata=result.metadata, exception=rebuild(error))
