#!/usr/bin/env python3
"""Packs a release: the addon as the asset library wants it, the command line program, licenses, sums.

    scripts/package.py --libraries FOLDER --out FOLDER

FOLDER of the libraries holds what was built, in one folder per platform as the release workflow
downloads them, or directly for one platform. The same input gives the same bytes.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ADDON = ROOT / "addons" / "godot_mcp"
# Thin scripts at paths that extensions for another toolkit name.
OLD_PATHS = ROOT / "addons" / "godot_mcp_toolkit"
# JSON Schemas of the files that a project may write for us.
SCHEMAS = ROOT / "schemas"
# Licenses that may be shipped in a library under MIT. Another one stops the packing.
ALLOWED = {
    "MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "CDLA-Permissive-2.0", "ISC", "MPL-2.0", "OpenSSL", "Unicode-3.0",
    "Unlicense", "Zlib", "0BSD",
}
# (folder of the platform or None for any, name as built, name in the addon)
LIBRARIES = [
    ("linux.x86_64", "libgodot_mcp_extension.so", "libgodot_mcp.linux.x86_64.so"),
    ("linux.arm64", "libgodot_mcp_extension.so", "libgodot_mcp.linux.arm64.so"),
    ("windows.x86_64", "godot_mcp_extension.dll", "godot_mcp.windows.x86_64.dll"),
    ("windows.arm64", "godot_mcp_extension.dll", "godot_mcp.windows.arm64.dll"),
    (None, "libgodot_mcp.macos.universal.dylib", "libgodot_mcp.macos.universal.dylib"),
]
PROGRAMS = [
    ("linux.x86_64", "godot-mcp", "godot-mcp.linux.x86_64"),
    ("linux.arm64", "godot-mcp", "godot-mcp.linux.arm64"),
    ("windows.x86_64", "godot-mcp.exe", "godot-mcp.windows.x86_64.exe"),
    ("windows.arm64", "godot-mcp.exe", "godot-mcp.windows.arm64.exe"),
    (None, "godot-mcp.macos.universal", "godot-mcp.macos.universal"),
]
# Written by the engine or by builds, and no part of a release.
LEFT_OUT = re.compile(r"(^|/)(\.|bin/)|\.(import|tmp)$|~$")


def fail(message: str) -> None:
    sys.exit(f"package.py: {message}")


def version() -> str:
    text = (ROOT / "Cargo.toml").read_text()
    found = re.search(r'^version = "([^"]+)"', text, re.MULTILINE).group(1)
    if f'version="{found}"' not in (ADDON / "plugin.cfg").read_text():
        fail(f"plugin.cfg does not have the version {found} of Cargo.toml")
    return found


def shipped_crates() -> list[dict]:
    """Crates that end up in the library or the program, by their normal dependencies."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    meta = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {it["id"]: it for it in meta["packages"]}
    nodes = {it["id"]: it for it in meta["resolve"]["nodes"]}
    names = {"godot-mcp-extension", "godot-mcp-cli"}
    queue = [it["id"] for it in meta["packages"] if it["name"] in names]
    seen = set(queue)
    while queue:
        for dep in nodes[queue.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dep["dep_kinds"])
            if normal and dep["pkg"] not in seen:
                seen.add(dep["pkg"])
                queue.append(dep["pkg"])
    # Our own crates have no source.
    return sorted((packages[it] for it in seen if packages[it]["source"]), key=lambda it: (it["name"], it["version"]))


def is_allowed(expression: str) -> bool:
    """Of alternatives one must be allowed, of parts all."""
    text = expression.replace("/", " OR ").replace("(", " ( ").replace(")", " ) ")
    if "(" in text:
        # None of ours nests deeper: every part in parentheses is decided by itself.
        text = re.sub(r"\( ([^()]*) \)", lambda it: "MIT" if is_allowed(it.group(1)) else "no", text)
    return any(
        all(part.strip() in ALLOWED for part in choice.split(" AND ")) for choice in text.split(" OR ")
    )


def licenses() -> str:
    parts = [
        "Godot MCP contains the following third-party software, each under its own license.\n"
    ]
    texts: dict[str, str] = {}
    for crate in shipped_crates():
        expression = crate["license"] or "unknown"
        if not is_allowed(expression):
            fail(f"{crate['name']} {crate['version']} has the license {expression}, which is not in ALLOWED")
        parts.append(f"- {crate['name']} {crate['version']}: {expression}"
                     + (f", {crate['repository']}" if crate["repository"] else ""))
        folder = pathlib.Path(crate["manifest_path"]).parent
        for file in sorted(folder.iterdir()):
            if file.is_file() and re.match(r"(?i)(licen[cs]e|copying|notice|copyright|unlicense)", file.name):
                text = file.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, f"{crate['name']}: {file.name}")
    for text, title in texts.items():
        parts.append(f"\n{'-' * 80}\n{title}\n{'-' * 80}\n{text}")
    return "\n".join(parts) + "\n"


def find(folder: pathlib.Path, platform: str | None, name: str) -> pathlib.Path | None:
    places = [folder / name] if platform is None else [folder / platform / name]
    return next((it for it in places if it.is_file()), None)


def add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int = 0o644) -> None:
    info = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100000 | mode) << 16
    archive.writestr(info, data, compresslevel=9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--all-platforms", action="store_true", help="fail when one is missing")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    number = version()
    third_party = licenses()

    libraries = [(it[2], find(args.libraries, it[0], it[1])) for it in LIBRARIES]
    libraries = [(name, file) for name, file in libraries if file]
    missing = [it[2] for it in LIBRARIES + PROGRAMS if not find(args.libraries, it[0], it[1])]
    if args.all_platforms and missing:
        fail(f"nothing was built for {', '.join(missing)}")
    if not libraries:
        fail(f"no library in {args.libraries}")
    made = []
    addon = args.out / f"godot_mcp-{number}.zip"
    with zipfile.ZipFile(addon, "w") as archive:
        for folder in (ADDON, OLD_PATHS):
            for file in sorted(folder.rglob("*")):
                path = file.relative_to(folder).as_posix()
                if file.is_file() and not LEFT_OUT.search(path):
                    add(archive, f"addons/{folder.name}/{path}", file.read_bytes())
        for file in sorted(SCHEMAS.rglob("*.schema.json")):
            path = file.relative_to(SCHEMAS).as_posix()
            add(archive, f"addons/godot_mcp/schemas/{path}", file.read_bytes())
        for name, file in libraries:
            add(archive, f"addons/godot_mcp/bin/{name}", file.read_bytes(), 0o755)
        add(archive, "addons/godot_mcp/LICENSE", (ROOT / "LICENSE").read_bytes())
        add(archive, "addons/godot_mcp/README.md", (ROOT / "README.md").read_bytes())
        add(archive, "addons/godot_mcp/THIRD_PARTY_LICENSES.txt", third_party.encode())
    made.append(addon)
    for platform, built, name in PROGRAMS:
        program = find(args.libraries, platform, built)
        if program:
            target = args.out / name
            target.write_bytes(program.read_bytes())
            target.chmod(0o755)
            made.append(target)
    sums = "".join(f"{hashlib.sha256(it.read_bytes()).hexdigest()}  {it.name}\n" for it in made)
    (args.out / "SHA256SUMS").write_text(sums)
    print(sums, end="")


main()
