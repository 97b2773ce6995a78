#!/usr/bin/env bash
# All tests. `make test` has built the addon before.
set -euo pipefail
cd "$(dirname "$0")/.."

godot="$(scripts/godot.sh path)"
echo "Testing with Godot $("$godot" --version)"
export GODOT="$godot"
# One test binary after the other: each live one runs editors of its own, on two cores.
cargo test --release --workspace --no-fail-fast --quiet "$@" -- --test-threads=1 --nocapture
