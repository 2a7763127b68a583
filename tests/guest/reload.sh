#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tasks run through code while it is patched: one thread, see scripts/lab run --help.
# lab: --disk 4G --one-thread --timeout 900
# Load and unload the module 100 times under 4 threads that fault all the time and compare every byte.
#   reload.sh [CYCLES]
set -u
. "$(dirname "$0")/lib.sh"
ktap_plan 5

cycles=${1:-100}
dir=/mnt/reload
scratch_ext4 "${MMAPRA_DISK:-/dev/vda}" "$dir"
mmcase write "$dir/file" 128 || bail "cannot write"
free_before=$(awk '/^Slab:/ { print $2 }' /proc/meminfo)

# Nice: the threads are to fault all the time, and not to keep insmod from being started.
nice -n 19 mmstorm "$dir/file" --threads 4 --seconds 100000 > /tmp/storm 2>&1 &
storm=$!
failed=
start=$(date +%s)
log_mark
for ((i = 1; i <= cycles; i++)); do
	module_load || { failed="insmod, cycle $i"; break; }
	# from at once to long enough for streams to be under way
	sleep "0.$((i * 7 % 20 + 10))"
	if ((i % 10 == 0)); then
		echo N > "$params/enabled"
		echo Y > "$params/enabled"
		say "cycle $i, $(($(date +%s) - start)) s, $(module_stats)"
	fi
	module_unload || { failed="rmmod, cycle $i"; break; }
	kill -0 "$storm" 2> /dev/null || { failed="the faulting threads ended in cycle $i"; break; }
done
if [ -z "$failed" ]; then ok "$cycles cycles"; else not_ok "$failed"; fi

kill "$storm" 2> /dev/null
wait "$storm"
status=$?
sed 's/^/# /' /tmp/storm
check "all bytes right" test "$status" -eq 0
check "the threads did read" test "$(value majflt "$(cat /tmp/storm)")" -gt 1000
check "the module is gone" test ! -d /sys/module/mmapra
if log_since 'BUG|WARNING|Oops|INFO:' > /tmp/log; then
	sed 's/^/# /' /tmp/log
	not_ok "the kernel log is clean"
else
	ok "the kernel log is clean"
fi
say "slab: $free_before kB before, $(awk '/^Slab:/ { print $2 }' /proc/meminfo) kB after"
umount "$dir"
