#!/usr/bin/env bash
# Usage: tests/as_user.sh PYTHON [ARGUMENTS]
# Run pytest as an ordinary user, if root runs this. In a mount namespace, since root's home is closed to others: there
# it is empty but for the checkout and the Python.
set -euo pipefail
python=$PWD/$1
shift
if [ "$(id -u)" -ne 0 ]; then
    echo "Not root: the other tests run as an ordinary user already."
    exit 0
fi
if ! unshare --mount true 2>/dev/null; then
    echo "This system does not allow mount namespaces."
    exit 0
fi
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
chown 65534:65534 "$home"

# shellcheck disable=SC2016  # expanded by the inner shell
unshare --mount --propagation private bash -euc '
    home=$1 python=$2
    shift 2
    shown=$(mktemp -d)
    paths=("$PWD" "$("$python" -c "import sys; print(sys.base_prefix)")")
    for number in "${!paths[@]}"; do
        mkdir "$shown/$number"
        mount --bind "${paths[number]}" "$shown/$number"
    done
    mount -t tmpfs -o mode=755 tmpfs /root
    for number in "${!paths[@]}"; do
        if [[ ${paths[number]} == /root/* ]]; then
            mkdir -p "${paths[number]}"
            mount --bind "$shown/$number" "${paths[number]}"
        fi
    done
    cd "$PWD"
    exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all env -i \
        HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 CI="${CI-}" PYTHONDONTWRITEBYTECODE=1 \
        HYPOTHESIS_STORAGE_DIRECTORY="$home/hypothesis" \
        "$python" -m pytest -o cache_dir="$home/cache" --basetemp="$home/tests" "$@"
' bash "$home" "$python" "$@"
