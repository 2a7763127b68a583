#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every case of tests/cases.c, without and with the module in the same boot, on a cold file on ext4, read_ahead_kb 128.
#   cases.sh [CASE...]
# With the module a case has three tries: the disk of a guest stops for milliseconds when its host is busy, longer than any
# window lasts, and the kernel counts a fault that waits under mmap_lock as a major one. What the policy itself does in
# any order of threads is for the tests in user space, which have no second try.
# Backward through 2 GiB is half a million waits without the module: left out, unless MMAPRA_STOCK=all.
# MMAPRA_DISK: the scratch disk, 4 GiB (/dev/vda). MMAPRA_FILE_MIB: size of the file, if not what the case is meant for.
# MMAPRA_DISARMED=yes: the runs that should be with the module are without it, so cases must fail.
# lab: --disk 4G --timeout 900
# kernels: newest
set -u
. "$(dirname "$0")/lib.sh"

disk=${MMAPRA_DISK:-/dev/vda}
dir=/mnt/cases
armed=Y
[ "${MMAPRA_DISARMED:-no}" = no ] || armed=N

mmcase list > /tmp/cases || bail "mmcase list"
if [ $# -gt 0 ]; then
	for name in "$@"; do
		grep -P "^$name\t" /tmp/cases || bail "no such case: $name"
	done > /tmp/chosen
else
	cp /tmp/cases /tmp/chosen
fi
ktap_plan "$(wc -l < /tmp/chosen)"

scratch_ext4 "$disk" "$dir"
module_load enabled=N || bail "cannot load $MMAPRA_KO"

while IFS=$'\t' read -r name mib _ _ how _; do
	mib=${MMAPRA_FILE_MIB:-$mib}
	file=$dir/file.$mib
	if [ ! -e "$file" ]; then
		say "$(mmcase write "$file" "$mib")"
		[ "$(stat -c %s "$file")" = $((mib << 20)) ] || bail "cannot write $file"
	fi
	module_set random_hint "${how%%,*}"
	off=-
	if [ "$mib" -le 1024 ] || [ "${MMAPRA_STOCK:-}" = all ]; then
		off=$(mmcase run "$name" "$file") || { not_ok "$name: the run without the module failed"; continue; }
		say "off: $off"
	fi
	for try in 1 2 3; do
		module_set enabled $armed
		on=$(mmcase run "$name" "$file" 2> /tmp/error)
		status=$?
		module_set enabled N
		[ $status -eq 0 ] || { say "$(cat /tmp/error)"; verdict="the run failed"; break; }
		say "on:  $on"
		verdict=$(mmcase judge "$name" "$mib" "$off" "$on") && break
		status=1
		say "run $try: $verdict"
	done
	[ "$status" -eq 0 ] || { not_ok "$name: $verdict"; continue; }
	[ "$try" -eq 1 ] || verdict="$verdict (try $try)"
	ok "$name: $verdict"
	goal=$(mmcase judge "$name" "$mib" "$off" "$on" --goal yes) || say "short of the goal: $goal"
done < /tmp/chosen

module_unload || bail "cannot unload"
umount "$dir"
