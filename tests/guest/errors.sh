#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A mapped file that is cut short or cannot be read: the program sees with the module what it sees without.
# lab: --disk 4G --timeout 400
# kernels: all
set -u
. "$(dirname "$0")/lib.sh"
ktap_plan 17

dir=/mnt/errors
disk=${MMAPRA_DISK:-/dev/vda}
modprobe dm-mod 2> /dev/null
disk_sectors=$(blockdev --getsz "$disk") || bail "no $disk"
sectors=$((512 << 11))
[ "$disk_sectors" -ge "$sectors" ] || bail "$disk is smaller than 512 MiB"

dm() { dmsetup --noudevsync --noudevrules "$@"; }
dm_table() {
	dm suspend mmerr || bail "dmsetup suspend"
	dm load mmerr "$1" || bail "dmsetup load"
	dm resume mmerr || bail "dmsetup resume"
}
echo "0 $sectors linear $disk 0" > /tmp/healthy
dm create mmerr /tmp/healthy || bail "dmsetup"
dev=/dev/mapper/mmerr
[ -e "$dev" ] || dm mknodes
scratch_ext4 "$dev" "$dir"
mmcase write "$dir/file" 64 || bail "cannot write"
module_load enabled=N || bail "cannot load $MMAPRA_KO"

# ---- truncation ----
for state in N Y; do
	module_set enabled $state
	check "truncation, enabled=$state" mmerr truncate "$dir/cut"
done
rm -f "$dir/cut"

# ---- bad sectors ----
# By the page of the file: in the first window, alone, two in a row, a run, at the end
bad_pages="3 1000 5000 5001 9000 9001 9002 9003 16383"
page_sectors=$(($(getconf PAGESIZE) / 512))
sync
echo 3 > /proc/sys/vm/drop_caches
at=0
: > /tmp/table
# linear where nothing is wrong, error for each page; pages of the file lie in ascending order on a fresh file system,
# but that is not taken for granted
for page in $bad_pages; do mmerr sector "$dir/file" "$page"; done | sort -n > /tmp/sectors
while read -r sector; do
	[ "$sector" -gt "$at" ] && echo "$at $((sector - at)) linear $disk $at" >> /tmp/table
	echo "$sector $page_sectors error" >> /tmp/table
	at=$((sector + page_sectors))
done < /tmp/sectors
echo "$at $((sectors - at)) linear $disk $at" >> /tmp/table
sed 's/^/# /' /tmp/table
umount "$dir"
dm_table /tmp/table
mount -o ro,noload "$dev" "$dir" || bail "cannot mount again"
read_ahead "$dev" 128

# lost LINE: the pages, one a line
lost() {
	local part
	for part in $(value sigbus "$1" | tr , ' '); do
		seq "${part%-*}" "${part#*-}"
	done
}

echo "$bad_pages" | tr ' ' '\n' > /tmp/bad
for order in forward backward random; do
	for state in N Y; do
		module_set enabled $state
		line=$(mmerr scan "$dir/file" $order) || { not_ok "EIO, $order, enabled=$state: bytes"; continue; }
		say "enabled=$state: $line"
		lost "$line" > /tmp/lost.$state
		# every bad page is an error; whole folios fail, so a good page next to a bad one may be, too
		if [ -z "$(comm -23 <(sort /tmp/bad) <(sort /tmp/lost.$state))" ]; then
			ok "EIO, $order, enabled=$state: SIGBUS at each bad page, all others right"
		else
			not_ok "EIO, $order, enabled=$state: SIGBUS at each bad page"
		fi
	done
	if [ "$(wc -l < /tmp/lost.Y)" -le "$(wc -l < /tmp/lost.N)" ]; then
		ok "EIO, $order: no more pages lost than without the module"
	else
		not_ok "EIO, $order: $(wc -l < /tmp/lost.Y) pages lost, $(wc -l < /tmp/lost.N) without the module"
	fi
done

# ---- the same on a device without a file system: page by page, so exact ----
umount "$dir"
dm_table /tmp/healthy
mmcase write "$dev" 64 || bail "cannot write the device"
{
	at=0
	for page in $bad_pages; do
		sector=$((page * page_sectors))
		[ "$sector" -gt "$at" ] && echo "$at $((sector - at)) linear $disk $at"
		echo "$sector $page_sectors error"
		at=$((sector + page_sectors))
	done
	echo "$at $((sectors - at)) linear $disk $at"
} > /tmp/table
dm_table /tmp/table
for order in forward backward random; do
	module_set enabled N
	off=$(mmerr scan "$dev" $order --pages 16384)
	module_set enabled Y
	on=$(mmerr scan "$dev" $order --pages 16384)
	say "off: $off"
	say "on:  $on"
	if [ -n "$off" ] && [ "$on" = "$off" ] && [ "$(value lost "$on")" = "$(wc -w <<< "$bad_pages")" ]; then
		ok "EIO on the device, $order: SIGBUS at the bad pages only, as without the module"
	else
		not_ok "EIO on the device, $order"
	fi
done
module_set enabled N

# ---- a page that can be read again is read again ----
dm_table /tmp/healthy
module_set enabled Y
line=$(mmerr scan "$dev" forward --pages 16384)
if [ "$(value lost "$line")" = 0 ]; then
	ok "after the error is gone nothing is lost"
else
	not_ok "after the error is gone: $line"
fi
check "no process is left behind, rmmod works" module_unload
dm remove mmerr
check "the device is free" test ! -e /sys/block/dm-0
ktap_diag "done"
