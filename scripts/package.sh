#!/usr/bin/env bash
# Packs this machine's platform: what `make package` does. The release workflow packs all of them.
#
#   PROFILE=release scripts/package.sh   with the build that the tests use: bigger, made in no time
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${PROFILE:-dist}
out=${OUT:-dist}
system=$(uname -s)
[[ $system == Linux ]] || { echo "packing on $system is done by the release workflow" >&2; exit 1; }
platform=linux.$(uname -m | sed 's/aarch64/arm64/')

if [[ $profile == dist ]]; then
    echo "Building in full optimization; this takes some minutes on two cores." >&2
    # With the other crate type, too, Cargo would not optimize across crates.
    cargo rustc --profile dist --package godot-mcp-extension --lib --crate-type cdylib
    cargo build --profile dist --package godot-mcp-cli
else
    cargo build --profile "$profile" --workspace --quiet
fi
target="$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
mkdir "$built/$platform"
for file in libgodot_mcp_extension.so godot-mcp; do
    strip -o "$built/$platform/$file" "$target/$profile/$file"
done
python3 scripts/package.py --libraries "$built" --out "$out"
