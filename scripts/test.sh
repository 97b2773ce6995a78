#!/usr/bin/env bash
# All tests. `make test` has built the addon before.
set -euo pipefail
cd "$(dirname "$0")/.."

godot="$(scripts/godot.sh path)"
echo "Testing with Godot $("$godot" --version)"
export GODOT="$godot"
# The place of a panic says enough, and some tests panic on purpose.
export RUST_BACKTRACE=0
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
# One test binary after the other: each live one runs editors of its own, on two cores.
if ! cargo test --release --workspace --no-fail-fast --quiet "$@" -- --test-threads=1 --nocapture 2>&1 |
    tee "$log"; then
    echo "Panics of this run, expected ones included:"
    grep -A 12 "panicked at" "$log" | cut -c 1-2000 | tail -n 200
    grep -A 8 "^failures:" "$log" || true
    exit 1
fi
