"""`ask-tools verify`: compare what is installed with the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._drift import facts, lines
from tools_core._cli._lock import add_file, extent, installed
from tools_core._cli._terminal import CommandError, one_line, write, write_json
from tools_core._registry._lock_file import Drift, LockError, compare, hash_of, read

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_core._registry._lock_file import Lock

_EPILOG = """\
Drift is a tool that is new, gone or broken, another version of a distribution, and every change of a description, a
schema or an annotation, shown as PATH: OLD -> NEW; and a plugin that is new, gone or somewhere else. All packages with
tools are imported for that; ASK_TOOLS_ALLOW and ASK_TOOLS_DENY hold.
Exit codes: 0 all is as it was locked, 1 it is not, 2 there is no lock that can be read.

examples:
  ask-tools verify
  ask-tools verify --file trusted.lock --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `verify`."""
    parser.epilog = _EPILOG
    add_file(parser)
    parser.add_argument("--json", action="store_true", help="print the drift as JSON, with whole values")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the drift; 1 if there is any."""
    try:
        old = read(options.file)
    except LockError as broken:
        raise CommandError(str(broken), f"write one: ask-tools lock --file {options.file}") from broken
    _check_hashes(old, options.file)
    new, problems = installed()
    drift = [each for each in compare(old, new) if each.name not in problems]
    if options.json:
        write_json({"file": options.file, "drift": facts(drift), "problems": problems})
    else:
        broken_tools = [f"{name} cannot be verified: {problem}" for name, problem in problems.items()]
        write("\n".join(map(one_line, [*lines(drift), *broken_tools, _verdict(drift, problems, old, options.file)])))
    return 1 if drift or problems else 0


def _check_hashes(lock: Lock, path: str) -> None:
    """The definitions are what a person reviews, and the hashes what is enforced: they must say the same."""
    for name, tool in lock.tools.items():
        if hash_of(tool.definition) != tool.sha256:
            message = f"{path}: the definition of {name} is not the one of its sha256: the file was edited"
            raise CommandError(message, "bring it back as it was, or review the tools and write a new one", status=1)


def _verdict(drift: list[Drift], problems: dict[str, str], old: Lock, path: str) -> str:
    if drift or problems:
        return f"not as in {path}; if you trust what is new: ask-tools lock --file {path}"
    return f"all as in {path}: {extent(old)}"
