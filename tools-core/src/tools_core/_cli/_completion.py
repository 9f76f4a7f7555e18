"""`ask-tools completion`: scripts for shells, which call `ask-tools __complete` for candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._terminal import write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

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
  ask-tools completion zsh > _ask-tools
  ask-tools completion fish > ask-tools.fish
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
