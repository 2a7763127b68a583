#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Enter a userland: called by userland_enter() in a mount namespace of its own, so that every mount made here goes
# away with the last process in it, however that ends.
#   enter.sh MOUNTPOINT TREE LAYER WORKDIR [SOURCE:TARGET]... -- CMD...
set -euo pipefail

mnt=$1 tree=$2 layer=$3 workdir=$4
shift 4

die() { printf 'lab: error: %s\n' "$*" >&2; exit 1; }

grep -q overlay /proc/filesystems || modprobe overlay 2>/dev/null || true
mount -t tmpfs -o mode=755 lab "$mnt"
mkdir "$mnt/upper" "$mnt/work" "$mnt/root"
mount -t overlay lab -o "lowerdir=${layer:+$layer:}$tree,upperdir=$mnt/upper,workdir=$mnt/work" "$mnt/root" ||
	die "cannot mount an overlay file system: the host needs overlayfs and the right to mount"
root=$mnt/root
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
	src=${1%%:*} dst=$root${1#*:}
	if [ -d "$src" ]; then
		mkdir -p "$dst"
	else
		mkdir -p "${dst%/*}"
		: > "$dst"
	fi
	mount --bind "$src" "$dst"
	shift
done
shift
# shellcheck disable=SC2016 # expanded by the inner shell
# LC_ALL: no locale of the host exists in here. TMPDIR: nor does its temporary directory.
exec env -u TMPDIR LC_ALL=C.UTF-8 HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	chroot "$root" /bin/sh -c 'cd "$1" && shift && exec "$@"' sh "$workdir" "$@"
