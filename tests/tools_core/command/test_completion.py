"""Completion, as shells call it, and in real shells."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys

import pytest

from tools_core.formats import FORMATS

GET = """
    from tools_core import tool


    @tool
    def get() -> str:
        return __name__
"""


@pytest.fixture
def complete(ask_tools):
    """Return the candidates for the last of the words."""

    def ask(*words, **variables):
        result = ask_tools("__complete", "--", *words, **variables)
        assert (result.code, result.err) == (0, ""), result
        return [line.split("\t")[0] for line in result.out.splitlines()]

    return ask


@pytest.mark.slow
def test_commands_of_all_packages_are_completed(complete, site):
    site.install("tools-serve", {"serve": "configure"}, "raise RuntimeError", group="ask_tools.commands")
    assert complete("") == complete()
    assert {"list", "call", "doctor", "serve"} <= set(complete(""))
    assert complete("s") == ["show", "schema", "skill", "serve"]
    assert complete("completion", "") == ["bash", "zsh", "fish"]
    assert site.imported == []


@pytest.mark.slow
def test_tool_names_are_completed_without_importing_any(complete, site):
    site.install_weather()
    assert complete("call", "r") == complete("show", "r") == complete("list", "r") == ["radar", "rain"]
    assert complete("call", "--json", "r") == complete("call", "--timeout", "5", "r") == ["radar", "rain"]
    assert complete("call", "tools-weather:ra") == ["tools-weather:radar", "tools-weather:rain"]
    assert site.imported == []


@pytest.mark.slow
def test_options_and_their_choices_are_completed(ask_tools, complete, site):
    site.install_weather()
    assert complete("schema", "rain", "--for", "") == list(FORMATS)
    assert complete("schema", "--for", "gemini", "ra") == complete("check", "x", "ra") == ["radar", "rain"]
    assert complete("verify", "--") == ["--help", "--file", "--json"]
    assert complete("lock", "") == complete("verify", "--file", "") == complete("call", "rain", "--args", "") == []
    assert ask_tools("__complete", "--", "call", "--y").out == "--yes\tapprove the call\n"
    assert site.imported == []


@pytest.mark.slow
def test_parameters_are_completed_once_and_with_their_choices(ask_tools, complete, site):
    site.install_weather()
    site.install("tools-a", {"get": "get"}, GET)
    assert complete("call", "forecast", "") == ["city=", "days=", "units="]
    lines = ask_tools("__complete", "--", "call", "forecast", "").out.splitlines()
    assert lines == ["city=\tCity name", "days=\tinteger, default 3", 'units=\t"C" | "F", default "C"']
    assert complete("call", "forecast", "city=Oslo", "--json", "days=1", "") == ["units="]
    assert complete("call", "forecast", "units=") == ["units=C", "units=F"]
    assert complete("call", "forecast", "units=F") == ["units=F"]
    assert complete("call", "forecast", "city=") == []
    assert site.imported == ["tools_weather"]


def test_members_items_and_booleans_are_completed(complete, site):
    source = """
        from typing import TypedDict

        from tools_core import tool


        class Address(TypedDict):
            city: str


        @tool
        def ship(to: Address, fast: bool = False, tags: list[str] | None = None) -> str:
            return ""
    """
    site.install("tools-post", {"ship": "ship"}, source)
    assert complete("call", "ship", "t") == ["to=", "to.city=", "tags="]
    assert complete("call", "ship", "tags=a", "ta") == ["tags="]
    assert complete("call", "ship", "fast=") == ["fast=true", "fast=false"]


def test_an_error_gives_no_candidates(complete, site):
    site.install("tools-bad", {"bad": "get"}, "raise RuntimeError")
    assert complete("call", "bad", "") == complete("call", "absent", "") == complete("absent", "-") == []


def test_choices_with_control_characters_are_not_completed(complete, site):
    source = """
        from typing import Literal

        from tools_core import tool


        @tool
        def get(x: Literal["a\\x1b[2J", "b\\nrm", "c"]) -> str:
            return ""
    """
    site.install("tools-a", {"get": "get"}, source)
    assert complete("call", "get", "x=") == ["x=c"]


@pytest.fixture
def program(environment, tmp_path):
    """Return a script `ask-tools` on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "ask-tools"
    script.write_text(f'#!/bin/sh\nexec {sys._base_executable} -m tools_core "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
    return script


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_and_quotes_the_value_after_the_equals_sign(environment, program, site):
    source = """
        from typing import Literal

        from tools_core import tool


        @tool
        def get(place: Literal["New York", "$(touch owned)"], day: int = 1) -> str:
            return ""
    """
    site.install("tools-a", {"get": "get"}, source)

    def candidates(line):
        script = (
            'eval "$(ask-tools completion bash)"; COMP_LINE=$1 COMP_POINT=${#1}\n'
            'complete -p ask-tools >/dev/null && _ask_tools; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        command = ["bash", "-c", script, "bash", line]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=site.folder)
        return done.stdout.split("\n")[:-1]

    assert candidates("ask-tools sh") == ["show"]
    assert candidates("ask-tools call g") == ["get"]
    assert candidates("ask-tools call tools-a:g") == ["get"]
    assert candidates("ask-tools call get ") == ["place=", "day="]
    assert candidates("ask-tools call get place=") == ["New\\ York", "\\$\\(touch\\ owned\\)"]
    assert candidates("ask-tools call get place=N") == ["New\\ York"]


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(ask-tools completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D; source <(ask-tools completion zsh)"),
    "fish": (["fish", "--no-config", "--interactive"], "ask-tools completion fish | source"),
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes_in_a_real_shell(environment, program, site, tmp_path, on_terminal, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    site.install_weather()
    (tmp_path / "notes.txt").touch()
    # Prints its words, unless a shell asks for candidates.
    question, answer = '[ "${1#*complet}" != "$1" ] && ', "\nprintf '<%s>' \"$@\"; echo\n"
    program.write_text(program.read_text().replace("exec", f"{question}exec") + answer)
    program.chmod(0o755)
    words, setup = SHELLS[shell]
    typed = {
        "ask-tools doc\t": "<doctor>",
        "ask-tools call forec\t": "<call><forecast>",
        "ask-tools call forecast ci\tOslo": "<call><forecast><city=Oslo>",
        "ask-tools call forecast days=1 unit\tF": "<call><forecast><days=1><units=F>",
        "ask-tools call tools-weather:rai\tcity=x": "<call><tools-weather:rain><city=x>",
        "ask-tools call rain city=note\t": "<call><rain><city=notes.txt>",
        "ask-tools call rain --args note\t": "<call><rain><--args><notes.txt>",
    }
    environment |= {"TERM": "dumb", "INPUTRC": "/dev/null"}
    _, output = on_terminal(*words[1:], program=words[:1], typed="\n".join([setup, *typed, "exit\n"]))
    assert [line for line in output.splitlines() if line.startswith("<")] == list(typed.values())
