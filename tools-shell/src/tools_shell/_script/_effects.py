"""What a script does to the world, as far as its parts prove it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools_shell._script._commands import judge
from tools_shell._script._names import is_descriptor, is_harmless_setting, is_local_name, splits_input
from tools_shell._script._parts import Expanded
from tools_shell._script._verdict import REACHES_OUT, READS, UNKNOWN, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools_shell._script._parts import Redirection, Script, SimpleCommand

_NOWHERE = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_NETWORK = ("/dev/tcp/", "/dev/udp/")


@dataclass(frozen=True, slots=True)
class Effects:
    """The hints of a call: each True or False where that is certain, else None, to be treated as the dangerous one."""

    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


def effects_of(
    script: Script, *, environment: Mapping[str, str] | None = None, trusts_repositories: bool = False
) -> Effects:
    """Judge a script by its parts.

    It holds for a fresh shell in a clean environment, to which `environment` is added: what an earlier command of
    the same session has changed is not seen here. A name means the program that is first on the PATH. `git` runs
    what the configuration of a repository names, even to show a status: with `trusts_repositories` that is taken
    to be the user's own.
    """
    verdicts = [*_commands(script, trusts_repositories=trusts_repositories), *map(_redirection, script.redirections)]
    verdicts += [_setting(name, value) for name, value in (environment or {}).items()]
    if not script.is_known:
        verdicts.append(UNKNOWN)
    return Effects(
        read_only=_all(verdict.read_only for verdict in verdicts),
        destructive=_any(verdict.destructive for verdict in verdicts),
        open_world=_any(verdict.open_world for verdict in verdicts),
    )


def _all(facts: Iterable[bool | None]) -> bool | None:
    seen = set(facts)
    return False if False in seen else None if None in seen else True


def _any(facts: Iterable[bool | None]) -> bool | None:
    seen = set(facts)
    return True if True in seen else None if None in seen else False


def _commands(script: Script, *, trusts_repositories: bool) -> Iterable[Verdict]:
    for command in script.commands:
        yield judge(command, trusts_repositories=trusts_repositories)
        yield from _assignments(command)


def _assignments(command: SimpleCommand) -> Iterable[Verdict]:
    for each in command.assignments:
        if splits_input(command, each.name):
            continue
        if command.name != "":  # for this command alone, and in its environment
            value = each.value
            yield _setting(each.name, value) if isinstance(value, str) else UNKNOWN
        elif not is_local_name(each.name):
            yield UNKNOWN


def _setting(name: str, value: str) -> Verdict:
    return READS if is_harmless_setting(name, value) else UNKNOWN


def _may_be_network(prefix: str) -> bool:
    """Whether a name that begins so may be `/dev/tcp/host/port`, which is no file."""
    return prefix.startswith(_NETWORK) or any(place.startswith(prefix) for place in _NETWORK)


def _redirection(redirection: Redirection) -> Verdict:
    operator, target = redirection.operator, redirection.target
    if operator in ("<<", "<<-", "<<<"):
        return READS
    if isinstance(target, Expanded):
        if target.text.startswith("<("):
            return READS if operator == "<" else UNKNOWN
        if operator == "<" and not _may_be_network(target.prefix):
            return READS
        return UNKNOWN if operator in ("<", "<&", ">&") else Verdict(False, None, None)
    if target.startswith(_NETWORK):
        return REACHES_OUT
    if operator == "<" or target in _NOWHERE:
        return READS
    if operator in ("<&", ">&") and (is_descriptor(target) or target == "-"):
        return READS
    if operator in ("<>", ">>", "&>>"):
        return Verdict(False, None if operator == "<>" else False, False)
    return Verdict(False, True, False)
