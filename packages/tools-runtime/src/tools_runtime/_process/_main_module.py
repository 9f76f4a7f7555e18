"""The program that made the runtime, for tools that are defined in it: run in the worker under another name."""

from __future__ import annotations

import io
import pickle
import sys
from types import ModuleType
from typing import Any

NAME = "__mp_main__"  # which multiprocessing uses as well: what is guarded by `__name__ == "__main__"` does not run

_is_loading = False


def is_loading() -> bool:
    """Whether the program is being run for its tools just now: it must not start workers then."""
    return _is_loading


def find_main() -> dict[str, str]:
    """Where the program comes from, for another process; nothing for one that was typed in."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return {"module": spec.name}
    path = getattr(main, "__file__", None)
    return {"path": path} if isinstance(path, str) and not path.startswith("<") else {}  # as "<stdin>" is


class Loader:
    """Unpickles what the host sends."""

    def __init__(self, main: dict[str, str]) -> None:
        self._main = main

    def load(self, data: bytes | memoryview) -> Any:
        """Make the object again; whatever its module raises."""
        return _Unpickler(io.BytesIO(data), self).load()

    def main(self) -> ModuleType:
        """The program, as a module."""
        global _is_loading  # noqa: PLW0603  (as the program is one for the process)
        known = sys.modules.get(NAME)
        if known is not None:
            return known
        if not self._main:
            raise ImportError("the tool is defined in a program that is no file; put it into a module")
        import runpy  # only for tools of the program itself

        _is_loading = True
        try:
            if "module" in self._main:
                content = runpy.run_module(self._main["module"], run_name=NAME, alter_sys=True)
            else:
                content = runpy.run_path(self._main["path"], run_name=NAME)
        finally:
            _is_loading = False
        made = ModuleType(NAME)
        vars(made).update(content)
        sys.modules[NAME] = sys.modules["__main__"] = made
        return made


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, loader: Loader) -> None:
        super().__init__(file)
        self._loader = loader

    def find_class(self, module: str, name: str) -> Any:
        if module in ("__main__", NAME):  # the second in what a worker sends to workers of its own
            self._loader.main()
            module = NAME
        return super().find_class(module, name)
