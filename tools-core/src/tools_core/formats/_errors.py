"""`FormatError`: a definition that a provider's dialect cannot carry."""

from __future__ import annotations

from tools_core._values._problem import clip


class FormatError(ValueError):
    """A definition cannot be written in a format: names the tool, the place in its schema and what to do.

    `tool`, `path` (as in `properties/items/0`, empty for the whole) and `format` say it once more, for programs.
    """

    def __init__(self, problem: str, *, tool: str, path: str = "", format: str = "") -> None:  # noqa: A002  (the field's word)
        where = f"`{tool}`" + (f" at {clip(path, 200)}" if path else "") + (f" for {format}" if format else "")
        super().__init__(f"{where}: {problem}")
        self.problem = problem
        self.tool = tool
        self.path = path
        self.format = format

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.problem, self.tool, self.path, self.format)


def _restore(problem: str, tool: str, path: str, format: str) -> FormatError:  # noqa: A002  (see above)
    return FormatError(problem, tool=tool, path=path, format=format)
