# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# KVM or TCG? /dev/kvm opens on machines that then hang in the firmware, so a real boot is tried, once per boot of
# the host. Prints the QEMU options. TCG runs "rep movsb" a byte at a time: without the features that tell the kernel to
# prefer it, copies are made in words.
accel_options() {
	local note probe
	note=$cache/accel-$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -e "$note" ]; then
		rm -f "$cache"/accel-*
		probe=tcg
		if [ -w /dev/kvm ] && accel_probe; then probe=kvm; fi
		echo "$probe" > "$note"
		say "accelerator for this host: $probe"
	fi
	case $(cat "$note") in
	kvm) echo -accel kvm -cpu host ;;
	*) echo -accel tcg,thread=multi -cpu max,-erms,-fsrm,-fzrm,-fsrs,-fsrc ;;
	esac
}

accel_probe() {
	userland_enter "$(userland_dir trixie)" "" / "$kernel_dir/vmlinux:/lab/kernel" "$initrd:/lab/initrd" -- \
		timeout -k 2 15 qemu-system-x86_64 -nodefaults -no-user-config -machine pc,hpet=off,i8042=off -display none -no-reboot \
		-accel kvm -cpu host -m 512M -kernel /lab/kernel -initrd /lab/initrd \
		-append "console=ttyS0 quiet panic=-1 lab.probe" -serial stdio < /dev/null 2> /dev/null |
		grep -q 'lab: probe: up'
}
