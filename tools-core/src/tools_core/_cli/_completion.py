"""`ask-tools completion`: scripts for shells, and the candidates that these scripts ask for."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator

from tools_core._cli._commands import BUILT_IN, external, sub_command, summary_of
from tools_core._cli._output import CommandError, json_text, one_line, write
from tools_core._cli._schema_text import choices, parameters, schema_at, split_key
from tools_core._cli._tools import discovered, load_tool

_BASH = r"""# bash: eval "$(ask-tools completion bash)"    (in ~/.bashrc)
_ask_tools() {
    local line="${COMP_LINE:0:COMP_POINT}" candidate
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local last=$((${#words[@]} - 1))
    local current="${words[last]}"
    # readline begins a new word after each = and :, and expects only that part
    local kept="${current%"${current##*[=:]}"}"
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
        printf -v candidate %q "${candidate#"$kept"}"
        COMPREPLY+=("$candidate")
    done < <("${words[0]/#\~/$HOME}" __complete -- "${words[@]:1}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 0 && ($current == *=* || ${words[last - 1]} == --*) ]]; then
        compopt -o default 2>/dev/null # the names of files
    fi
}
complete -F _ask_tools ask-tools
"""

_ZSH = r"""#compdef ask-tools
# zsh: source <(ask-tools completion zsh)    (in ~/.zshrc, after compinit)
_ask_tools() {
    local line name about
    local -a open closed
    local -a given=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    for line in "${(@f)$("${(Q)words[1]}" __complete -- "${given[@]}" 2>/dev/null)}"; do
        [[ -z $line ]] && continue
        name="${${line%%$'\t'*}//:/\\:}" about="${line#*$'\t'}"
        [[ -n $about ]] && about=":$about"
        if [[ $name == *= ]]; then open+=("$name$about"); else closed+=("$name$about"); fi
    done
    (( $#closed )) && _describe 'argument' closed
    (( $#open )) && _describe 'parameter' open -S ''
    if (( ! $#open && ! $#closed )) && [[ $PREFIX == *=* || $words[CURRENT-1] == --* ]]; then
        compset -P '*='
        _files
    fi
}
if [[ $funcstack[1] == _ask_tools ]]; then _ask_tools "$@"; else compdef _ask_tools ask-tools; fi
"""

_FISH = r"""# fish: ask-tools completion fish > ~/.config/fish/completions/ask-tools.fish
function __ask_tools_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l found ($program __complete -- $words "$current" 2>/dev/null)
    set -l key (string match --regex -- '^[^=]*=' "$current")
    if test (count $found) -gt 0
        printf '%s\n' $found
    else if test -n "$key"; or string match --quiet -- '--*' "$words[-1]"
        for path in (__fish_complete_path (string replace -- "$key" '' "$current"))
            printf '%s%s\n' "$key" "$path"
        end
    end
end
complete --command ask-tools --no-files --arguments '(__ask_tools_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}

_EPILOG = """\
Completes commands, options, tools, parameters of tools, and choices.

examples:
  eval "$(ask-tools completion bash)"
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `completion`."""
    parser.epilog = _EPILOG
    parser.add_argument("shell", metavar="SHELL", choices=SCRIPTS, help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the script; its first line shows how to install it."""
    write(SCRIPTS[options.shell])
    return 0


def complete(words: list[str]) -> int:
    """Print the candidates for the last of `words`, each on a line with its description after a tab."""
    *before, current = words or [""]
    try:
        for text, description in _candidates(before, current):
            # A script reads one candidate per line, and a shell shows it.
            if text.startswith(current) and text.isprintable():
                sys.stdout.write(f"{text}\t{one_line(description)}\n")
    except CommandError:  # such as an unknown tool: there are no candidates
        pass
    return 0


def _candidates(before: list[str], current: str) -> Iterable[tuple[str, str]]:
    """Return words that may follow, each with its description."""
    if not before:
        return _commands()
    command, *words = before
    parser = sub_command(command)
    options = {name: action for name, action in parser._option_string_actions.items() if name.startswith("--")}
    if current.startswith("-"):
        return [(name, action.help or "") for name, action in options.items()]
    names: list[str] = []
    option = None  # that takes the next word
    for word in words:
        if option is None and not word.startswith("-"):
            names.append(word)
        option = options[word] if word in options and options[word].nargs != 0 else None
    if option is None and command == "call" and names:
        return _parameters(names[0], names[1:], current)
    if option is None and command in ("call", "check", "list", "schema", "show"):
        return _tools(qualified=":" in current)
    action = option or next(iter(parser._get_positional_actions()[len(names) :]), None)
    # Without choices, a shell proposes the names of files.
    return [(str(choice), "") for choice in action.choices or ()] if action else ()


def _commands() -> Iterator[tuple[str, str]]:
    for name, (_, summary) in BUILT_IN.items():
        yield name, summary
    for entry in external():
        yield entry.name, summary_of(entry)


def _tools(*, qualified: bool) -> Iterator[tuple[str, str]]:
    registry = discovered()
    for name in registry:
        point = registry.origin(name)
        if point is not None:
            text = f"{point.distribution}:{name}" if qualified and ":" not in name else name
            yield text, f"from {point.distribution}"


def _parameters(name: str, words: list[str], current: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a tool that have no argument yet, or the choices for the last one."""
    root = load_tool(name).definition["input_schema"]
    key, equals, _ = current.partition("=")
    if equals:
        for choice in choices(schema_at(split_key(key, root, root), root), root):
            yield f"{key}={choice if isinstance(choice, str) else json_text(choice, pretty=False)}", ""
        return
    used = {word.partition("=")[0].rstrip(":") for word in words}
    for parameter, kind, presence, description in parameters(root, root):
        if parameter not in used or "array" in kind:
            yield f"{parameter}=", description or f"{kind}, {presence}"
