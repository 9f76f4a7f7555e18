#!/usr/bin/env bash
# Usage: demo.sh ENVIRONMENT
# List, call and generate tools. The demo writes to a temporary folder and restores ENVIRONMENT.
set -euo pipefail
bin=$(cd "$1/bin" && pwd)
workspace=$(mktemp -d)
made=""

finish() {
    if [ -n "$made" ]; then "$bin/python" -m pip uninstall --quiet --yes "$made" || true; fi
    rm -rf "$workspace"
}
trap finish EXIT

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold="" plain=""; fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
show() { # print a command as a user types it, then run it
    local word line=""
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./=:-]*) line+=" '$word'" ;;
            *) line+=" $word" ;;
        esac
    done
    printf '%s$%s%s\n' "$bold" "$line" "$plain"
    "$@" 2>&1
}
export PATH="$bin:$PATH" PYTHONDONTWRITEBYTECODE=1
export PIP_CONSTRAINT=$PWD/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
cd "$workspace"

say "Installing a package registers its tools. Listing them imports nothing:"
show ask-tools list

say "Any tool can be called without a model:"
printf 'buy milk\n' >notes.txt
show ask-tools call read_file path=notes.txt
show ask-tools call bash command='echo "hello from $0"' --yes

say "An invalid call is answered with what would work:"
show ask-tools call read_file pth=notes.txt || echo "(exit code $?)"

say "A tool of your own is a typed function:"
cat >first.py <<'PYTHON'
from typing import Annotated, Literal

from tools_core import tool


@tool
def greet(name: Annotated[str, "Name of the person"], language: Literal["en", "no"] = "en") -> str:
    """Greet a person by name."""
    return f"{'Hello' if language == 'en' else 'Hei'}, {name}!"


print(greet("Ada"))
print(greet.call({"name": "Ada", "language": "no"}))
print(greet.call({"nam": "Ada", "language": "fr"}).error)
PYTHON
show cat first.py
show python first.py

say "One command generates a package to share:"
show ask-tools new weather --params 'city:str "Name of the city"'
made=$(basename "$(dirname "$(echo "$workspace"/*/pyproject.toml)")")
cd "$made"
show python -m pip install --quiet --no-build-isolation .

say "Installing it registers its tool:"
show ask-tools list
tool=$(python -c '
import tomllib
points = tomllib.load(open("pyproject.toml", "rb"))["project"]["entry-points"]["ask_tools.tools"]
print(next(iter(points)))')
show ask-tools show "$tool"
show ask-tools call "$tool" city=Oslo

say "Its tests pass:"
show python -m pytest -q

mkdir "$workspace/office"
cd "$workspace/office"
cp ../notes.txt ../first.py .
export ASK_TOOLS_SESSIONS=$workspace/sessions XDG_CONFIG_HOME=$workspace XDG_STATE_HOME=$workspace
export XDG_CACHE_HOME=$workspace/cache
say "An agent calls the installed tools; this one follows a script, and needs no key. What changes files is asked about:"
show ask-tools run "Look around" --model scripted:demo --session tidy </dev/null || echo "(exit code $?)"

say "Its session goes on in another process, with the call approved:"
show ask-tools run --session tidy --yes
show ask-tools sessions list

say "MCP clients such as Claude Code can use the tools, too:"
HOME=$workspace show ask-tools mcp install claude-code --dry-run

mkdir "$workspace/desk"
cd "$workspace/desk"
printf '# Notes\n\nbuy milk\n' >notes.md
printf 'milk,2\n' >budget.csv
printf 'old\n' >draft.bak
say "A preview runs the agent in a copy of the folder. This one edits a file, and a command deletes one file too many:"
show ask-tools run "Tidy this folder" --model scripted:demo --mode preview --yes --session desk </dev/null
show ls

say "Look at what really changed, apply the good part, and undo it:"
show ask-tools changes
show ask-tools apply notes.md draft.bak
show ls
show ask-tools undo
show ls
show ask-tools changes --discard

say "Kill a run in the middle:"
echo "\$ ask-tools run 'Tidy this folder' --model scripted:demo --mode preview --yes --session killed & kill -9 \$!"
ask-tools run "Tidy this folder" --model scripted:demo --mode preview --yes --session killed >../output 2>&1 </dev/null &
until grep --quiet "→ list" ../output || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -9 $! 2>/dev/null || true
wait $! 2>/dev/null || echo "(exit code $?)"
cat ../output

say "The session continues, and finished calls are not repeated. The folder is unchanged until you apply:"
show ask-tools run --session killed --mode preview --yes </dev/null
show ls
show ask-tools apply

say "That is all. Next: README.md, and make test."
