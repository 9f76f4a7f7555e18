"""`ask-tools verify`: compare the installed tools with the lock file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._lock import add_file, differences, extent, installed, read_lock
from tools_core._cli._terminal import CommandError, one_line, write, write_json
from tools_core._registry._lock_file import hash_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_core._registry._lock_file import Lock

_EPILOG = """\
Differences are tools that are new, missing, broken or changed, and other versions of distributions. To see how a
definition has changed, lock again and compare the files. Packages that ASK_TOOLS_ALLOW and ASK_TOOLS_DENY block are not
imported.
Exit codes: 0 no differences, 1 differences, 2 the lock cannot be read.

examples:
  ask-tools verify
  ask-tools verify --file trusted.lock --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `verify`."""
    parser.epilog = _EPILOG
    add_file(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the differences; 1 if there are any."""
    old = read_lock(options.file, f"write one: ask-tools lock --file {options.file}")
    _check_hashes(old, options.file)
    new, problems = installed()
    changes = [change for change in differences(old, new) if change.removesuffix(" is missing") not in problems]
    if options.json:
        write_json({"file": options.file, "changes": changes, "problems": problems})
    else:
        lines = [*changes, *(f"{name} cannot be verified: {problem}" for name, problem in problems.items())]
        verdict = f"differs from {options.file}; to trust this: ask-tools lock --file {options.file}"
        write("\n".join(map(one_line, [*lines, verdict if lines else f"as locked in {options.file}: {extent(old)}"])))
    return 1 if changes or problems else 0


def _check_hashes(lock: Lock, path: str) -> None:
    """Compare definitions with hashes: reviewers read the definitions, and discovery compares the hashes."""
    for name, tool in lock.tools.items():
        if hash_of(tool.definition) != tool.sha256:
            message = f"{path}: the definition of {name} does not match its sha256; the file was edited"
            raise CommandError(message, "restore it, or review the tools and write a new one", status=1)
