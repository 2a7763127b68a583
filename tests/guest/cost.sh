#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a page costs, in instructions: the guest's clock counts them, so CPU time is their number. The disk is memory and
# done at once, in the reader's own time. Cold: whole file forward. Warm: the same from the page cache, and written
# private. Twice each, module off and on in turn; the lower count of the two, since interrupts only ever add.
# lab: --icount --mem 2G --timeout 900
# kernels: newest
set -u
. "$(dirname "$0")/lib.sh"
ktap_plan 4

dir=/mnt/cost
mib=128
dev=$(null_device 256) || bail "no null_blk"
scratch_ext4 "$dev" "$dir"
say "$(mmcase write "$dir/file" $mib)"
module_load enabled=N || bail "cannot load $MMAPRA_KO"

# lowest NAME STATE ARGS...: instructions a touch
lowest() {
	local state=$1 line best='' got i
	shift
	module_set enabled "$state"
	for i in 1 2; do
		line=$(mmcase run "$@") || return
		got=$(awk "BEGIN { printf \"%.0f\", 1e9 * $(value cpu "$line") / $(value touches "$line") }")
		say "enabled=$state, $*, run $i: $got instructions a page: $line" >&2
		[ -n "$best" ] && [ "$best" -le "$got" ] || best=$got
	done
	echo "$best"
}

# cost TITLE LIMIT ARGS...
cost() {
	local title=$1 limit=$2 off on text
	shift 2
	if ! off=$(lowest N "$@") || ! on=$(lowest Y "$@"); then
		not_ok "$title: the run failed"
		return
	fi
	text="$title: $on instructions a page, $off without the module, at most $limit times that"
	if holds "$on <= $limit * $off"; then ok "$text"; else not_ok "$text"; fi
}

cost "forward, cold" 1.1 forward "$dir/file" --compare touch
cat "$dir/file" > /dev/null
cost "forward, warm" 1.05 forward "$dir/file" --compare touch --warm yes
cost "written private, warm" 1.05 sparse-write "$dir/file" --compare touch --warm yes

module_set enabled N
module_unload || bail "cannot unload"
umount "$dir"
null_remove
ok "unloaded"
