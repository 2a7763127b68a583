# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What every part of the lab needs: messages, paths, locks.

say() { printf 'lab: %s\n' "$*" >&2; }
die() { printf 'lab: error: %s\n' "$*" >&2; exit 1; }

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/mmapra

need_root() {
	[ "$(id -u)" -eq 0 ] || die "must run as root (mounts, chroot, QEMU's disk of the guest)"
}

need_debian() {
	local name=unknown
	# shellcheck source=/dev/null
	[ ! -r /etc/os-release ] || name=$(. /etc/os-release && echo "$PRETTY_NAME")
	if [ ! -r /etc/debian_version ] || ! command -v apt-get > /dev/null; then
		die "this system is $name: the lab needs Debian 12 or 13"
	fi
	[ "$(dpkg --print-architecture)" = amd64 ] || die "the lab knows amd64 only, this is $(dpkg --print-architecture)"
}

# Mounts inside the lab join paths with ':' and ','; a cache or repo path with one of them cannot be mounted.
check_path() {
	case $1 in
	*[:,]*) die "the path $1 contains ':' or ',', which mount options cannot carry" ;;
	esac
}

need_space() {
	local want_mb=$1 have
	mkdir -p "$cache"
	have=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
	[ "$have" -ge "$want_mb" ] ||
		die "no disk space: $cache has $have MB free, $want_mb MB are needed"
}

# Preparation is done by one process at a time; the others wait and then find the work done. Held on a file
# descriptor, so that it goes away with the process however it ends.
prepare_lock() {
	mkdir -p "$cache"
	exec 9> "$cache/lock"
	flock -n 9 && return
	say "waiting for another lab run that prepares the cache"
	flock 9
}

prepare_unlock() { exec 9>&-; }

# Is the file $1 there and younger than $2 minutes?
younger() { [ -n "$(find "$1" -maxdepth 0 -mmin "-$2" 2>/dev/null)" ]; }
