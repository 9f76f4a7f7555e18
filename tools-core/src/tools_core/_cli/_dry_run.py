"""`ask-tools call --dry-run`: everything that comes before a tool runs, and not the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._cli._installed import prints_aside
from tools_core._cli._terminal import CommandError, one_line, write, write_json
from tools_core._execution._prepare import prepare, read_object
from tools_core._registry._package import one_line as clipped
from tools_core._values._jsonable import clean
from tools_core._values._result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core._tools._tool import Tool

_SHOWN = 200  # characters of a value


def dry_run(tool: Tool, arguments: Any, origin: Mapping[str, Any], *, as_json: bool) -> Result | None:
    """Print what the tool would be called with; the Result, if the arguments are refused."""
    with prints_aside():  # conversions may be the tool's own
        prepared = prepare(tool, arguments, None, {})
        if isinstance(prepared, Result):
            return prepared
        ready, _, repairs = prepared
        annotations = _annotations(tool, arguments)
    passed = {name: value for name, value in ready.items() if name != tool._spec.context}
    if as_json:
        write_json(
            {
                "name": tool.name,
                "arguments": clean(passed),
                "repaired": list(repairs),
                "annotations": annotations,
                "requires_approval": tool.requires_approval,
            }
        )
        return None
    where = f" ({origin['distribution']} {origin['version']})" if origin.get("distribution") else ""
    lines = [f"would call {tool.name}{where}"]
    lines += [f"  {name} = {clipped(repr(value), _SHOWN)}" for name, value in passed.items()] or ["  without arguments"]
    lines += [f"repaired {repair}" for repair in repairs]
    hints = [name if value else f"not {name}" for name, value in annotations.items()]
    hints += ["requires approval"] if tool.requires_approval else []
    lines.append(f"annotations: {', '.join(hints) or 'none'}".replace("_", "-"))
    write("\n".join(map(one_line, [*lines, "nothing was run"])))
    return None


def _annotations(tool: Tool, arguments: Any) -> dict[str, bool]:
    """The hints for these very arguments."""
    given = read_object(arguments, {})
    try:
        return dict(tool.effects(given).annotations)
    except Exception as broken:  # another package's code: its failure is reported as its own
        message = f"{tool.name} cannot say what it would do: {type(broken).__name__}: {broken}"
        raise CommandError(message, status=1, type="execution_error") from broken
