#!/usr/bin/env bash
# Finds, or fetches, the Godot that the tests run. Prints one path on standard
# output; everything else goes to standard error.
#
#   scripts/godot.sh path              the editor's executable
#   scripts/godot.sh template-debug    the debug export template
#   scripts/godot.sh template-release  the release export template
#   scripts/godot.sh display           Xvfb, for tests that draw
#
# Which Godot: $GODOT when set; else `godot` or `godot4` on PATH when it is new
# enough; else one that is fetched on first use into .cache/godot/prefix of this
# repository. To get rid of the fetched one, delete .cache/godot.
#
# How it is fetched (systems with apt): Debian's own packages of the suite named
# below, from the Debian archive that this system's apt already uses, checked
# against Debian's keyring. apt runs with folders of its own and is told that
# nothing is installed, so it downloads every library down to libc; the packages
# are unpacked, never installed. No root needed, and the system stays as it was.
#
# Why the executables are patched, and not started by a wrapper script that sets
# a library path: the editor starts the game, and further editors, from its own
# executable's path, and a library path in the environment would reach every
# other program that the editor starts. So the loader and the library folders of
# the prefix are written into the executables. They have to be absolute, which
# is why a moved repository fetches again. An old-style RPATH is used since it
# also serves the libraries that libraries load; a library with a RUNPATH of its
# own would ignore it, so those are removed.
#
# To draw with the fetched editor (software OpenGL, no graphics card):
#   PREFIX=.cache/godot/prefix
#   DISPLAY=... LIBGL_DRIVERS_PATH=$PREFIX/usr/lib/x86_64-linux-gnu/dri \
#     $PREFIX/usr/bin/godot --rendering-driver opengl3 --audio-driver Dummy ...

set -euo pipefail

MIN_MAJOR=4
MIN_MINOR=5
SUITE=forky
PACKAGES="godot godot-template-debug godot-template-release
          libgl1 libglx-mesa0 libgl1-mesa-dri libegl1 patchelf"
# shellcheck disable=SC2086,SC2116
RECIPE="1 $SUITE $(echo $PACKAGES)" # the number goes up when the steps change

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=$ROOT/.cache/godot
PREFIX=$CACHE/prefix
STAMP=$CACHE/stamp # written last: recipe, prefix, version
LOG=$CACHE/install.log

# Standard output is kept for the answer alone.
exec 3>&1 1>&2

say() { echo "godot.sh: $*"; }
die() { say "$*"; exit 1; }
answer() { printf '%s\n' "$1" >&3; }

# The version of an executable: the line of `--version` that starts like one.
version_of() {
    local line
    while IFS= read -r line; do
        if [[ $line =~ ^[0-9]+\.[0-9]+ ]]; then
            printf '%s\n' "${line%$'\r'}"
            return 0
        fi
    done < <("$1" --version 2>/dev/null </dev/null)
    return 1
}

new_enough() {
    [[ $1 =~ ^([0-9]+)\.([0-9]+) ]] || return 1
    local major=$((10#${BASH_REMATCH[1]})) minor=$((10#${BASH_REMATCH[2]}))
    ((major > MIN_MAJOR || (major == MIN_MAJOR && minor >= MIN_MINOR)))
}

# Sets EDITOR_PATH and EDITOR_VERSION to a Godot that is not ours, if there is one.
find_own() {
    EDITOR_PATH='' EDITOR_VERSION=''
    local name found version
    if [[ -n ${GODOT:-} ]]; then
        found=$(type -P -- "$GODOT") || die "\$GODOT is no executable: $GODOT"
        version=$(version_of "$found") || die "\$GODOT gives no version: $found --version"
        new_enough "$version" ||
            die "\$GODOT is too old: $version at $found, need $MIN_MAJOR.$MIN_MINOR or newer"
    else
        for name in godot godot4; do
            found=$(type -P "$name") || continue
            version=$(version_of "$found") || version=unknown
            new_enough "$version" && break
            say "passing over $found: version $version, need $MIN_MAJOR.$MIN_MINOR or newer"
            found=''
        done
    fi
    [[ -n ${found:-} ]] || return 1
    EDITOR_PATH=$(cd "$(dirname "$found")" && pwd)/$(basename "$found")
    EDITOR_VERSION=$version
}

# Sets EDITOR_PATH and EDITOR_VERSION from the stamp, if the fetched Godot is whole.
find_fetched() {
    EDITOR_PATH='' EDITOR_VERSION=''
    local recipe prefix version
    [[ -f $STAMP ]] || return 1
    { read -r recipe && read -r prefix && read -r version; } <"$STAMP" || return 1
    [[ $recipe == "$RECIPE" && $prefix == "$PREFIX" && -x $PREFIX/usr/bin/godot ]] || return 1
    EDITOR_PATH=$PREFIX/usr/bin/godot EDITOR_VERSION=$version
}

# Runs a step, its output into the log; shows the log's end when it fails.
logged() {
    local status
    set +e # not `if`, which would let a failing step run on
    (set -e && "$@") >>"$LOG" 2>&1 3>&-
    status=$?
    set -e
    if ((status != 0)); then
        tail -n 20 "$LOG"
        die "this failed: $* (the whole log: $LOG)"
    fi
}

# The address of a Debian main archive, from the configuration of the system's
# apt. Empty when apt knows none, or has no package lists to know it by.
archive_address() {
    # shellcheck disable=SC2016
    apt-get "$@" indextargets --format '$(REPO_URI)' \
        'Origin: Debian' 'Label: Debian' 'Component: main' 'Created-By: Packages' 2>/dev/null |
        awk '!/^cdrom:/ && !seen++'
}

fetch_packages() {
    local apt=$CACHE/apt keyring address
    local -a own=(-c "$apt/own.conf") suite=(-c "$apt/own.conf" -c "$apt/suite.conf")
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : >"$apt/status" # nothing is installed: every dependency is fetched

    # Everything that apt writes goes here, and the system's hooks stay out.
    cat >"$apt/own.conf" <<CONF
Dir::State "$apt";
Dir::State::Lists "$apt/lists";
Dir::State::Status "$apt/status";
Dir::Cache "$apt";
Dir::Cache::Archives "$apt/archives";
Dir::Log "$apt";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
    # As root, apt would download as a user who may not be allowed into this folder.
    if [[ $(id -u) == 0 ]]; then echo 'APT::Sandbox::User "root";' >>"$apt/own.conf"; fi

    address=$(archive_address)
    if [[ -z $address ]]; then
        say "this system has no package lists yet: fetching them into $apt/lists"
        logged apt-get "${own[@]}" update
        address=$(archive_address "${own[@]}")
    fi
    [[ -n $address ]] ||
        die "no Debian archive in this system's apt: install Godot $MIN_MAJOR.$MIN_MINOR or newer and set \$GODOT to it"

    for keyring in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
        [[ -r $keyring ]] && break
    done
    [[ -r $keyring ]] || die "no keyring of Debian's archive: install the package debian-archive-keyring"

    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$address" "$SUITE" >"$apt/sources.list"
    cat >"$apt/suite.conf" <<CONF
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
#clear APT::Architectures;
CONF
    say "fetching the package lists of Debian $SUITE into $apt/lists"
    logged apt-get "${suite[@]}" update
    say "fetching Godot, its export templates and their libraries (200 MB) into $apt/archives"
    logged apt-get "${suite[@]}" autoclean # what an interrupted run left, if it is outdated
    # shellcheck disable=SC2086
    logged apt-get "${suite[@]}" install --yes --download-only $PACKAGES
}

is_elf() { [[ $(head -c 4 "$1" | tr -d '\0') == $'\x7fELF' ]]; }

patch_prefix() {
    local libs loader file rpath
    file=$(find "$PREFIX/usr/lib" -name libc.so.6 -print -quit)
    libs=${file%/*}
    loader=$(find "$libs/" -maxdepth 1 -name 'ld-linux*.so.*' -print -quit)
    [[ -n $libs && -n $loader ]] || die "the unpacked packages hold no libc"
    # patchelf is one of the fetched packages, so it runs on the fetched libc too.
    local -a patchelf=("$loader" --library-path "$libs" "$PREFIX/usr/bin/patchelf")

    for file in "$PREFIX"/usr/bin/godot*; do
        is_elf "$file" || continue
        "${patchelf[@]}" --set-interpreter "$loader" --force-rpath \
            --set-rpath "$libs:$libs/pulseaudio" "$file"
        echo "patched $file"
    done
    while IFS= read -r file; do
        is_elf "$file" || continue
        rpath=$("${patchelf[@]}" --print-rpath "$file" 2>/dev/null) || continue
        if [[ -n $rpath ]]; then
            # A copy, put in place of the library: patchelf itself may be using it.
            cp -p "$file" "$file.new"
            "${patchelf[@]}" --remove-rpath "$file.new"
            mv -f "$file.new" "$file"
            echo "removed the rpath $rpath of $file"
        fi
    done < <(find "$PREFIX/usr/lib" -type f -name '*.so*' -not -path '*/gconv/*')
}

unpack() {
    # shellcheck disable=SC2016
    find "$CACHE/apt/archives" -maxdepth 1 -name '*.deb' -print0 |
        xargs -0 -n 1 -P "$(nproc)" sh -c 'dpkg-deb -x "$1" "$0"' "$PREFIX"
}

# Makes sure that the fetched Godot is there.
fetch() {
    find_fetched && return
    local tool started=$SECONDS version
    for tool in apt-get dpkg-deb flock; do
        type -P "$tool" >/dev/null ||
            die "no Godot found: install Godot $MIN_MAJOR.$MIN_MINOR or newer and set \$GODOT to it (fetching it needs a Debian system)"
    done

    mkdir -p "$CACHE"
    exec 9>"$CACHE/lock"
    if ! flock -n 9; then
        say "another run is fetching Godot: waiting for it"
        flock 9
    fi
    if find_fetched; then
        exec 9>&-
        return
    fi

    # What an interrupted run unpacked is thrown away; what it downloaded is
    # kept, since apt checks it again.
    rm -f "$STAMP"
    rm -rf "$PREFIX"
    mkdir -p "$PREFIX"
    : >"$LOG"
    fetch_packages
    say "unpacking into $PREFIX"
    logged unpack
    logged patch_prefix
    version=$(version_of "$PREFIX/usr/bin/godot") ||
        die "the fetched Godot does not start: $PREFIX/usr/bin/godot --version"
    new_enough "$version" ||
        die "the fetched Godot is too old: $version, need $MIN_MAJOR.$MIN_MINOR or newer"
    rm -rf "$CACHE/apt"
    printf '%s\n' "$RECIPE" "$PREFIX" "$version" >"$STAMP.new"
    mv -f "$STAMP.new" "$STAMP"
    exec 9>&-
    say "fetched Godot $version in $((SECONDS - started)) s"
    find_fetched || die "the fetched Godot is incomplete: delete $CACHE and try again"
}

find_editor() { find_own || fetch; }

# The export template that belongs to the editor in use.
template() {
    local kind=$1 file data
    if ! find_own; then
        fetch
        answer "$PREFIX/usr/bin/godot-template-$kind"
        return
    fi
    # Not ours: the templates are looked for where Debian's packages and the
    # editor itself put them ("4.6.3.stable" of "4.6.3.stable.official.0123abc").
    data=${XDG_DATA_HOME:-${HOME:-}/.local/share}/godot/export_templates
    [[ $EDITOR_VERSION =~ ^[0-9.]+\.[a-z]+[0-9]* ]] || die "odd version: $EDITOR_VERSION"
    for file in "$(dirname "$EDITOR_PATH")/godot-template-$kind" \
        "$data/${BASH_REMATCH[0]}/linux_$kind.$(uname -m)"; do
        if [[ -f $file && -x $file ]]; then
            answer "$file"
            return
        fi
    done
    die "no $kind export template for $EDITOR_PATH ($EDITOR_VERSION): install them with the editor's Manage Export Templates"
}

display() {
    if ! type -P Xvfb >/dev/null; then
        if ! type -P apt-get >/dev/null || [[ $(id -u) != 0 ]]; then
            die "no Xvfb: install it (Debian's package is xvfb)"
        fi
        say "installing the system package xvfb"
        mkdir -p "$CACHE"
        LOG=$CACHE/display.log
        : >"$LOG"
        export DEBIAN_FRONTEND=noninteractive
        local -a install=(apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends xvfb)
        if ! "${install[@]}" >>"$LOG" 2>&1 3>&-; then
            # No package lists, or lists older than the archive.
            logged apt-get update
            logged "${install[@]}"
        fi
    fi
    answer "$(type -P Xvfb)"
}

case ${1:-} in
path)
    find_editor
    say "using Godot $EDITOR_VERSION"
    answer "$EDITOR_PATH"
    ;;
template-debug | template-release) template "${1#template-}" ;;
display) display ;;
*) die "usage: scripts/godot.sh path | template-debug | template-release | display" ;;
esac
