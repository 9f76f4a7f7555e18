"""`ask-tools update`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_scaffold._errors import ScaffoldError
from tools_scaffold._terminal import add_common_options, ask, can_ask, complain, from_here, report
from tools_scaffold._update import BESIDE, Update, differences, plan_update

if TYPE_CHECKING:
    import argparse

FATES = {
    "created": "is new",
    "replaced": "is the new version; you had not changed it",
    "merged": "has the new version's changes and yours",
    "beside": f"differs in the same places: the new version is beside it, with {BESIDE} at the end of its name",
    "removed": "was removed by you, and stays so",
    "dropped": "is no part of the template any more, and stays",
}


EPILOG = """\
examples:
  ask-tools update
  ask-tools update --dry-run --json
  ask-tools update --yes
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the options of `ask-tools update`, and `run` as what it does."""
    parser.description = "Bring a package that `ask-tools new` made to the present template. Nothing of yours is lost."
    parser.epilog = EPILOG
    parser.add_argument("--dir", metavar="DIR", help="where the package is (default: here, or the nearest above)")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    add_common_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        update = plan_update(arguments.dir)
        written = bool(update.changes) and not arguments.dry_run and _is_wanted(arguments, update)
        if written:
            update.write()
    except ScaffoldError as error:
        return complain(error)
    difference = differences(update)
    said = {
        "made": written,
        "folder": str(update.folder),
        "template": {"old": update.old, "new": update.new},
        "files": {step.path: step.fate for step in update.steps},
        "difference": difference,
    }
    shown = [] if written and not arguments.yes else [difference]  # whoever was asked has seen it
    report(said, [*shown, *_as_lines(update, written=written)], as_json=arguments.json)
    return 0


def _is_wanted(arguments: argparse.Namespace, update: Update) -> bool:
    if arguments.yes or arguments.json or not can_ask():
        return bool(arguments.yes)
    report({}, [differences(update), *_as_lines(update, written=False)], as_json=False)
    return ask("Write this? (yes or no)", "no").lower() in ("y", "yes")


def _as_lines(update: Update, *, written: bool) -> list[str]:
    if not update.steps:
        return [f"{from_here(update.folder)} is from template {update.new}, the newest: nothing to do"]
    verb = "updated" if written else "would update"
    lines = [f"{verb} {from_here(update.folder)} from template {update.old} to {update.new}"]
    lines += [f"  {step.path} {FATES[step.fate]}" for step in update.steps]
    return lines if written else [*lines, "nothing was written; --yes writes it"]
