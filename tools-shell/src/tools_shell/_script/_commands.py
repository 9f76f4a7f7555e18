"""What single commands do: a table of those that only read, and of those that certainly do more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._script._find import find_reads
from tools_shell._script._git import git_reads, git_writes
from tools_shell._script._languages import awk_reads, sed_reads
from tools_shell._script._names import is_harmless_setting, is_local_name, words
from tools_shell._script._options import harmless, is_harmless, may_be_option
from tools_shell._script._parts import Expanded
from tools_shell._script._verdict import REACHES_OUT, READS, UNKNOWN, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_shell._script._parts import SimpleCommand, Word

_VERSIONED = words(
    "cc clang cmake cpp date find g++ gcc git jq make node perl python python3 rg ruby sed sort tar tree"
)
# None of their options writes, runs a program or reaches out (GNU, BSD and busybox).
_READING = words("""
    : [ [[ b2sum base32 basename break cal cat cd cksum cmp column comm continue cut df diff dir dirname
    dirs du echo egrep exit expand expr factor false fgrep fmt fold free grep groups head hexdump id join locale logname
    ls lsblk lscpu md5sum nl nproc numfmt od paste pathchk pgrep pidof popd pr printenv ps pushd pwd readlink realpath
    return rev seq set sha1sum sha224sum sha256sum sha384sum sha512sum shift sleep stat sum tac tail test times tr true
    tsort tty type uname unexpand uptime users vdir wait wc which who whoami yes
""")
# What they run is judged by itself.
_TRANSPARENT = words("ash bash builtin command dash env eval exec nice sh stdbuf time timeout xargs")
_WITH_OPTIONS = {
    "base64": harmless("di", "w", "decode wrap="),  # that of macOS and FreeBSD has one for a file to write to
    "bzcat": harmless(),
    "file": harmless("bhiLkN", "", "brief mime mime-type mime-encoding dereference"),
    "hostname": harmless("sI", "", "short all-ip-addresses", operands=0),  # another operand would be the new one
    "jq": harmless("rcnsSeMCajR", "", "raw-output compact-output null-input slurp sort-keys exit-status raw-input"),
    "rg": harmless(
        "nilLcvwxsSFPUoHIuNahp0",
        "egtTABCmjM",
        "column context= count files files-with-matches fixed-strings glob= heading hidden ignore-case iglob= json"
        " line-number max-columns= max-count= max-depth= multiline no-config no-filename no-heading no-ignore"
        " no-line-number no-messages only-matching smart-case sort= stats trim type= vimgrep with-filename word-regexp",
    ),
    "sort": harmless(
        "bdfghinrRVMcCmsuz",
        "kt",
        "check field-separator= human-numeric-sort ignore-case key= numeric-sort reverse stable unique version-sort"
        " zero-terminated",
    ),
    "shuf": harmless("eznr", "ni", "echo head-count= input-range= repeat zero-terminated"),
    "tree": harmless("adfinsphugDFqNCt", "LIP", "dirsfirst noreport gitignore prune", is_apart=True),
    "uniq": harmless("cdDiuz", "fsw", "count repeated unique ignore-case zero-terminated", operands=1),
    "xxd": harmless("pubai", "lscg", operands=1, is_apart=True),
    "xzcat": harmless(),
    "zcat": harmless(),
}
_DESTROYING = words("""
    chgrp chmod chown cp dd fallocate install kill killall ln mkfs mv pkill rm rmdir shred tee truncate unlink
""")
_ADDING = frozenset(("mkdir", "mkfifo", "touch"))
_DISTANT = words("""
    aria2c curl dig ftp host nc ncat netcat nslookup ping rsync scp sftp ssh telnet traceroute wget whois
""")
_PLACES = ("/bin", "/usr/bin")  # of the system's programs


def judge(command: SimpleCommand, *, trusts_repositories: bool) -> Verdict:
    """What a command does, without those that it runs and the files that it is redirected to."""
    if command.name is None:
        return UNKNOWN
    place, _, name = command.name.rpartition("/")
    if place and place not in _PLACES:
        return UNKNOWN
    if name in ("", *_TRANSPARENT) or _reads(name, command.arguments):
        return READS
    if name == "git":
        if trusts_repositories and git_reads(command.arguments):
            return READS
        return git_writes(command.arguments)
    if name in _DESTROYING:
        return Verdict(False, True, False)
    if name in _ADDING:
        return Verdict(False, False, False)
    return REACHES_OUT if name in _DISTANT else UNKNOWN


def _reads(name: str, arguments: Sequence[Word]) -> bool:
    if name in _READING or (name in _VERSIONED and arguments == ("--version",)):
        return True
    if name in _WITH_OPTIONS:
        return is_harmless(arguments, _WITH_OPTIONS[name])
    reads = _JUDGES.get(name)
    return reads is not None and reads(arguments)


def _sets_local_names(arguments: Sequence[Word]) -> bool:
    return all(map(_is_option_or_local, arguments))


def _is_option_or_local(word: Word) -> bool:
    if isinstance(word, Expanded):
        return "=" in word.prefix and is_local_name(word.prefix.partition("=")[0])
    return word.startswith("-") or is_local_name(word.partition("=")[0])


def _export(arguments: Sequence[Word]) -> bool:
    settings = (word.partition("=") if isinstance(word, str) else ("", "", "") for word in arguments)
    return all(is_harmless_setting(name, value) for name, _, value in settings)


def _printf(arguments: Sequence[Word]) -> bool:
    return arguments[:1] != ("-v",) or _sets_local_names(arguments[1:2])


def _date(arguments: Sequence[Word]) -> bool:
    """Another operand would set the clock."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-d", "-r") and rest and isinstance(rest[0], str):
            rest.pop(0)
        elif not isinstance(word, str) or not (
            word in ("-u", "-R") or word.startswith(("+", "-I", "--date=", "--iso"))
        ):
            return False
    return True


def _tar(arguments: Sequence[Word]) -> bool:
    """Whether it lists an archive, as in `tar tzf x.tgz`; behind a colon its name is one on another machine."""
    letters, archive = (*arguments, "", "")[:2]
    is_listing = isinstance(letters, str) and set("tf") <= set(letters.removeprefix("-")) <= set("tvzjJf")
    is_here = isinstance(archive, str) and ":" not in archive
    return is_listing and is_here and not any(map(may_be_option, arguments[1:]))


_JUDGES: dict[str, Callable[[Sequence[Word]], bool]] = {
    "awk": awk_reads,
    "date": _date,
    "declare": _sets_local_names,
    "export": _export,
    "find": find_reads,
    "gawk": awk_reads,
    "local": _sets_local_names,
    "mapfile": _sets_local_names,
    "mawk": awk_reads,
    "printf": _printf,
    "read": _sets_local_names,
    "readarray": _sets_local_names,
    "readonly": _sets_local_names,
    "sed": sed_reads,
    "tar": _tar,
    "typeset": _sets_local_names,
    "unset": _sets_local_names,
}
