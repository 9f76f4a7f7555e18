"""The public interface of each package is what its file in `tests/ecosystem/api` says.

A change of a name, a parameter or a type shows in review as a changed line. After a change on purpose, write the files
again: `python tests/ecosystem/test_api.py`. The sources are read and not imported, so no framework has to be installed.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).parent / "api"
FOLDERS = {
    path.parent.name: path.parent
    for pattern in ("*/src/*/__init__.py", "packages/*/src/*/__init__.py")
    for path in sorted(ROOT.glob(pattern))
}
_KINDS = ("async", "property", "classmethod", "staticmethod", "overload")


@cache
def parse(module):
    """The nodes at the top of a module and in its `if` and `try` blocks, by name; None for another library."""
    package, *rest = module.split(".")
    if package not in FOLDERS:
        return None
    folder = FOLDERS[package].joinpath(*rest)
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    names, nodes = {}, list(ast.parse(path.read_text(encoding="utf-8")).body)
    for node in nodes:  # grows
        if isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names |= {target.id: node} if isinstance(target, ast.Name) else {}
        elif isinstance(node, ast.If | ast.Try):
            nodes += [*node.body, *node.orelse]
    return names


def find(module, name):
    """The node that defines a name, and its module; None for a name of another library."""
    names = parse(module)
    node = None if names is None else names.get(name)
    return find(*node) if isinstance(node, tuple) else (module, node)


def exported(module):
    """The names in `__all__`; without one, or if it is computed, the public names."""
    names = parse(module)
    value = getattr(names.get("__all__"), "value", None)
    if isinstance(value, ast.List | ast.Tuple):
        return [element.value for element in value.elts]
    is_package = "." not in module
    public = [name for name in names if name[0] != "_" and name != "TYPE_CHECKING"]
    return [name for name in public if isinstance(names[name], tuple) == is_package]


def public_modules(package):
    """The modules that programs may import: no part of their names starts with an underscore."""
    folder = FOLDERS[package]
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            yield ".".join(parts)


def lines_of(package):
    """One line for each public name of a package, and for each public member of its classes."""
    lines = set()
    for module in public_modules(package):
        for name in exported(module):
            lines.update(describe(f"{module}.{name}", *find(module, name)))
    return sorted(lines)


def describe(name, module, node):
    if isinstance(node, ast.ClassDef):
        yield f"{name}: class of {', '.join(map(ast.unparse, node.bases)) or 'object'}"
        yield from members(name, module, node)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield function_line(name, node)
    else:
        yield name


def members(name, module, cls):
    """The lines of the members of a class, with members of its private base classes."""
    for base in cls.bases:
        place, node = find(module, base.id) if isinstance(base, ast.Name) else (module, None)
        if isinstance(node, ast.ClassDef) and node.name.startswith("_"):
            yield from members(name, place, node)
    for node in cls.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == "__init__" or not node.name.startswith("_"):
                yield function_line(f"{name}.{node.name}", node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if not node.target.id.startswith("_"):
                yield f"{name}.{node.target.id}: {ast.unparse(node.annotation)}"
        elif isinstance(node, ast.Assign):
            yield from (f"{name}.{target.id}" for target in node.targets if target.id[0] != "_")


def function_line(name, node):
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    decorators += ["async"] * isinstance(node, ast.AsyncFunctionDef)
    kinds = " ".join(text for text in _KINDS if text in decorators)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}({ast.unparse(node.args)}){returns}{f'  # {kinds}' if kinds else ''}"


def file_of(package):
    return FILES / f"{package.replace('_', '-')}.txt"


def test_the_public_interface_of_each_package_is_the_recorded_one():
    changes = {}
    for package in FOLDERS:
        recorded = file_of(package).read_text(encoding="utf-8").splitlines() if file_of(package).exists() else []
        changes |= dict.fromkeys({*recorded} ^ {*lines_of(package)}, package)
    advice = "to accept the changes: python tests/ecosystem/test_api.py, and a line in the CHANGELOG"
    assert sorted(changes) == [], advice


def test_the_recorded_interface_has_every_exported_name():
    for package in FOLDERS:
        words = " ".join(lines_of(package))
        assert [name for name in exported(package) if f"{package}.{name}" not in words] == []


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    for package in FOLDERS:
        file_of(package).write_text("".join(f"{line}\n" for line in lines_of(package)), encoding="utf-8")
    print(f"wrote {len(FOLDERS)} files in {FILES}", file=sys.stderr)
