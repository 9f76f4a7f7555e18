"""`ShellTool`, the base class of tools that run programs."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tools_core import Effects, Tool, ToolError
from tools_core.files import copied_from, is_read_only, workspace_path
from tools_shell._effects._configuring import configures
from tools_shell._environment import clean_environment
from tools_shell._grants import granted
from tools_shell._guard._repository import layout_of, repository_outside
from tools_shell._redactor import Redactor
from tools_shell._sandbox._choose import git_settings, guarded, isolation_for, network_for
from tools_shell._sandbox._command import Command
from tools_shell._sandbox._run_folder import run_folder
from tools_shell._sandbox._visible import escapes_through, find_program, with_repository
from tools_shell._settings import Sandbox
from tools_shell._workspace import open_workdir, owner_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence
    from typing import TypedDict

    from tools_core import Context
    from tools_shell._effects._commands import Word
    from tools_shell._guard._repository import Layout
    from tools_shell._process._network import Network
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._settings import Level

    class Settings(TypedDict, total=False):
        """The settings of tools that run programs, except the workspace; see `ShellTool`."""

        sandbox: Sandbox | Level | None
        env: Mapping[str, str] | None
        secrets: Iterable[str]


# Modules that calls import. A host that runs as `python agent.py` in its own workspace imports from there first, and a
# command may create a file of such a name, which would run outside the sandbox.
_IMPORTED_EARLY = """
base64 concurrent.futures difflib encodings.idna fcntl glob json logging queue re shutil socket subprocess tempfile
termios textwrap traceback urllib.parse
tools_shell._process._direct tools_shell._process._supervised tools_shell._guard._guard tools_shell._sandbox._probe
"""
_OFFLINE = {"npm_config_fetch_retries": "0"}  # npm would retry silently for minutes without network
_ONE_OWNER = {"TAR_OPTIONS": "--no-same-owner --no-same-permissions"}  # root in a sandbox gives no files away

_CONFINED = ("required", "bubblewrap", "landlock")  # levels that refuse to run a command without a sandbox


class ShellTool(Tool, abstract=True):
    """A tool that runs programs in the workspace, with a developer's settings."""

    destructive = True
    open_world = True
    requires_approval = True
    manages_timeout = True
    tags = ("shell",)

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        sandbox: Sandbox | Level | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        """`root` is the workspace, `env` is added to the clean environment, `secrets` are redacted in output.

        `sandbox` is a level or a Sandbox; by default the level in ASK_TOOLS_ISOLATION, or "sandboxed". With a level,
        the user's grants hold: see `[sandbox]` in the user's settings.
        """
        for name in _IMPORTED_EARLY.split() if os.name == "posix" else ():
            import_module(name)
        self._root = None if root is None else os.fspath(root)
        if not isinstance(sandbox, Sandbox):  # raises for an unknown level
            sandbox = granted(sandbox)
        self._sandbox = sandbox
        self._env = dict(env or {})
        self._secrets = tuple(secrets)
        self._host: Mapping[Any, Any] = {}  # the environment at the last check
        self._clean: Mapping[str, str] = {}
        self._redactor = Redactor()

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:  # noqa: ARG002  (the signature of every tool)
        """Return the usual effects: paths and commands are unknown; approvals depend on the settings."""
        return self._effects(paths=None, commands=None)

    def _effects(
        self,
        *,
        paths: Iterable[str] | None,
        commands: Iterable[Sequence[str | None]] | None,
        reads_only: bool = False,
    ) -> Effects:
        """Return the effects of a command in the sandbox of this tool."""
        annotations = dict(self.annotations)
        if is_confined := self._is_confined():
            annotations["open_world"] = False
        if reads_only:
            annotations |= {"read_only": True, "destructive": False, "open_world": False}
        settings = self._approval_settings()
        return Effects(annotations, paths=paths, commands=commands, settings=settings, confined=is_confined)

    def _is_confined(self) -> bool:
        """Return whether commands run in a sandbox with nothing but the call's workspace to change, and no network."""
        is_ours = type(self).execute.__module__.partition(".")[0] == __name__.partition(".")[0]
        sandbox = self._sandbox
        is_closed = sandbox.level in _CONFINED and not sandbox.network and not sandbox.writable
        return is_ours and is_closed and self._root is None

    def _approval_settings(self) -> dict[str, Any]:
        sandbox = {
            "level": self._sandbox.level,
            "network": self._sandbox.network,
            "readable": sorted(map(str, self._sandbox.readable)),
            "writable": sorted(map(str, self._sandbox.writable)),
            "resources": asdict(self._sandbox.resources),
            "protected": sorted(self._sandbox.protected),
        }
        root = None if self._root is None else os.path.realpath(workspace_path(self._root))
        env = {  # no secrets
            name: hashlib.sha256(value.encode(errors="surrogateescape")).hexdigest()
            for name, value in self._env.items()
        }
        return {"root": root, "sandbox": sandbox, "env": env}

    def diagnose(self) -> Mapping[str, object]:
        """Return the isolation of commands on this machine, its gaps, and the installed programs."""
        import shutil  # only `ask-tools doctor` needs these

        from tools_shell._sandbox._missing_programs import missing_programs

        _check_system()
        place = workspace_path(self._root)
        isolation = isolation_for(self._sandbox, place)
        facts: dict[str, object] = {
            "isolation": isolation.level,
            "isolation_level": self._sandbox.level,
            "not_isolated": list(isolation.missing),
        }
        if self._sandbox.level == "sandboxed" and not isolation.is_sandbox:
            try:
                isolation_for(replace(self._sandbox, level="required"), place)
            except ToolError as reason:
                facts["warnings"] = [f"no sandbox: commands can do what you can do; {reason}"]
        if isolation.is_sandbox and (missing := [*missing_programs(isolation.view.paths)]):
            facts["missing_programs"] = missing
        return {**facts, "programs": {name: shutil.which(name) for name in ("bash", "bwrap")}}

    def redactor(self) -> Redactor:
        """Return a redactor for the named secrets and the secrets of the environment."""
        self._look_at_host()
        return self._redactor

    def _look_at_host(self) -> None:
        # The undecoded mapping of os.environ: decoding it would take a third of the time of a call.
        variables: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
        if variables != self._host:  # cached: it rarely changes
            now = os.environ.copy()
            self._clean = clean_environment(now)
            self._redactor = Redactor(self._secrets, now, self._env)
            self._host = dict(variables)

    @contextmanager
    def prepared(  # noqa: PLR0913  (properties of one command)
        self,
        context: Context,
        workdir: str,
        arguments: Sequence[str],
        *,
        readable: Sequence[str] = (),
        has_stdin: bool = False,
        terminal: bool = False,
        is_lasting: bool = False,
        script: str | None = None,
        commands: Sequence[Sequence[Word]] = (),
    ) -> Generator[Command]:
        """Prepare a command in a folder of the workspace; ToolError if that is not possible or not allowed.

        `readable` are further folders; `is_lasting` is True if the command runs on after the call. `script` is what it
        runs, if that is known, and `commands` are those of a script of plain words: some may write git's configuration.
        An OSError in the `with` block becomes a ToolError.
        """
        _check_system()
        if is_read_only():
            raise ToolError("ASK_TOOLS_READ_ONLY is set: tools can only read files", "denied")
        if "\0" in workdir:
            raise ToolError("workdir must not contain NUL characters", "validation_error")
        sandbox = self._sandbox
        with open_workdir(self._root, context, workdir) as place:
            if sandbox.writable and escapes_through(
                workspace_path(self._root or context.workspace), place.root, sandbox
            ):
                message = "the workspace path goes through a symlink in a writable folder; pass its real path"
                raise ToolError(message, "denied")
            try:
                self._look_at_host()
                home = os.path.realpath(os.path.expanduser("~"))
                layout, copied = layout_of(place.root, home), copied_from(place.root)
                if copied is not None and not layout.directories:
                    readable = [*readable, *repository_outside(copied.original, home)]
                configures = self._configures(commands, layout, place.root)
                sandbox = replace(sandbox, readable=(*sandbox.readable, *readable))
                sandbox = with_repository(sandbox, layout, place.root, script, is_alone=configures)
                isolation = isolation_for(sandbox, place.root)
                hosts = () if isinstance(sandbox.network, bool) else sandbox.network
                network = network_for(isolation, place.root, context.run_id, hosts, is_lasting=is_lasting)
                isolation = self._with_folder(isolation, context, place.root)
                isolation = replace(isolation, hosts=hosts if network is not None else ())
                # In a copy nothing is guarded: a person looks at the changes before they are applied.
                names = frozenset() if copied else sandbox.protected
                options = {"is_lasting": is_lasting, "configures": configures}
                with guarded(isolation, place.root, names, **options) as guarded_isolation:
                    yield Command(
                        arguments=arguments,
                        environment=self._variables(isolation, network, place.root if copied else ""),
                        directory=place.directory,
                        workdir=place.path,
                        isolation=guarded_isolation,
                        resources=sandbox.resources,
                        has_stdin=has_stdin,
                        terminal=terminal,
                        network=network,
                        copy=(place.root, copied) if copied else None,
                    )
            except OSError as error:
                message = f"{arguments[0]} cannot be started: {error.strerror or error}"
                raise ToolError(message, "unavailable") from error

    def _variables(self, isolation: Isolation, network: Network | None, copy: str) -> dict[str, str]:
        """Return the environment of a command."""
        outside = network.variables if network is not None else {}
        offline = {} if isolation.network or outside else _OFFLINE
        owner = _ONE_OWNER if isolation.is_sandbox and os.geteuid() == 0 else {}
        return {**offline, **owner, **outside, **self._clean, **self._env, **({"ASK_TOOLS_COPY": copy} if copy else {})}

    def _with_folder(self, isolation: Isolation, context: Context, root: str) -> Isolation:
        """Return the isolation with the temporary files of the run, if it is a sandbox."""
        if not isolation.is_sandbox:
            return isolation
        folder = run_folder(context.run_id, str(owner_of(context, self._root)), isolation.view.paths)
        folder.write_git_settings(git_settings(isolation, root))
        return replace(isolation, folder=folder)

    def _configures(self, commands: Sequence[Sequence[Word]], layout: Layout, root: str) -> bool:
        """Return whether a script may write the configuration of the workspace's repository."""
        if not commands or not layout.directories:
            return False
        path = {**self._clean, **self._env}["PATH"]
        git = find_program("git", (root, layout.top) if layout.top else (root,))
        return git is not None and configures(commands, git, path, layout.directories)


def _check_system() -> None:
    """Raise ToolError on systems that cannot run commands."""
    if os.name != "posix":
        message = "this tool needs Linux or macOS"
        raise ToolError(message, "unavailable")
