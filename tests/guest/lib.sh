# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What guest tests share: scratch file systems, slow devices, the module. Source it after setting -u.
# The environment: MMAPRA_KO, the module; MMAPRA_BIN, where the guest programs are.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${MMAPRA_BIN:-$here/../../build/guest}
params=/sys/module/mmapra/parameters
stats=/sys/module/mmapra/stats
PATH=$bin:$PATH

# shellcheck source=tests/guest/ktap.sh
. "$here/ktap.sh"

say() { printf '# %s\n' "$*"; }
bail() { printf 'Bail out! %s\n' "$*"; exit 1; }
[ -x "$bin/mmcase" ] || bail "no guest programs in $bin: make guest"

# value KEY LINE: of key=value words
value() {
	local word
	for word in $2; do
		if [ "${word%%=*}" = "$1" ]; then
			echo "${word#*=}"
			return
		fi
	done
	return 1
}

# holds EXPRESSION: arithmetic with fractions
holds() { awk "BEGIN { exit !($1) }"; }

# ---- the module ----

module_loaded() { [ -d /sys/module/mmapra ]; }

# shellcheck disable=SC2120 # parameters are optional
module_load() { insmod "$MMAPRA_KO" "$@"; }

# A plain rmmod where that works, else the documented way: off first.
module_unload() {
	module_loaded || return 0
	rmmod mmapra 2> /dev/null && return
	echo N > "$params/enabled" && rmmod mmapra
}

# module_set NAME VALUE
module_set() { echo "$2" > "$params/$1"; }

module_stats() {
	local f
	[ -d "$stats" ] || return 0
	for f in "$stats"/*; do printf '%s=%s ' "${f##*/}" "$(cat "$f")"; done
	echo
}

# ---- noise ----

# khugepaged reads what is missing of huge pages of mapped files, MiB at a time, whenever it comes by: not now.
khugepaged=/sys/kernel/mm/transparent_hugepage/khugepaged
[ ! -d "$khugepaged" ] || echo 1000000000 > "$khugepaged/scan_sleep_millisecs"

# ---- disks ----

# read_ahead DEVICE KB
read_ahead() {
	echo "$2" > "/sys/dev/block/$(($(stat -Lc 0x%t "$1"))):$(($(stat -Lc 0x%T "$1")))/queue/read_ahead_kb" ||
		bail "cannot set read_ahead_kb of $1"
}

# scratch_ext4 DEVICE DIR [OPTIONS]: made anew and mounted, read_ahead_kb 128
scratch_ext4() {
	local dev=$1 dir=$2
	shift 2
	modprobe -q ext4
	mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$dev" || bail "mkfs.ext4 $dev"
	mkdir -p "$dir"
	mount "$@" "$dev" "$dir" || bail "cannot mount $dev"
	read_ahead "$dev" 128
}

# null_device MIB: a disk in memory on which each request is done at once; prints its name. slow_device makes each
# request take its time, and keeps what was written.
null_config=/sys/kernel/config/nullb/mmapra
null_device() {
	modprobe null_blk nr_devices=0 || return
	mkdir "$null_config" || return
	echo "$1" > "$null_config/size"
	echo 1 > "$null_config/memory_backed"
	echo 1 > "$null_config/submit_queues"
	echo 4096 > "$null_config/blocksize"
	echo 1 > "$null_config/power"
	null_name
}

null_name() {
	local index
	index=$(cat "$null_config/index")
	if [ -e "/dev/nullb$index" ]; then echo "/dev/nullb$index"; else echo /dev/mmapra; fi
}

# slow_device NANOSECONDS
slow_device() {
	echo 0 > "$null_config/power"
	echo 2 > "$null_config/irqmode"
	echo "$1" > "$null_config/completion_nsec"
	echo 1 > "$null_config/power"
}

null_remove() {
	[ -d "$null_config" ] || return 0
	echo 0 > "$null_config/power"
	rmdir "$null_config"
	modprobe -r null_blk
}

# ---- the kernel log ----

# log_mark, then log_since REGEX: was there such a line since?
log_mark() { log_position=$(dmesg | wc -l); }
log_since() { dmesg | tail -n "+$((log_position + 1))" | grep -Ei -- "$1"; }
