"""Writes rust/engine_api/*.json: the engine's API as far as the extension names it.

Bindings to all thousand classes take minutes to compile, and a megabyte of the library is code that
looks up methods which nothing calls; one that a later engine has no more would stop the extension.
Here are the classes of classes.txt and their ancestors, of the oldest engine that is supported,
with the methods whose names the sources have in them. The name of the file changes with its
content: that is how Cargo sees that the bindings are to be made again.

    make engine-api              when the compiler misses a class (name it in classes.txt) or a method
    scripts/engine_api.py --check    whether that was done: fails when something is to be added
"""

import argparse
import functools
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "rust" / "engine_api"
CONFIG = ROOT / ".cargo" / "config.toml"
OLDEST_ENGINE = "4.5"


@functools.cache
def packages():
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE,
    )
    return json.loads(metadata.stdout)["packages"]


def package_folder(name):
    return pathlib.Path(next(it["manifest_path"] for it in packages() if it["name"] == name)).parent


def whole_api():
    """The file that gdext brings for its feature `api-4-5`."""
    return package_folder("gdextension-api") / "src" / OLDEST_ENGINE / "extension_api.json"


def named_classes():
    lines = (FOLDER / "classes.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def kept_classes(classes):
    kept = set()
    for name in named_classes():
        if name not in classes:
            sys.exit(f"classes.txt names {name}, which Godot {OLDEST_ENGINE} does not have")
        while name and name not in kept:
            kept.add(name)
            name = classes[name].get("inherits")
    return kept


def types_of(member):
    """Every text of a method, property, signal or structure that may name a type."""
    if isinstance(member, dict):
        for key, value in member.items():
            if key in ("type", "return_type", "format"):
                yield value
            else:
                yield from types_of(value)
    elif isinstance(member, list):
        for it in member:
            yield from types_of(it)


def names_in_sources():
    """Every identifier of the extension and of gdext. Rust says `get_child_ex` and `type_`."""
    folders = [ROOT / "rust" / "extension" / "src"]
    for name in ("godot-core", "godot-macros"):
        folders.append(package_folder(name) / "src")
    names = set()
    for folder in folders:
        for file in sorted(folder.rglob("*.rs")):
            names.update(re.findall(r"[a-z_][a-z0-9_]*", file.read_text(encoding="utf-8")))
    return names | {it.removesuffix("_ex") for it in names} | {it.removesuffix("_") for it in names}


def without_texts(value):
    if isinstance(value, dict):
        texts = ("description", "brief_description", "hash_compatibility")
        return {key: without_texts(it) for key, it in value.items() if key not in texts}
    return [without_texts(it) for it in value] if isinstance(value, list) else value


def reduced(api):
    classes = {it["name"]: it for it in api["classes"]}
    kept = kept_classes(classes)
    missing = set(classes) - kept
    named = names_in_sources()

    def is_known(member):
        return not any(missing & set(re.findall(r"\w+", it)) for it in types_of(member))

    def is_called(method):
        return method["is_virtual"] or method["name"] in named

    for it in classes.values():
        for members in ("methods", "properties", "signals"):
            if members in it:
                it[members] = [member for member in it[members] if is_known(member)]
        if "methods" in it:
            it["methods"] = [method for method in it["methods"] if is_called(method)]
        methods = {method["name"] for method in it.get("methods", [])}
        it["properties"] = [
            member for member in it.get("properties", [])
            if {member.get("getter"), member.get("setter", member.get("getter"))} <= methods
        ]
    api["classes"] = [it for it in api["classes"] if it["name"] in kept]
    api["singletons"] = [it for it in api["singletons"] if it["type"] in kept]
    for key in ("utility_functions", "native_structures"):
        api[key] = [it for it in api[key] if is_known(it)]
    return without_texts(api)


def written(api):
    """One line for each class and function, so that a change can be read."""
    def line(value):
        return json.dumps(value, separators=(",", ":"))

    parts = []
    for key, value in api.items():
        if isinstance(value, list) and value:
            parts.append(f'"{key}":[\n' + ",\n".join(map(line, value)) + "\n]")
        else:
            parts.append(f'"{key}":{line(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    check = parser.parse_args().check
    text = written(reduced(json.loads(whole_api().read_text(encoding="utf-8"))))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    target = FOLDER / f"{digest}.json"
    config = re.sub(r"engine_api/\w+\.json", f"engine_api/{target.name}", CONFIG.read_text())
    if check:
        if not target.exists() or config != CONFIG.read_text() or target.read_text() != text:
            sys.exit("engine_api.py: the API is not what classes.txt says: make engine-api")
        return
    for old in FOLDER.glob("*.json"):
        old.unlink()
    target.write_text(text, encoding="utf-8")
    CONFIG.write_text(config, encoding="utf-8")
    print(f"engine_api.py: wrote {target.relative_to(ROOT)}, {len(text) // 1024} KiB")


if __name__ == "__main__":
    main()
