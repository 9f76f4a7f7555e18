"""`[agent]` of the user's settings: the defaults of `run` and `chat`."""

from __future__ import annotations

from typing import Any

from tools_core.command import CommandError
from tools_core.files import config_path, user_settings

_KEYS: dict[str, tuple[object, ...] | type] = {
    "model": str,
    "mode": ("auto", "ask", "preview"),
    "instructions": bool,
    "notify": ("bell", "desktop", "off"),
}


def agent_setting(key: str, default: Any = None) -> Any:
    """Return a value of `[agent]`. Raises CommandError for a file, a key or a value that is not valid."""
    place = f"[agent] of {config_path('settings.toml')}"
    try:
        table = user_settings("agent")
    except ValueError as error:
        raise CommandError(str(error)) from error
    for name, value in table.items():
        kind = _KEYS.get(name)
        if kind is None:
            raise CommandError(f"{place}: unknown key {name!r}", f"the keys are {', '.join(_KEYS)}")
        if isinstance(kind, tuple) and value not in kind:
            raise CommandError(f"{place}: {name} is {value!r}; it is one of {', '.join(map(str, kind))}")
        if isinstance(kind, type) and not isinstance(value, kind):
            form = "true or false" if kind is bool else 'text, such as model = "openai:gpt-5"'
            raise CommandError(f"{place}: {name} must be {form}")
    return table.get(key, default)
