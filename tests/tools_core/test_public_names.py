"""The public names of tools_core: their annotations resolve when a program runs."""

import importlib
import inspect
import typing

import pytest

import tools_core

MODULES = ["", ".command", ".files", ".formats", ".linux", ".schema", ".text", ".threads", ".variables"]


def functions_of(module):
    """Yield each public class and function of a module, and the methods and properties that users read or call."""
    for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
        member = getattr(module, name)
        if inspect.isclass(member) and member.__module__.startswith("tools_core"):
            yield member
            for method in vars(member).values():
                function = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
                if inspect.isfunction(function) and (function.__name__ == "__init__" or function.__name__[0] != "_"):
                    yield function
        elif inspect.isfunction(member) and member.__module__.startswith("tools_core"):
            yield member


@pytest.mark.parametrize("name", MODULES)
def test_annotations_of_public_names_resolve(name):
    functions = [*functions_of(importlib.import_module(f"tools_core{name}"))]
    assert functions
    for function in functions:
        typing.get_type_hints(function)


def test_completion_in_a_shell_offers_the_public_names():
    assert dir(tools_core) == sorted(tools_core.__all__) == tools_core.__all__
    with pytest.raises(AttributeError, match="no attribute 'tol'"):
        tools_core.tol
