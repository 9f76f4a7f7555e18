"""`ask-tools hooks`: which installed plugins run around calls, the outermost first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core.command import one_line, write, write_json
from tools_runtime._hooks import hook_order
from tools_runtime._plugins import Plugins

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `hooks`."""
    parser.description = "List the hooks of installed plugins in the order in which they run, the outermost first."
    parser.epilog = "Exit codes: 0 done, 1 a plugin does not work."
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the hooks, and the plugins that do not work; return 1 if there are any."""
    plugins = Plugins((), installed=True)
    hooks = [{"hook": hook, "plugin": plugin} for hook, plugin in hook_order(plugins.manager)]
    problems = [{"plugin": name, "error": error} for name, error in plugins.problems.items()]
    if options.json:
        write_json({"hooks": hooks, "problems": problems})
        return 1 if problems else 0
    lines = [f"{hook['hook']:18} {hook['plugin']}" for hook in hooks]
    lines += [f"! {problem['plugin']}: {problem['error']}" for problem in problems]
    write("\n".join(map(one_line, lines or ["no plugin with hooks is installed"])))
    return 1 if problems else 0
