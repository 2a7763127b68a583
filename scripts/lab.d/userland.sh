# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# Userlands: trees of Debian packages in the cache that commands are run in. A tree is never changed after it was
# made: whoever runs in it gets a writable overlay in memory that vanishes with the process.

# Where a userland lives. The name holds a hash of what is in it, so that a changed list makes a new tree.
# sid moves: there $2, the kernel's package version, is part of the name.
userland_dir() {
	local family=$1 extra=${2:-} hash
	[ "$family" = sid ] || extra=
	hash=$({ userland_packages "$family"; echo "$extra"; } | sha256sum | cut -c 1-10)
	echo "$cache/userland/$family-$hash"
}

userland_packages() { sed 's/#.*//' "$lab_d/packages.$1" | xargs -n 1; }

# The only thing the lab installs on the host
need_mmdebstrap() {
	command -v mmdebstrap > /dev/null && return
	command -v apt-get > /dev/null || die "no apt-get here: the lab needs Debian 12 or 13"
	say "installing mmdebstrap on the host (the only package the lab adds)"
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install mmdebstrap > /dev/null 2>&1 ||
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
			apt-get -qq -y --no-install-recommends install mmdebstrap; } > /dev/null 2>&1 ||
		die "cannot install mmdebstrap: is the package archive reachable? (try: apt-get install mmdebstrap)"
}

# Make a userland if it is not there. $2: the kernel's package version, $3...: packages it needs besides
userland_prepare() {
	local family=$1 extra=${2:-} dir tmp packages start=$SECONDS
	shift 2
	dir=$(userland_dir "$family" "$extra")
	[ -e "$dir/.complete" ] && return
	need_mmdebstrap
	need_space 6000
	packages=$(echo "$(userland_packages "$family")" "$@" | xargs | tr ' ' ,)
	say "making the $family userland in $dir (takes a minute or two)"
	tmp=$cache/userland/.$family.new
	rm -rf "$tmp"
	mkdir -p "$cache/userland"
	local -a opts=()
	mapfile -t opts < <(apt-config dump |
		sed -nE 's/^(Acquire::(https?::(Proxy|No-Cache)|Check-Valid-Until|Check-Date)\b.*);$/--aptopt=\1/p')
	archive_sources "$family" | mmdebstrap --mode=root --variant=minbase --architectures=amd64 \
		--include="$packages" "${opts[@]}" --aptopt='APT::Install-Recommends "false"' \
		--dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/locale/*' \
		--dpkgopt=path-exclude='/usr/share/man/*' \
		"$family" "$tmp" - > "$cache/userland/$family.log" 2>&1 ||
		{ tail -n 5 "$cache/userland/$family.log" >&2
		  die "mmdebstrap failed for $family: network, disk space? (log: $cache/userland/$family.log)"; }
	# Mount points: a guest's root is this tree read-only, and 9p makes no directories there.
	mkdir -p "$tmp/mmapra" "$tmp/out" "$tmp/modules" "$tmp/lab"
	touch "$tmp/.complete"
	rm -rf "$dir"
	mv "$tmp" "$dir"
	say "$family userland ready ($((SECONDS - start)) s)"
}

# Run a command in a userland.
#   userland_enter TREE LAYER WORKDIR [BIND=SOURCE:TARGET...] -- CMD...
# LAYER (may be empty) is laid over the tree: a kernel's headers and modules.
userland_enter() { (userland_exec "$@"); }

# The same in place of the calling shell, so that the process can be waited for and killed
userland_exec() {
	check_path "$cache"
	mkdir -p "$cache/mnt"
	exec unshare -m --propagation private -- "$lab_d/enter.sh" "$cache/mnt" "$@"
}
