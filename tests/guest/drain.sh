#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unload the module while tasks sleep in it: each read takes a second, so that some always do. They return into the
# module's code long after its hooks are gone; unloading has to wait for them.
# Tasks run through code while it is patched: one thread, see scripts/lab run --help.
# lab: --disk 4G --one-thread --timeout 300
# kernels: all
set -u
. "$(dirname "$0")/lib.sh"
ktap_plan 6

dir=/mnt/drain
disk=${MMAPRA_DISK:-/dev/vda}
modprobe dm-mod
modprobe dm-delay || bail "no dm-delay"
sectors=$((512 << 11))

dm() { dmsetup --noudevsync --noudevrules "$@"; }
# delay MILLISECONDS: for each read, from now on; reads under way are waited for
delay() {
	echo "0 $sectors delay $disk 0 $1 $disk 0 0" > /tmp/table
	dm suspend --nolockfs mmdrain && dm load mmdrain /tmp/table && dm resume mmdrain
}

echo "0 $sectors linear $disk 0" > /tmp/table
dm create mmdrain /tmp/table || bail "dmsetup create"
[ -e /dev/mapper/mmdrain ] || dm mknodes
scratch_ext4 /dev/mapper/mmdrain "$dir"
mmcase write "$dir/file" 128 || bail "cannot write"
echo 3 > /proc/sys/vm/drop_caches
mmstorm "$dir/file" --threads 8 --seconds 100000 > /tmp/storm 2>&1 &
storm=$!
sleep 1
check "reads take a second" delay 1000

failed=
slowest=0
for cycle in 1 2 3 4; do
	module_load || { failed="insmod, cycle $cycle"; break; }
	sleep 2
	before=$(value misses "$(module_stats)")
	[ "$before" -gt 0 ] || { failed="no miss was seen in cycle $cycle"; break; }
	start=$(date +%s%N)
	module_unload || { failed="rmmod, cycle $cycle"; break; }
	took=$((($(date +%s%N) - start) / 1000000))
	say "cycle $cycle: $before misses, unloaded in $took ms"
	[ "$took" -le "$slowest" ] || slowest=$took
	# whoever was in it comes back now, if it was not waited for
	sleep 2
	kill -0 "$storm" 2> /dev/null || { failed="the faulting threads ended in cycle $cycle"; break; }
done
if [ -z "$failed" ]; then ok "loaded and unloaded 4 times under slow reads"; else not_ok "$failed"; fi
if [ "$slowest" -lt 30000 ]; then ok "unloading took at most $slowest ms"; else not_ok "unloading took $slowest ms"; fi

check "reads are quick again" delay 0
kill "$storm" 2> /dev/null
wait "$storm"
status=$?
sed 's/^/# /' /tmp/storm
check "all bytes right" test "$status" -eq 0
check "the module is gone" test ! -d /sys/module/mmapra
umount "$dir"
dm remove mmdrain
