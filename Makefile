# Every target installs what it needs first, and says so. See README.md.

CARGO ?= cargo
PROFILE := release
LIBRARY := addons/godot_mcp/bin/libgodot_mcp.linux.$(shell uname -m | sed 's/aarch64/arm64/').so

.PHONY: run serve test build bench verify-audit docs engine-api package fmt lint print-godot

# A short real session: a headless editor on a copy of the demo project, edited through MCP.
run: build
	@$(CARGO) run --$(PROFILE) --quiet --package godot-mcp-tests --bin session

# Leaves the editor serving, and prints how to connect.
serve: build
	@$(CARGO) run --$(PROFILE) --quiet --package godot-mcp-tests --bin session -- --serve

test: build
	@scripts/test.sh

build:
	@scripts/build.sh

bench: build
	@$(CARGO) run --$(PROFILE) --quiet --package godot-mcp-tests --bin bench

# Checks the audit logs of a project: make verify-audit PROJECT=dir
verify-audit:
	@$(CARGO) run --$(PROFILE) --quiet --package godot-mcp-tests --bin verify_audit -- "$(PROJECT)"

# Writes docs/tools.md and docs/tools/*.json from the registry.
docs:
	@$(CARGO) run --$(PROFILE) --quiet --package godot-mcp-tests --bin docs

# The part of the engine's API that the extension is compiled against.
engine-api:
	@python3 scripts/engine_api.py

# Archive of the addon, command line program and checksums, in dist/.
package:
	@scripts/package.sh

fmt:
	@$(CARGO) fmt --all

lint:
	@python3 scripts/engine_api.py --check
	@$(CARGO) clippy --$(PROFILE) --workspace --all-targets -- --deny warnings

print-godot:
	@scripts/godot.sh path
