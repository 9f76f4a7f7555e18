"""What was written before: an agent sends the same definitions with every request."""

from __future__ import annotations

import marshal

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST = 2_048  # schemas
_PLAIN = 2  # the last version of marshal that writes equal data as equal bytes, whoever else holds a part of it

_written: dict[tuple[str, bytes], bytes] = {}


def remembered(schema: Any, format: str, write: Callable[[], Any]) -> Any:  # noqa: A002  (the field's word)
    """What `write` makes of `schema` for a format, or made of an equal one before; nobody else holds it."""
    try:
        key = (format, marshal.dumps(schema, _PLAIN))
    except ValueError:  # it is no plain JSON data
        return write()
    known = _written.get(key)
    if known is None:
        known = marshal.dumps(write(), _PLAIN)
        if len(_written) >= _MOST:
            _written.clear()
        _written[key] = known
    return marshal.loads(known)  # noqa: S302  (packed by ourselves)
