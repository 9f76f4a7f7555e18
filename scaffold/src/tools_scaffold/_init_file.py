"""One more export in a package's `__init__.py`, of which every other line stays as it is."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tools_scaffold._code import LINE_LIMIT
from tools_scaffold._errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Iterator


def with_export(text: str, package: str, module: str, name: str) -> str:
    """Import `name` from a module of the package and export it; ScaffoldError if that cannot be done safely."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ScaffoldError(f"__init__.py cannot be read ({error}); nothing was changed") from error
    if _has(tree, package, module, name):
        return text
    if name in _bound(tree):
        raise ScaffoldError(f"__init__.py has a {name} already; nothing was changed")
    exports = _exports(tree, name)
    if exports is not None:
        text = _with_name(text, exports, name)
    changed = _with_import(text, ast.parse(text), package, module, name if exports else f"{name} as {name}")
    _check(tree, ast.parse(changed), name)
    return changed


def _refusal(name: str) -> ScaffoldError:
    problem = "__init__.py makes its exports in a way that cannot be added to safely"
    return ScaffoldError(f"{problem}; nothing was changed: export {name} yourself")


def _has(tree: ast.Module, package: str, module: str, name: str) -> bool:
    """Whether an addition that was interrupted has come so far."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and _is_own(node, package)]
    own = [node for node in imports if (node.module or "").rpartition(".")[2] == module]
    exports = _exports(tree, name)
    is_exported = exports is None or name in [each.value for each in exports.elts if isinstance(each, ast.Constant)]
    return is_exported and any(name in [each.name for each in node.names] for node in own)


def _bound(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        else:
            stored = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
            found |= {each.id for each in stored}
    return found


def _exports(tree: ast.Module, name: str) -> ast.List | ast.Tuple | None:
    """The value of `__all__`, if there is one."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__all__"]
    if not uses:
        return None
    values = [value for node in tree.body for target, value in _assigned(node) if [target] == uses]
    if len(values) == 1 and isinstance(values[0], ast.List | ast.Tuple) and _is_text(values[0]):
        return values[0]
    raise _refusal(name)


def _assigned(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.AnnAssign):
        yield node.target, node.value
    elif isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)


def _is_text(exports: ast.List | ast.Tuple) -> bool:
    return all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in exports.elts)


def _with_name(source: str, exports: ast.List | ast.Tuple, name: str) -> str:
    lines = source.split("\n")
    names = [str(each.value) for each in exports.elts if isinstance(each, ast.Constant)]
    is_sorted = names == sorted(names, key=_rank)
    place = sum(_rank(each) < _rank(name) for each in names) if is_sorted else len(names)
    first = _cut(lines[exports.lineno - 1], exports.col_offset)[1]
    if exports.lineno == exports.end_lineno:
        return _in_one_line(lines, exports, name, place)
    if not names or not first.startswith(("[", "(")):
        raise _refusal(name)
    near = exports.elts[min(place, len(names) - 1)]
    row = near.lineno - 1
    before, after = _cut(lines[row], near.col_offset)
    quote = after[0]
    if before.strip():  # several names in a line
        raise _refusal(name)
    new = f"{before}{quote}{name}{quote},"
    if place < len(names):
        lines.insert(row, new)
    else:
        head, tail = _cut(lines[row], near.end_col_offset or 0)
        lines[row] = head + (tail if tail.lstrip().startswith(",") else "," + tail)
        lines.insert(row + 1, new)
    return "\n".join(lines)


def _in_one_line(lines: list[str], exports: ast.List | ast.Tuple, name: str, place: int) -> str:
    row = exports.lineno - 1
    before, rest = _cut(lines[row], exports.col_offset)
    _, after = _cut(lines[row], exports.end_col_offset or 0)
    shown = rest[: len(rest) - len(after)]
    if not shown.startswith(("[", "(")):
        raise _refusal(name)
    words = [ast.get_source_segment("\n".join(lines), each) or "" for each in exports.elts]
    quote = words[0][0] if words else '"'
    words.insert(place, f"{quote}{name}{quote}")
    comma = "," if shown[0] == "(" and len(words) == 1 else ""
    line = f"{before}{shown[0]}{', '.join(words)}{comma}{shown[-1]}{after}"
    if len(line) > LINE_LIMIT:
        line = "\n".join([before + shown[0], *(f"    {word}," for word in words), shown[-1] + after])
    lines[row] = line
    return "\n".join(lines)


def _with_import(source: str, tree: ast.Module, package: str, module: str, names: str) -> str:
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    own = [node for node in imports if isinstance(node, ast.ImportFrom) and _is_own(node, package)]
    start = "." if any(node.level for node in own) else f"{package}."
    line = f"from {start}{module} import {names}"
    if len(line) > LINE_LIMIT:
        line = f"from {start}{module} import (\n    {names},\n)"
    lines = source.split("\n")
    earlier = [node for node in own if _natural((node.module or "").rpartition(".")[2]) < _natural(module)]
    if earlier:
        lines.insert(earlier[-1].end_lineno or 0, line)
    elif own:
        lines.insert(own[0].lineno - 1, line)
    elif imports:
        lines[imports[-1].end_lineno or 0 : imports[-1].end_lineno or 0] = ["", line]
    elif ast.get_docstring(tree, clean=False) is not None:
        after = tree.body[0].end_lineno or 0
        lines[after:after] = ["", line]
    else:
        at = tree.body[0].lineno - 1 if tree.body else len(lines) - 1
        lines.insert(at, line)
    return "\n".join(lines)


def _is_own(node: ast.ImportFrom, package: str) -> bool:
    return node.level == 1 or (node.level == 0 and (node.module or "").startswith(f"{package}."))


def _check(before: ast.Module, after: ast.Module, name: str) -> None:
    """Make sure that nothing has changed but the export."""
    imports = [node for node in after.body if isinstance(node, ast.ImportFrom)]
    new = [node for node in imports if name in [each.name for each in node.names]]
    exports = _exports(after, name)
    if len(new) == 1:
        after.body.remove(new[0])
        if exports is not None:
            exports.elts = [each for each in exports.elts if isinstance(each, ast.Constant) and each.value != name]
        if ast.dump(before) == ast.dump(after):
            return
    raise _refusal(name)


def _cut(line: str, at: int) -> tuple[str, str]:
    """Cut a line at a column as `ast` counts them, in bytes."""
    data = line.encode("utf-8")
    return data[:at].decode("utf-8"), data[at:].decode("utf-8")


def _natural(word: str) -> list[tuple[str, int]]:
    return [(text, int(number or -1)) for text, number in re.findall(r"(\D*)(\d*)", word)]


def _rank(name: str) -> tuple[int, list[tuple[str, int]]]:
    """Linters want constants first, then classes, then the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), _natural(name)
