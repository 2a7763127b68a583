# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# What the kernel's source has and its headers lack: checkpatch.pl and its word lists, in a directory of the cache.

# lab source KERNEL: print the directory (with scripts/checkpatch.pl in it)
lab_source() {
	local selector=${1:-newest} name dir tmp
	need_root
	kernel_use "$selector"
	name=linux-source-$(cut -d . -f 1,2 <<< "$version")
	dir=$cache/source/${name}_${version//:/_}
	if [ ! -e "$dir/.complete" ]; then
		prepare_lock
		need_space 1500
		tmp=$cache/source/.new
		rm -rf "$tmp"
		mkdir -p "$tmp/deb" "$tmp/tree/scripts"
		say "fetching $name ($version) for checkpatch.pl"
		(cd "$tmp/deb" && archive_download "$family" "$name=$version") ||
			die "cannot fetch $name $version: is the package archive reachable?"
		dpkg-deb --fsys-tarfile "$tmp"/deb/*.deb | tar -xO --wildcards '*/linux-source-*.tar.xz' |
			userland_enter "$(userland_dir trixie)" "" /lab "$tmp/tree:/lab" -- \
				tar -xJ --strip-components=1 --wildcards '*/scripts/checkpatch.pl' \
				'*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch' ||
			die "no checkpatch.pl in $name $version"
		rm -rf "$tmp/deb"
		touch "$tmp/tree/.complete"
		rm -rf "$dir"
		mv "$tmp/tree" "$dir"
		rm -rf "$tmp"
		prepare_unlock
	fi
	echo "$dir"
}
