"""The language that a session's bash is driven in: lines for its prompt, and the answers that it gives to them.

The shell is an interactive one that takes no notice of its terminal. So an interrupt, an unbound variable or a syntax
error gives up what is being run and comes back to the prompt, where any other shell would end. What drives it are lines
of input and no loop inside of it: there are no variables that code could overwrite, and no `set` or `trap` gets in
between for good.
"""

from __future__ import annotations

from typing import NamedTuple

_TOP = 80  # a script may lower the limit on open files; and those that scripts name are below 10, or 99, 100 and 200
_COUNT = 4

# Octal for all that is not plain: then neither the locale nor the reading line by line can change anything.
_QUOTED = {code: f"\\{code:03o}" for code in (*range(32), *b"'\\", *range(127, 256))}

# More than any bash reads in advance: once it has read all of this, it has carried out what was before it.
PROBE = b" " * 8191 + b"\n"

BEGUN = b"begun"  # what a shell that can be driven says first, and before each script


class Descriptors(NamedTuple):
    """The numbers by which the shell knows what code must not see."""

    stdin: int
    stdout: int
    stderr: int
    answers: int


class Answer(NamedTuple):
    """What the shell says once code has come to its end."""

    exit_code: int | None  # None when the code has made it unreadable
    options: str  # those that are set, as in $-


def descriptors(open_files: int | None, taken: set[int]) -> Descriptors:
    """Numbers that scripts hardly use, below the limit on open files, and none of those that are `taken`."""
    first = min(_TOP, open_files or _TOP) - _COUNT
    while taken & set(range(first, first + _COUNT)):
        first -= _COUNT
    return Descriptors(*range(first, first + _COUNT))


def start(shell: str, known: Descriptors, stdin: int, answers: int, terminal: int) -> list[str]:
    """The arguments of a shell that reads lines from its standard input; it is given three more descriptors.

    A terminal it must find when it starts, since it complains after every child that a signal ends when it has none.
    """
    moves = (
        f"{known.stdin}<&{stdin} {known.stdout}>&1 {known.stderr}>&2 {known.answers}>&{answers} "
        f"1>/dev/null 2>&{terminal} {stdin}<&- {answers}>&- {terminal}>&-"
    )
    return [shell, "-c", f'exec "$0" --noprofile --norc --noediting -i {moves}', shell]


def begin(known: Descriptors) -> bytes:
    """The first line: no prompts, no history, and nothing goes to the terminal, since nobody reads that.

    Bash would save its history, this line at the least, in a file of the user's when a signal ends it. Should a script
    want one, it has none of our lines, since they begin with a blank.
    """
    no_history = b"history -c; HISTFILE= HISTCONTROL=ignorespace; set +o history +H"
    return b"exec 2>/dev/null; PS1= PS2= PS0=; %s; echo %s >&%d\n" % (no_history, BEGUN, known.answers)


def ask(nonce: bytes, known: Descriptors) -> bytes:
    """The line that has an answer given; it is read after the code has ended, which so is not shown the nonce."""
    return b' \\builtin printf \'%s %%s %%s %%s\\n\' "$?" "${PIPESTATUS}" "$-" >&%d\n' % (nonce, known.answers)


def run(script: bytes, known: Descriptors, before: Answer, *, has_stdin: bool) -> bytes:
    """The lines that run `script` in the shell itself, with streams of its own and without the descriptors of ours.

    It is one line that says first that it is run: a program in PROMPT_COMMAND, say, might read it in place of the
    shell. The `!` keeps a last command that fails from ending the shell under `set -e`, or from running the trap on
    ERR, once more; what the code itself does is not changed by it.
    """
    streams = f"<&{known.stdin}" if has_stdin else "</dev/null"
    closed = " ".join(f"{number}>&-" for number in known)
    quoted = script.decode("latin-1").translate(_QUOTED)
    line = f"! \\builtin eval $'{quoted}' {streams} >&{known.stdout} 2>&{known.stderr} {closed}\n"
    return b" \\builtin printf '%s ' >&%d; " % (BEGUN, known.answers) + _status(before) + line.encode()


def _status(before: Answer) -> bytes:
    """What gives `$?` its value of before, which costs a process; not where that could do harm."""
    if not before.exit_code or "e" in before.options:
        return b""
    return b"if [[ -z $(\\builtin trap -p ERR) ]]; then (\\builtin exit %d); fi; " % before.exit_code


def find(heard: bytes | bytearray, nonce: bytes) -> Answer | None:
    """The answer with this nonce, whatever is around it; None if it is not there yet."""
    at = heard.find(nonce + b" ")
    end = heard.find(b"\n", at)
    if at < 0 or end < 0:
        return None
    told = bytes(heard[at + len(nonce) + 1 : end]).decode("latin-1").split(" ")
    if len(told) != 3:
        return Answer(None, "")
    outer, inner, options = told
    # Of code that has ended the outer one is the opposite of the inner one; more than that says what has broken it off.
    code = outer if outer not in {"0", "1"} else inner
    return Answer(int(code) if code.isdecimal() else None, options)
