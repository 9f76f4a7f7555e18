"""`ask-tools hooks`: what happens around calls, in which order, and who brought it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tools_core.text import visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_HOOKS = ("around_tool_call", "before_tool_call", "after_tool_call", "on_event", "register_runtimes")
_OUTWARD = ("after_tool_call", "register_runtimes")  # the outermost comes last, and has the last word

_EPILOG = """\
The hooks of installed plugins, in the order in which a call goes through them, each with the distribution that brought
it and how long that took to load; then the plugins that are left out, with the reason. What an executor is given itself
comes before these. Exit codes: 0 no problem, 1 a plugin is left out because it does not work.

examples:
  ask-tools hooks
  ask-tools hooks --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `hooks`."""
    parser.description = "Show the hooks of installed plugins, in the order in which they run."
    parser.epilog = _EPILOG
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the hooks; 1 if a plugin is left out because it does not work."""
    report = report_of_installed()
    if options.json:
        json.dump(report, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(report)))
    return 1 if report["problems"] else 0


def report_of_installed() -> dict[str, Any]:
    """Hooks, in their order, and problems, as plain data."""
    from tools_runtime._chain import ordered  # loaded with the plugins
    from tools_runtime._plugins import Plugins, installed_plugins  # pluggy, which `--help` does not need

    plugins = Plugins((), installed=True)
    times = {installed.name: round(installed.milliseconds, 1) for installed in installed_plugins()}
    hooks = [
        {"hook": hook, "plugin": impl.plugin_name, "origin": plugins.origins[impl.plugin_name],
         "milliseconds": times[impl.plugin_name]}
        for hook in _HOOKS
        for impl in ordered(getattr(plugins.manager.hook, hook))[:: -1 if hook in _OUTWARD else 1]
    ]  # fmt: skip
    problems = [
        {"plugin": name, "origin": plugins.origins[name], "error": error} for name, error in plugins.problems.items()
    ]
    return {"hooks": hooks, "problems": problems}


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [
        f"{each['hook']:18} {each['plugin']}  ({each['origin']}, loaded in {each['milliseconds']:g} ms)"
        for each in report["hooks"]
    ] or ["no plugin with hooks is installed"]
    for each in report["problems"]:
        lines += ["", f"! {each['plugin']} ({each['origin']})", f"  {each['error']}"]
    return [visible(line) for line in lines]
