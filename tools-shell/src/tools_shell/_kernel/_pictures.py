"""Pictures: what the code drew, bounded in number and size, by libraries that the code has loaded itself."""

from __future__ import annotations

import io
import sys

from tools_shell._kernel._frames import encoded
from tools_shell._kernel._values import VALUE, clip, message_of

TYPE_CHECKING = False  # importing typing for it would cost more than all of this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST = 8
_BYTES = 4 << 20  # of one picture
_PLAIN = {bool, bytes, dict, float, int, list, set, str, tuple, type(None)}
_SIDE = 2_000  # pixels; models are shown no more than that


def pictures(value: Any) -> list[tuple[bytes, bytes]]:
    """What there is to see: the open figures of matplotlib, which are closed, and the value, if it is a picture."""
    if type(value) in _PLAIN and "matplotlib.pyplot" not in sys.modules:
        return []
    figures, fields = _tried(_figures, value)
    for maker, picture in [*((_drawn, figure) for figure in figures[:_MOST]), (_represented, value)]:
        made, failure = _tried(maker, picture)
        fields += made + failure
    return _bounded(fields, len(figures[_MOST:]))


def _tried(maker: Callable[[Any], list[Any]], value: Any) -> tuple[list[Any], list[tuple[bytes, bytes]]]:
    try:
        return maker(value), []
    except Exception as error:  # noqa: BLE001  (a library's or the code's own)
        text = f"a picture could not be made: {type(error).__name__}: {clip(message_of(error), 200)}"
        return [], [(b"n", encoded(text))]


def _figures(value: Any) -> list[Any]:
    figures = []
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        pyplot.close("all")
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    if figure is not None and isinstance(value, figure) and all(value is not other for other in figures):
        figures.append(value)
    return figures


def _drawn(figure: Any) -> list[tuple[bytes, bytes]]:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=min(figure.dpi, _SIDE / max(figure.get_size_inches())))
    return [(b"p", buffer.getvalue())]


def _represented(value: Any) -> list[tuple[bytes, bytes]]:
    """By the methods that IPython looks for; pictures of Pillow are made fit first."""
    image = getattr(sys.modules.get("PIL.Image"), "Image", None)
    if image is not None and isinstance(value, image):
        return _saved(value)
    fields = []
    for letter, name in ((b"p", "_repr_png_"), (b"j", "_repr_jpeg_"), (b"r", "_repr_markdown_")):
        method = getattr(type(value), name, None)
        made = method(value) if callable(method) else None
        if isinstance(made, tuple):  # with metadata
            made = made[0]
        if isinstance(made, str):
            made = encoded(clip(made, VALUE))
        if isinstance(made, bytes):
            fields.append((letter, made))
    return fields


def _saved(image: Any) -> list[tuple[bytes, bytes]]:
    buffer = io.BytesIO()
    notes = []
    if max(image.size) > _SIDE:
        notes = [(b"n", encoded(f"the picture of {image.width}x{image.height} pixels is shown reduced"))]
        image = image.copy()
        image.thumbnail((_SIDE, _SIDE))
    if image.mode not in ("1", "L", "LA", "I", "P", "RGB", "RGBA", "I;16"):
        image = image.convert("RGB")
    image.save(buffer, "PNG")
    return [(b"p", buffer.getvalue()), *notes]


def _bounded(fields: list[tuple[bytes, bytes]], left_out: int) -> list[tuple[bytes, bytes]]:
    kept, count = [], 0
    for letter, data in fields:
        if letter in (b"p", b"j"):
            if count == _MOST or len(data) > _BYTES:
                left_out += 1
                continue
            count += 1
        kept.append((letter, data))
    if left_out:
        text = f"{left_out} pictures were left out: at most {_MOST} of {_BYTES >> 20} MiB each are shown"
        kept.append((b"n", encoded(text)))
    return kept
