"""`external_tool`: a tool whose calls run elsewhere, such as in the browser of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools_core import Context, Result, Tool, tool


def external_tool(name: str, description: str, input_schema: Mapping[str, Any], **options: Any) -> Tool:
    """Return a tool whose results the caller brings.

    A call that is allowed, and has valid arguments, interrupts the run as `result_required`. `response.pending` and
    `session.pending_results` have its arguments; `session.add_result(call_id, value)` gives it its result, from any
    process, and `generate()` continues. In an executor of your own the call ends as `result_required`.

    Args:
        name: The name that the model sees.
        description: The description that the model sees.
        input_schema: The JSON Schema of the arguments.
        **options: Options of a tool, such as `read_only` or `requires_approval`.
    """

    # No argument has the name of the first parameter.
    def execute(_ask_tools_context: Context, **arguments: Any) -> Result:
        pending = {
            "key": "", "call_id": _ask_tools_context.call_id, "tool": name, "arguments": arguments,
            "reasons": ["it runs elsewhere"], "external": True,
        }  # fmt: skip
        return Result.error(f"{name} waits for its result", type="result_required", metadata={"pending": pending})

    return tool(execute, name=name, description=description, input_schema=input_schema, stateful=True, **options)
