"""`ask-tools serve`: the installed tools as a server of the Model Context Protocol."""

from __future__ import annotations

import fnmatch
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core.command import CommandError, add_grants, is_terminal, load_tools, note, select_tools, use_grants

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_core import Context, Tool
    from tools_mcp._server._oauth import OAuth

_TOKEN = "ASK_TOOLS_MCP_TOKEN"  # noqa: S105  (the name of a variable)
_NEEDED = {
    "http": ("url", "token_file", "no_token", "oauth_issuer"),
    "oauth_issuer": ("oauth_audience", "oauth_scopes"),
}
PATTERNS = "NAME, 'x_*', PACKAGE, PACKAGE:NAME, FILE.py or FILE.py:NAME, separated by commas"
_INSTRUCTIONS = (
    "Tools of the user's machine, from installed packages. They work in the folder that the user has chosen; paths are "
    "relative to it. A call that changes something may need the user's approval: if it is refused, tell the user why, "
    "and do not work around it."
)
_POLICY = "adds a rule to a policy file (`ask-tools policy --help`)."
_ADVICE = (
    "To allow such calls, the user runs `ask-tools mcp install {entry} -- --allow {{tool}}`; or adds "
    '"--allow", "{{tool}}" to the arguments of `ask-tools serve` in the configuration of the client; or '
) + _POLICY
_HTTP_ADVICE = "To allow such calls, its user adds `--allow {tool}` to `ask-tools serve --http`, or " + _POLICY
_EPILOG = f"""\
Calls of tools that do more than read need approval: a client that offers elicitation asks its user, other clients get
an error that names what works. --allow approves the calls of some tools, a policy decides in detail (ask-tools policy).

Over HTTP, clients send `Authorization: Bearer TOKEN` with the token of --token-file or ${_TOKEN}, else with
a new one that is printed, or an access token of the --oauth-issuer.

examples:
  ask-tools serve --tools 'read_*,grep,glob'         what a client starts itself: ask-tools mcp install
  ask-tools serve --allow 'write_file,edit_file' --workspace ~/project
  ask-tools serve --http 8000                        http://127.0.0.1:8000/mcp
  ask-tools serve --http 8000 --audit /var/log/ask-tools/calls.jsonl
  ask-tools serve --http 0.0.0.0:8000 --url https://tools.example.com/mcp --oauth-issuer https://login.example.com
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `serve`."""
    parser.description = "Serve the installed tools over the Model Context Protocol, by default on standard streams."
    parser.epilog = _EPILOG
    text = f"the tools to serve: {PATTERNS}; by default all installed tools"
    parser.add_argument("--tools", metavar="TOOL,...", help=text)
    text = "the tools whose calls need no approval, patterns as for --tools; repeatable"
    parser.add_argument("--allow", metavar="TOOL,...", action="append", default=[], help=text)
    parser.add_argument("--read-only", action="store_true", help="serve only tools that are known to change nothing")
    parser.add_argument("--policy", metavar="FILE", action="append", help="rules instead of the user's policy file")
    text = "the folder that file tools are confined to; by default here"
    parser.add_argument("--workspace", metavar="DIR", default=".", help=text)
    text = "limit of calls whose tool sets none; 120 by default, 0 for no limit"
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=120.0, help=text)
    text = "characters of a result that clients receive; 30000 by default, 0 for no limit"
    parser.add_argument("--output-budget", metavar="N", type=int, default=30_000, help=text)
    text = "append a line of JSON to this file when a call starts and when it ends, without results and secrets"
    parser.add_argument("--audit", metavar="FILE", help=text)
    parser.add_argument("--http", metavar="[HOST:]PORT", help="serve HTTP at /mcp, by default on 127.0.0.1")
    parser.add_argument("--url", metavar="URL", help="HTTP: the URL for clients, where it differs, as behind a proxy")
    text = f"HTTP: a file with the bearer token that clients must send; by default ${_TOKEN}"
    parser.add_argument("--token-file", metavar="FILE", help=text)
    text = "HTTP: let every user and program of this machine call the tools and approve the calls"
    parser.add_argument("--no-token", action="store_true", help=text)
    text = "HTTP: the authorization server whose JWT access tokens clients must send"
    parser.add_argument("--oauth-issuer", metavar="URL", help=text)
    parser.add_argument("--oauth-audience", metavar="TEXT", help="HTTP: the audience of the tokens; by default --url")
    text = "HTTP: scopes that tokens need"
    parser.add_argument("--oauth-scopes", metavar="SCOPE,...", type=_words, default=[], help=text)
    text = "the entry that starts this, for the advice in a refusal: what `ask-tools mcp install` was given"
    parser.add_argument("--entry", metavar="TEXT", default="{client}", help=text)
    add_grants(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve until the client disconnects, or until SIGINT or SIGTERM."""
    from tools_mcp._server._server import Server  # not needed for --help
    from tools_runtime import Policy

    _check_combinations(options)
    use_grants(options)
    tools, allowed = _selected(options)
    token = os.environ.pop(_TOKEN, None)  # hidden from tools and their child processes
    if options.read_only:
        os.environ["ASK_TOOLS_READ_ONLY"] = "1"
    workspace = Path(options.workspace).absolute()
    if not workspace.is_dir():
        raise CommandError(f"the workspace {workspace} is not a folder")
    try:
        policy = Policy(files=options.policy)
        for problem in policy.problems((tools or {}).values()):
            note(f"warning: {problem}")
        server = Server(
            tools,
            read_only=options.read_only,
            policy=policy,
            allow=allowed,
            instructions=_INSTRUCTIONS,
            workspace=workspace,
            output_budget=options.output_budget or None,
            hooks=_audit(options, workspace),
            advice=_HTTP_ADVICE if options.http else _ADVICE.format(entry=options.entry),
            timeout=options.timeout or None,
        )
        if options.http is None:
            if is_terminal(sys.stdin):
                note("waiting for an MCP client on standard input; a client starts this itself: ask-tools mcp install")
            server.run_stdio()
        else:
            host, port = _address(options.http)
            secrets: dict[str, Any] = {"token": _token(options, token), "oauth": _oauth(options)}
            server.run_http(host, port, url=options.url, no_token=options.no_token, **secrets)
    except (OSError, ValueError) as error:
        raise CommandError(str(error), "ask-tools serve --help") from error
    return 0


def _audit(options: Namespace, workspace: Path) -> list[Any]:
    if options.audit is None:
        return []
    from tools_runtime.plugins import AuditLog

    path = Path(options.audit).expanduser().absolute()
    if path.resolve().is_relative_to(workspace.resolve()):
        raise ValueError(f"the audit log {path} is in the workspace, where tools could change it; take another folder")
    path.touch(mode=0o600)  # an error now, not in a call

    def identify(context: Context) -> dict[str, Any]:
        return {key: context.state[key] for key in ("client", "user") if key in context.state}

    return [AuditLog(path, identify=identify, required=True)]


def check(options: Namespace) -> list[str]:
    """Refuse options that would have no effect, and patterns that match no tool; return the names of allowed tools."""
    _check_combinations(options)
    return _selected(options)[1]


def _check_combinations(options: Namespace) -> None:
    for needed, others in _NEEDED.items():
        for other in others:
            if getattr(options, other) and getattr(options, needed) is None:
                option, missing = (f"--{name.replace('_', '-')}" for name in (other, needed))
                raise CommandError(f"{option} has no effect without {missing}", "ask-tools serve --help")


def _selected(options: Namespace) -> tuple[dict[str, Tool] | None, list[str]]:
    """Return the tools to serve, None for all installed ones, and the names of tools whose calls need no approval."""
    tools = None if options.tools is None else load_tools(options.tools)
    allowed: list[str] = []
    for pattern in ",".join(options.allow).split(",") if options.allow else []:
        allowed += fnmatch.filter(tools or (), pattern.strip()) or select_tools(pattern)
    return tools, allowed


def _address(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    if not port.isdecimal() or int(port) >= 1 << 16:
        raise ValueError(f"--http is PORT or HOST:PORT, got {http!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def _token(options: Namespace, token: str | None) -> str | None:
    if options.token_file is not None:
        token = Path(options.token_file).read_text(encoding="utf-8").strip()
    if token is not None and not (token and token.isascii()):
        raise ValueError("the token is empty or not ASCII; python -c 'import secrets; print(secrets.token_urlsafe())'")
    return token


def _oauth(options: Namespace) -> OAuth | None:
    if options.oauth_issuer is None:
        return None
    from tools_mcp._server._oauth import OAuth  # not needed without it

    audience = options.oauth_audience or options.url
    if audience is None:
        raise ValueError("--oauth-issuer needs --url, or the audience of its tokens as --oauth-audience")
    return OAuth(options.oauth_issuer, audience, tuple(options.oauth_scopes))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
