# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# The guest's first file system; what is in it is said in initrd-in-userland.

# Make it if it is not there; its name holds a hash of what it is made from. Sets initrd.
initrd_prepare() {
	local tree hash tmp
	tree=$(userland_dir trixie)
	hash=$({ cat "$lab_d/initrd-in-userland" "$lab_d/guest-init" "$lab_d/guest-job"; echo "$tree"; } |
		sha256sum | cut -c 1-10)
	initrd=$kernel_dir/initrd-$hash
	[ ! -e "$initrd" ] || return 0
	tmp=$(mktemp -d "$kernel_dir/.initrd.XXXXXX")
	userland_enter "$tree" "$kernel_dir/root" /lab "$tmp:/lab" "$lab_d:/run/lab.d" -- \
		/run/lab.d/initrd-in-userland "$release" || die "cannot make the initramfs of $release"
	mv "$tmp/initrd" "$initrd"
	rm -rf "$tmp"
}
