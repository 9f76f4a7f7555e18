"""The subclasses of a class of tools that this process has defined or imported."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from tools_core._tools._tool import Tool


def concrete_subclasses(base: type[Tool]) -> list[type[Tool]]:
    """Return those that are not abstract, sorted by module and name; of a class that was defined again the newest."""
    found: dict[tuple[str, str, str], type[Tool]] = {}
    waiting = [base]
    while waiting:
        for cls in type.__subclasses__(waiting.pop(0)):
            waiting.append(cls)
            is_ours = cls.__module__.startswith("tools_core.")
            is_abstract = cls._is_abstract or getattr(cls, "__abstractmethods__", None)  # pyright: ignore[reportPrivateUsage]
            if not is_ours and not is_abstract:
                found[cls.__module__, cls.__qualname__, cls.name] = cls
    return [found[key] for key in sorted(found)]
