"""The filter of system calls: a program for the kernel's packet filter, made by hand for each architecture."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from typing import TYPE_CHECKING

from tools_shell._supervisor import _syscalls
from tools_shell._supervisor._syscalls import AARCH64, HIGHEST, NUMBERS, WORD, X86_64, Rule, Test
from tools_shell._supervisor._system import prctl

if TYPE_CHECKING:
    from collections.abc import Iterable

_ARCHITECTURES = {X86_64: 0xC000003E, AARCH64: 0xC00000B7}  # as the kernel's audit numbers them
_LOAD, _AND, _RETURN, _JUMP = 0x20, 0x54, 0x06, 0x05
_IF_EQUAL, _IF_GREATER = 0x15, 0x25
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in what the kernel shows: struct seccomp_data
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def program(*, network: bool, own_namespaces: bool = False, truncation: bool = False, arch: str | None = None) -> bytes:
    """The filter as the kernel reads it; OSError for an architecture that is not known here.

    With `own_namespaces` the command has processes, shared memory and network interfaces of its own, so that reaching
    others by their numbers need not be refused. With `truncation` files cannot be emptied but by opening them for
    writing, for kernels whose Landlock does not see to that.
    """
    machine = arch or platform.machine()
    if machine not in NUMBERS:
        raise OSError(errno.ENOSYS, f"no system call filter for {machine}; there are {', '.join(NUMBERS)}")
    numbers = NUMBERS[machine]
    names, rules = _refused(network=network, own_namespaces=own_namespaces, truncation=truncation)
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_IF_EQUAL, _ARCHITECTURES[machine], then=1),
        _step(_RETURN, _KILL),  # 32-bit programs have other numbers for the same calls
        _step(_LOAD, _NUMBER),
        *_answer_if(_IF_GREATER, [HIGHEST], errno.ENOSYS),  # those of the x32 ABI are above, too
        *_answer_if(_IF_EQUAL, [numbers[name] for name in _syscalls.ABSENT], errno.ENOSYS),
        *_answer_if(_IF_EQUAL, [numbers[name] for name in names if name in numbers], errno.EPERM),
    ]
    for rule in rules:
        if rule.name in numbers:
            body = _body(rule)
            code += [_step(_IF_EQUAL, numbers[rule.name], otherwise=len(body)), *body]
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _refused(*, network: bool, own_namespaces: bool, truncation: bool) -> tuple[list[str], list[Rule]]:
    names = list(_syscalls.NEVER)
    rules = [*_syscalls.ALWAYS, *_syscalls.opening(truncation=truncation)]
    if truncation:
        names.append("truncate")
    if own_namespaces:
        rules.append(_syscalls.families(unix=True))
        return names, rules
    names += _syscalls.SHARED_MEMORY
    rules += [*_syscalls.OTHERS, _syscalls.PAIRS]
    if network:
        # Sockets of this machine are out: by their path one asks the container engine, the key agent or the desktop to
        # act outside, and Landlock has no say in that.
        rules.append(_syscalls.families(unix=False))
    else:
        names += _syscalls.SOCKETS  # Landlock refuses TCP alone, and no datagrams
    return names, rules


def _step(operation: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", operation, then, otherwise, value)


def _answer_if(test: int, values: Iterable[int], error: int) -> list[bytes]:
    """Give `error` when the number passes the test with any of the values."""
    known = sorted(set(values))
    tests = [_step(test, value, then=len(known) - place) for place, value in enumerate(known)]
    return [*tests, _step(_JUMP, 1), _step(_RETURN, _ERROR | error)]


def _body(rule: Rule) -> list[bytes]:
    """Decide about one call; both ways it ends the program."""
    refuse = _step(_RETURN, _ERROR | errno.EPERM)
    code = []
    for alternative in rule.alternatives:
        block = [refuse]
        for test in reversed(alternative):  # from the end, since each jumps over what follows when it fails
            block = [*_check(test, len(block)), *block]
        code += block
    return [*code, _step(_RETURN, _ALLOW)]


def _check(test: Test, rest: int) -> list[bytes]:
    # Only the lower half: the kernel itself ignores the upper one of these arguments, whatever it holds.
    load = [_step(_LOAD, _ARGUMENTS + 8 * test.argument)]
    if test.mask != WORD:
        load.append(_step(_AND, test.mask))
    failed = {"otherwise": rest} if test.equal else {"then": rest}
    return [*load, _step(_IF_EQUAL, test.value, **failed)]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def install(filter_program: bytes) -> None:
    """Bind this process and all that it starts to the filter; it must not be able to gain rights (no_new_privs)."""
    given = _Program(len(filter_program) // 8, filter_program)
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(given))
