#!/usr/bin/env bash
# Runs the official MCP conformance suite.
#
#   scripts/conformance.sh              both requirement sets, against the test-only tool pack
#   scripts/conformance.sh URL ARGS...  the suite's `server` command with these arguments
#
# Fails when a check fails that the requirement set scores. What it does not score (extensions that
# this server does not have, scenarios that the suite itself calls pending) is run and shown.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=$(scripts/third_party.sh conformance)
PATH=$(scripts/third_party.sh node):$PATH

run() {
    local url=$1
    shift
    # No folder of results is asked for, so the suite writes none.
    node "$suite" server --url "$url" "$@"
}

if [[ $# -gt 0 ]]; then
    run "$@"
    exit
fi

cargo build --release --workspace --quiet
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# It ends with its standard input, which is this script's end of a pipe.
coproc SERVER { "$target/release/conformance_server"; }
read -r url <&"${SERVER[0]}"
for revision in 2025-11-25 2026-07-28; do
    run "$url" --requirements "$revision"
done
