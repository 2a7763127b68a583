#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guest's part of scripts/demo: loads from cold files, without and with the module, in one boot. Writes
# /out/demo.tsv; says what it does while it does it.
set -u
. "$(dirname "$0")/lib.sh"

disk=${MMAPRA_DISK:-/dev/vda}
tsv=${MMAPRA_TSV:-/out/demo.tsv}
fast=/mnt/fast slow=/mnt/slow

step() { printf '%6.1f s  %s\n' "$(awk '{ print $1 }' /proc/uptime)" "$*"; }
majfaults() { awk '/^pgmajfault / { print $2 }' /proc/vmstat; }

# now and then, a line that says that it is still going
watch_it() {
	local first start
	first=$(majfaults)
	start=$SECONDS
	while sleep 10; do
		step "              ... $((SECONDS - start)) s, $(($(majfaults) - first)) major faults so far"
	done
}

# one STATE CMD...: sets line
one() {
	local state=$1 watcher
	shift
	module_set enabled "$state"
	watch_it &
	watcher=$!
	line=$("$@" 2> /tmp/error) || { kill $watcher; cat /tmp/error; bail "the load failed: $*"; }
	kill $watcher
	wait $watcher 2> /dev/null
	[ "$(value bytes_ok "$line")" = 1 ] || bail "bytes were not compared: $line"
	if [ "$state" = N ]; then state="without mmapra"; else state="with mmapra   "; fi
	step "    $state  $(value majflt "$line") major faults, $(value mib "$line") MiB read, $(value seconds "$line") s"
}

# both KEY TITLE CMD...
both() {
	local key=$1 title=$2 off
	shift 2
	step "$title"
	one N "$@"
	off=$line
	one Y "$@"
	module_set enabled N
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$key" "$title" \
		"$(value majflt "$off")" "$(value mib "$off")" "$(value seconds "$off")" \
		"$(value majflt "$line")" "$(value mib "$line")" "$(value seconds "$line")" >> "$tsv"
}

if grep -q 'Hypervisor detected: KVM' <(dmesg); then machine="QEMU, KVM"; else machine="QEMU, emulated"; fi
machine="$machine, $(nproc) CPUs, $(awk '/^MemTotal:/ { printf "%.1f", $2 / 1048576 }' /proc/meminfo) GiB"
{
	printf '# kernel\t%s\n# machine\t%s\n' "$(uname -r)" "$machine"
	printf '# key\twhat\toff_majflt\toff_mib\toff_seconds\ton_majflt\ton_mib\ton_seconds\n'
} > "$tsv" || bail "cannot write $tsv"

step "Linux $(uname -r), unmodified; $machine"
module_load enabled=N || bail "cannot load $MMAPRA_KO"
step "module loaded, switched off: the stock kernel reads"

scratch_ext4 "$disk" "$fast"
step "writing a model: 1 GiB of weights as safetensors, on ext4, read_ahead_kb 128"
stload write "$fast/model.safetensors" 1024 > /tmp/wrote || bail "cannot write"
step "    $(value tensors "$(cat /tmp/wrote)") tensors, $(value mib "$(cat /tmp/wrote)") MiB"
step "writing a file of 512 MiB"
mmcase write "$fast/file" 512 > /dev/null || bail "cannot write"

dev=$(null_device 320) || bail "no null_blk"
scratch_ext4 "$dev" "$slow" -o noatime
step "writing a model of 256 MiB to a device on which each request is going to take 1 ms"
stload write "$slow/model.safetensors" 256 > /dev/null || bail "cannot write"
umount "$slow"
slow_device 1000000
dev=$(null_name)
mount -o ro,noatime "$dev" "$slow" || bail "the slow device lost its contents"
read_ahead "$dev" 128

step "each load starts with a cold cache, and each byte that it reads is compared"
both sparse "a page of each MiB, then 64 MiB in a row" mmcase run sparse-forward "$fast/model.safetensors"
both backward-seq "512 MiB backward, MADV_SEQUENTIAL" mmcase run backward-seq "$fast/file"
both backward-huge "512 MiB backward, MADV_HUGEPAGE" mmcase run backward-huge "$fast/file"
both model "1 GiB of weights, safetensors" stload load "$fast/model.safetensors"
both slow-model "256 MiB of weights, 1 ms a request" stload load "$slow/model.safetensors"

module_unload || bail "cannot unload"
step "module unloaded"
echo "# done" >> "$tsv"
