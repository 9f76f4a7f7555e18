"""What `git` does, by its sub-command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._script._names import words
from tools_shell._script._options import may_be_option
from tools_shell._script._parts import Expanded
from tools_shell._script._verdict import REACHES_OUT, UNKNOWN, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._script._parts import Word

_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"))
_READING = words("""
    blame cat-file count-objects describe diff diff-files diff-index diff-tree for-each-ref grep log ls-files ls-tree
    merge-base name-rev rev-list rev-parse shortlog show show-ref status
""")
# These write when they are given more: the whole of what may stand behind them.
_LISTING = {
    "branch": ("--all", "--list", "--remotes", "--show-current", "--verbose", "-a", "-r", "-v", "-vv", "-av", "-avv"),
    "reflog": (),
    "remote": ("-v", "--verbose"),
    "tag": ("--list", "-l"),
    "version": (),
}
_DESTROYING = frozenset(("checkout", "clean", "gc", "prune", "rebase", "reset", "restore", "rm", "stash", "switch"))
_WRITING = frozenset(("add", "am", "apply", "commit", "init", "merge", "mv", "cherry-pick", "revert"))
_DISTANT = frozenset(("clone", "fetch", "ls-remote", "pull", "push"))
# `--output` writes and `--ext-diff` runs, and both may be abbreviated: so only these.
_LONG = words("""
    abbrev abbrev-commit abbrev-ref after all always author before binary branch branches cached check color contains
    count date date-order deleted decorate diff-filter dirty exact-match exclude-standard files-with-matches
    find-renames first-parent fixed-strings follow full-history full-index git-dir graph grep histogram ignore-all-space
    ignore-case ignore-space-change ignored is-inside-work-tree left-right line-number long max-count merges minimal
    modified name-only name-status no-abbrev no-color no-decorate no-ext-diff no-merges no-patch no-renames no-textconv
    numstat oneline others patch patience porcelain quiet raw relative remotes reverse short shortstat show-toplevel
    since skip sort staged stat summary symbolic-full-name tags topo-order unified until untracked-files verify
    word-diff word-regexp
""")


def git_reads(arguments: Sequence[Word]) -> bool:
    """Whether it only shows something, in a repository whose configuration is trusted."""
    name, rest = _split(arguments)
    if name == "stash":
        return rest == ["list"]
    if name in _LISTING:
        return all(word in _LISTING[name] for word in rest)
    return name in _READING and all(map(_is_harmless, _options(rest)))


def git_writes(arguments: Sequence[Word]) -> Verdict:
    """What it does where it is not certain to only show something."""
    name, rest = _split(arguments)
    if name == "stash" and rest[:1] in (["list"], ["show"]):
        return UNKNOWN
    if name in _DESTROYING:
        return Verdict(False, True, None)
    if name in _WRITING:
        return Verdict(False, None, None)
    return REACHES_OUT if name in _DISTANT else UNKNOWN


def _split(arguments: Sequence[Word]) -> tuple[str, list[Word]]:
    """The sub-command, empty where it is not clear, and what follows it."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if isinstance(word, Expanded):
            break
        if word == "-C" and rest and isinstance(rest[0], str):
            rest.pop(0)
        elif not word.startswith("-"):
            return word, rest
        elif word not in _BEFORE:
            break
    return "", []


def _options(rest: list[Word]) -> list[Word]:
    end = rest.index("--") if "--" in rest else len(rest)
    return [word for word in rest[:end] if may_be_option(word)]


def _is_harmless(option: Word) -> bool:
    if isinstance(option, Expanded):
        return False
    if not option.startswith("--"):
        return "O" not in option  # `grep -O` opens a pager; an upper-case O in a value is rare
    name, _, value = option[2:].partition("=")
    # `%G`, `%+G` and `%(signature)` ask a program about a signature.
    asks = "G" in value or "signature" in value
    return name in _LONG or (name in ("format", "pretty") and not asks and bool(value))
