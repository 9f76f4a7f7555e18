"""Capabilities: the rights of root beyond those of an ordinary user, dropped for good."""

from __future__ import annotations

import errno
import struct

from tools_shell._supervisor._system import capset, gain_nothing, prctl

_PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 24, 28
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_VERSION_3 = 0x20080522  # of what capset takes
_MOST = 64  # capabilities that the kernel's masks have room for
# NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, all locked, and KEEP_CAPS locked as off: user 0 is a number.
_ROOT_IS_NOBODY = 0xEF


def drop_all() -> None:
    """Keep no capability, and see to it that no program can give one back."""
    gain_nothing()
    if _drop_bounding():
        prctl(_PR_SET_SECUREBITS, _ROOT_IS_NOBODY)
    prctl(_PR_CAP_AMBIENT, _CLEAR_ALL)
    capset(struct.pack("<Ii", _VERSION_3, 0), bytes(24))  # effective, permitted and inheritable, in two halves


def _drop_bounding() -> bool:
    """Empty the set that executing a program draws from; False when it cannot, and has no need to."""
    for capability in range(_MOST):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == errno.EINVAL:  # the kernel knows no more
                return True
            if error.errno == errno.EPERM:  # no_new_privs keeps dropped capabilities from coming back
                return False
            raise
    return True
