# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# Kernels of the distribution: from a selector (newest, 6.12, 7.3-cloud) to an unpacked tree in the cache.
# No point release is written anywhere: the meta-packages of the suites say what is current.
#
#   $cache/select/SELECTOR      what the selector means: RELEASE VERSION FAMILY SUITE
#   $cache/kernel/RELEASE_VERSION/root     image, modules and headers, as one tree
#   $cache/kernel/RELEASE_VERSION/vmlinux  the kernel as QEMU boots it
#   $cache/kernel/RELEASE_VERSION/initrd-HASH   see initrd.sh

# "7.3-cloud" is the flavour cloud of 7.3
selector_flavour() {
	case $1 in
	*-*) echo "${1#*-}-" ;;
	esac
}

# All candidates for a selector in the families given: "VERSION SUITE FAMILY METAPACKAGE"
kernel_candidates() {
	local selector=$1 family flavour pattern name
	shift
	flavour=$(selector_flavour "$selector")
	pattern=${selector%%-*}
	[ "$pattern" != newest ] || pattern=
	for family in "$@"; do
		name=linux-image-${flavour}amd64
		archive_versions "$family" "$name" |
			awk -v p="$pattern" -v f="$family" -v n="$name" \
				'p == "" || index($1, p ".") == 1 { print $1, $2, f, n }'
	done
}

# The newest of several lines that begin with a Debian version
newest_line() {
	local best='' best_version='' line
	while read -r line; do
		if [ -z "$best" ] || dpkg --compare-versions "${line%% *}" gt "$best_version"; then
			best=$line best_version=${line%% *}
		fi
	done
	[ -z "$best" ] || echo "$best"
}

# The release a meta-package of some version means
kernel_release() {
	archive_field "$1" "$2" "$3" Depends | tr ',' '\n' | sed -nE 's/^ *linux-image-([0-9][^ ]*).*/\1/p' | head -n 1
}

# Look a selector up in the package lists and write $cache/select/SELECTOR. $2: how old lists may be, in minutes
kernel_resolve() {
	local selector=$1 age=$2 family reached='' line version suite meta release
	case ${selector%%-*} in
	newest | [1-9]*.[0-9]*) ;;
	*) die "no such kernel: $selector (newest, or a version as in 6.12, or with a flavour as in 6.12-cloud)" ;;
	esac
	for family in $families; do
		if archive_update "$family" "$age"; then
			reached="$reached $family"
		elif [ -e "$cache/apt/$family/updated" ]; then
			say "using the package lists of $family of $(date -r "$cache/apt/$family/updated" +%F)"
			reached="$reached $family"
		fi
	done
	# shellcheck disable=SC2086 # a list of words
	line=$(kernel_candidates "$selector" $reached | newest_line)
	if [ -z "$line" ]; then
		[ -n "$reached" ] || return 1
		die "no kernel $selector with headers in the archive (lab kernels lists what there is)"
	fi
	read -r version suite family meta <<< "$line"
	release=$(kernel_release "$family" "$meta" "$version")
	[ -n "$release" ] || die "cannot tell what $meta $version depends on"
	mkdir -p "$cache/select"
	echo "$release $version $family $suite" > "$cache/select/$selector.new"
	mv "$cache/select/$selector.new" "$cache/select/$selector"
}

# Sets release, version, family, suite, kernel_dir from the selector; false if it was never resolved.
# A directory laid out like one in the cache, with a file "select", is a kernel too: one built by hand.
kernel_load() {
	if [ -e "$1/select" ]; then
		read -r release version family suite < "$1/select"
		kernel_dir=$(realpath -e -- "$1")
		return
	fi
	[ -e "$cache/select/$1" ] || return 1
	read -r release version family suite < "$cache/select/$1"
	kernel_dir=$cache/kernel/${release}_${version//:/_}
}

# Is everything on disk that building for and booting the loaded kernel takes?
kernel_ready() {
	[ -e "$kernel_dir/.complete" ] && [ -e "$kernel_dir/vmlinux" ] &&
		[ -e "$(userland_dir "$family" "$version")/.complete" ] &&
		[ -e "$(userland_dir trixie)/.complete" ]
}

# The packages of a kernel: those named by the meta-packages and what they depend on, as far as they belong to this
# very kernel. Tools such as initramfs-tools are left out: nothing is installed, only unpacked.
kernel_packages() {
	local todo done='' package
	todo="linux-image-$release linux-headers-$release"
	while [ -n "$todo" ]; do
		package=${todo%% *}
		todo=${todo#"$package"}
		todo=${todo# }
		case " $done " in *" $package "*) continue ;; esac
		done="$done $package"
		todo="$todo $(archive_apt "$family" apt-cache show "$package" 2>/dev/null | sed -n 's/^Depends: //p' |
			sed 's/[,|]/\n/g' | sed 's/^ *//; s/[ (].*//' |
			grep -E '^linux-(image|binary|modules|base|headers|kbuild)-[0-9]' | grep -v unsigned | sort -u | xargs)"
		todo=${todo# }
		todo=${todo% }
	done
	echo "$done"
}

# The compilers the headers of the loaded kernel name
kernel_compilers() {
	archive_apt "$family" apt-cache show "linux-headers-$release" | sed -n 's/^Depends: //p' |
		sed 's/[,|]/\n/g' | sed 's/^ *//; s/[ (:].*//' | grep -E '^gcc-[0-9]' | sort -u | xargs
}

kernel_fetch() {
	local tmp=$cache/kernel/.new package start=$SECONDS
	local -a packages=()
	[ ! -e "$kernel_dir/.complete" ] || [ ! -e "$kernel_dir/vmlinux" ] || return 0
	need_space 2500
	rm -rf "$tmp"
	mkdir -p "$tmp/root/usr/lib/modules" "$tmp/deb"
	for package in $(kernel_packages); do
		# kbuild of old suites carries another version than the headers that want it
		if [ -n "$(archive_field "$family" "$package" "$version" Version)" ]; then
			packages+=("$package=$version")
		else
			packages+=("$package")
		fi
	done
	say "fetching $release ($version, $suite)"
	(cd "$tmp/deb" && archive_download "$family" "${packages[@]}") ||
		die "cannot fetch ${packages[*]}: is the package archive reachable?"
	for package in "$tmp"/deb/*.deb; do
		dpkg-deb -x "$package" "$tmp/root"
	done
	rm -rf "$tmp/deb"
	# Old packages still ship /lib; in a userland that is a link to /usr/lib, which a layer must not hide.
	if [ -d "$tmp/root/lib" ]; then
		cp -a "$tmp/root/lib/." "$tmp/root/usr/lib/"
		rm -rf "$tmp/root/lib"
	fi
	if [ -e "$tmp/root/boot/vmlinuz-$release" ]; then
		mv "$tmp/root/boot/vmlinuz-$release" "$tmp/vmlinuz"
		mv "$tmp/root/boot/config-$release" "$tmp/config"
	else
		cp "$tmp/root/usr/lib/modules/$release/vmlinuz" "$tmp/vmlinuz"
		cp "$tmp/root/usr/lib/modules/$release/config" "$tmp/config"
	fi
	rm -rf "$tmp/root/boot" "$tmp/root/usr/share" "$tmp/root/etc"
	userland_enter "$(userland_dir trixie)" "" / "$tmp/root:/lab" -- depmod -b /lab/usr "$release" ||
		die "depmod failed for $release"
	kernel_uncompress "$tmp"
	touch "$tmp/.complete"
	mkdir -p "$cache/kernel"
	rm -rf "$kernel_dir"
	mv "$tmp" "$kernel_dir"
	say "$release ready ($((SECONDS - start)) s)"
}

# $1/vmlinuz as the ELF file in it: QEMU starts that directly, which saves the time firmware and decompression take
# without KVM (two seconds of seven). A kernel that cannot be taken apart is booted as it is.
kernel_uncompress() {
	userland_enter "$(userland_dir trixie)" "" /lab "$1:/lab" "$lab_d/uncompress.py:/run/uncompress.py" -- \
		python3 /run/uncompress.py vmlinuz vmlinux || cp "$1/vmlinuz" "$1/vmlinux"
}

# Everything for one selector. $2: how old the package lists may be, in minutes
kernel_prepare() {
	local selector=$1 age=$2
	need_debian
	prepare_lock
	if ! kernel_resolve "$selector" "$age"; then
		if ! kernel_load "$selector" || ! kernel_ready; then
			die "the package archive cannot be reached, and $selector is not in the cache ($cache)"
		fi
		say "using $release from the cache"
		# asks the archive again tomorrow, not at every run
		touch -d '-6 days' "$cache/select/$selector"
	fi
	kernel_load "$selector"
	userland_prepare trixie ""
	if [ "$family" != trixie ]; then
		# shellcheck disable=SC2046 # a list of words
		userland_prepare "$family" "$version" $(kernel_compilers)
	fi
	kernel_fetch
	initrd_prepare
	cache_prune
	prepare_unlock
}

# What build and run call: quick and silent, and without network, if the cache has the kernel. A selector that was
# looked up over a week ago is looked up again, since the archive drops old point releases.
kernel_use() {
	if [ -e "$1/select" ]; then
		kernel_load "$1"
	elif ! kernel_load "$1" || ! kernel_ready || ! younger "$cache/select/$1" 10080; then
		kernel_prepare "$1" 1440
	fi
	# used now: see cache_prune
	touch "$kernel_dir/.complete" "$(userland_dir trixie)/.complete" "$(userland_dir "$family" "$version")/.complete"
	initrd_prepare
}

# Point releases come every week, at half a gigabyte each, and changed package lists make new userlands: drop what
# nobody used for two weeks, unless it is what a selector means.
cache_prune() {
	local dir name
	for dir in "$cache"/kernel/*/ "$cache"/userland/*/; do
		dir=${dir%/}
		name=${dir##*/}
		[ -e "$dir/.complete" ] || continue
		if ! grep -qsxF -- "${name%_*} ${name##*_}" <(cut -d ' ' -f 1,2 "$cache"/select/*) &&
			! younger "$dir/.complete" 20160; then
			say "removing $dir, not used for two weeks"
			rm -rf --one-file-system "$dir"
		fi
	done
}

# lab kernels: what the archive offers, as far as the package lists in the cache know
lab_kernels() {
	local fam flavour selector meta state
	local -A seen=()
	need_root
	need_debian
	prepare_lock
	for fam in $families; do
		archive_update "$fam" 1440 || true
	done
	printf '%-14s %-28s %-20s %s\n' KERNEL RELEASE SUITE STATE
	for flavour in "" -cloud -rt; do
		# shellcheck disable=SC2086 # a list of words
		while read -r version suite family meta; do
			selector=$(cut -d . -f 1,2 <<< "$version")$flavour
			[ -z "${seen[$selector]:-}" ] || continue
			seen[$selector]=y
			release=$(kernel_release "$family" "$meta" "$version")
			kernel_dir=$cache/kernel/${release}_${version//:/_}
			state=-
			! kernel_ready || state=ready
			printf '%-14s %-28s %-20s %s\n' "$selector" "$release" "$suite" "$state"
		done < <(kernel_candidates "newest$flavour" $families | sort -rV)
	done
	prepare_unlock
}
