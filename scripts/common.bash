# What the scripts beside this one share: how they speak, and how they install what is missing.
# shellcheck shell=bash

say() { echo "scripts/${0##*/}: $*" >&2; }
die() { say "$*" && exit 1; }

# Installs Debian packages, where one may: as root, with apt-get.
install_with_apt() {
    [[ $EUID == 0 ]] && command -v apt-get >/dev/null || return 1
    say "installing $* with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    local apt=(apt-get -qq -o DPkg::Lock::Timeout=120)
    local install=("${apt[@]}" install -y --no-install-recommends ca-certificates "$@")
    "${install[@]}" </dev/null &>/dev/null ||
        { "${apt[@]}" update && "${install[@]}" </dev/null >/dev/null; } >&2
}
