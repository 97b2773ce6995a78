#!/usr/bin/env bash
# Builds the extension and puts the library where the addon looks for it.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo >/dev/null || { echo "no Rust toolchain found: install rustup from your system or rustup.rs" >&2; exit 1; }
command -v cc >/dev/null || { echo "no C compiler found for linking: install gcc (apt-get install gcc)" >&2; exit 1; }

# The whole workspace, so that dependencies have the same features in every command and are
# compiled once.
cargo build --release --workspace --quiet

case "$(uname -s)" in
    Linux) built=libgodot_mcp_extension.so installed="libgodot_mcp.linux.$(uname -m | sed 's/aarch64/arm64/').so" ;;
    Darwin) built=libgodot_mcp_extension.dylib installed=libgodot_mcp.macos.universal.dylib ;;
    *) echo "build on $(uname -s) is done by the release workflow" >&2; exit 1 ;;
esac
target="$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')"
mkdir -p addons/godot_mcp/bin
# A new file rather than an overwritten one: a running editor keeps the old one mapped.
cp "$target/release/$built" "addons/godot_mcp/bin/.$installed.part"
mv "addons/godot_mcp/bin/.$installed.part" "addons/godot_mcp/bin/$installed"
