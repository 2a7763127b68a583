#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# On a device where each request takes 1 ms: what the module is for shows as time. A file of 256 MiB on ext4, one of 2 GiB
# for the walks backward.
# lab: --disk 4G --mem 6G --timeout 600
# kernels: newest
set -u
. "$(dirname "$0")/lib.sh"
ktap_plan 8

dir=/mnt/waits
dev=$(null_device 2900) || bail "no null_blk"
scratch_ext4 "$dev" "$dir"
say "$(mmcase write "$dir/file" 256)"
say "$(mmcase write "$dir/large" 2048)"
say "$(stload write "$dir/model.safetensors" 256)"
umount "$dir"
slow_device 1000000
dev=$(null_name)
mount "$dev" "$dir" || bail "the slow device lost its contents"
read_ahead "$dev" 128
module_load enabled=N || bail "cannot load $MMAPRA_KO"

# measure NAME CMD...: sets off and on
measure() {
	local name=$1
	shift
	module_set enabled N
	off=$("$@") || return
	say "$name off: $off"
	module_set enabled Y
	on=$("$@") || return
	say "$name on:  $on"
	module_set enabled N
}

# faster NAME FACTOR
faster() {
	local times
	times=$(awk "BEGIN { printf \"%.1f\", $(value seconds "$off") / $(value seconds "$on") }")
	if holds "$times >= $2"; then
		ok "$1: $times times faster (at least $2)"
	else
		not_ok "$1: $times times faster (at least $2)"
	fi
}

measure forward mmcase run forward "$dir/file" || bail "forward"
forward_on=$(value seconds "$on")
if holds "$forward_on <= 1.1 * $(value seconds "$off")"; then
	ok "whole file forward: no slower than stock"
else
	not_ok "whole file forward: no slower than stock: $forward_on s, $(value seconds "$off") s"
fi

measure sparse-forward mmcase run sparse-forward "$dir/file" && faster "sparse, then forward" 5
measure sparse-backward-seq mmcase run sparse-backward-seq "$dir/file" && faster "sparse, then backward" 5

# Backward, stock takes minutes: only the module's own time counts, against the walk forward.
module_set enabled Y
on=$(mmcase run forward "$dir/large") || bail "forward, large"
say "forward, large on:  $on"
forward_on=$(value seconds "$on")
for name in backward-seq backward-huge; do
	on=$(mmcase run "$name" "$dir/large") || bail "$name"
	say "$name on:  $on"
	seconds=$(value seconds "$on")
	verdict="2 GiB $name: $seconds s, forward $forward_on s (at most 1.2 times that)"
	if holds "$seconds <= 1.2 * $forward_on"; then ok "$verdict"; else not_ok "$verdict"; fi
done

measure safetensors stload load "$dir/model.safetensors" || bail "safetensors"
faster "safetensors load" 20
module_set enabled N
if holds "$(value mib "$on") <= $(value compared_mib "$on") + 3"; then
	ok "safetensors load: reads what is needed"
else
	not_ok "safetensors load: reads what is needed: $(value mib "$on") MiB"
fi

check "unload" module_unload
umount "$dir"
null_remove
