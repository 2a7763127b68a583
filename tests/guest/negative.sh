#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Negative controls: the checks of the other scripts are red when there is a reason to be. What needs a broken module
# is in tests/host/controls.sh.
# lab: --disk 4G --timeout 300
# kernels: newest
set -u
. "$(dirname "$0")/lib.sh"
ktap_plan 8

disk=${MMAPRA_DISK:-/dev/vda}
dir=/mnt/negative

# red REGEX CMD...: CMD fails and says why
red() {
	local regex=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "$output"
		echo "did not fail"
		return 1
	fi
	echo "$output"
	grep -qE "$regex" <<< "$output"
}

# The module loaded but off: a case fails for its faults
check "a case with the module disarmed" red '^not ok 1 sparse-forward: [0-9]+ major faults' \
	env MMAPRA_DISARMED=yes MMAPRA_FILE_MIB=128 "$here/cases.sh" sparse-forward
check "the same case, armed, passes" env MMAPRA_FILE_MIB=128 "$here/cases.sh" sparse-forward

scratch_ext4 "$disk" "$dir"
mmcase write "$dir/file" 64 || bail "cannot write"
stload write "$dir/model" 64 || bail "cannot write"
check "whole files pass" mmcase run forward "$dir/file"

# flip FILE OFFSET: one bit of the file is not what it should be
flip() {
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf '%b' "\\x$(printf %x $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
	sync
}

check "a wrong expectation, mmcase" red 'wrong byte .* offset 40000000' \
	mmcase run forward "$dir/file" --corrupt 40000000
flip "$dir/file" 50000001
check "one bit wrong, mmcase" red 'wrong byte .* offset 50000001' mmcase run forward "$dir/file"
check "one bit wrong, mmerr" red 'wrong byte .* offset 50000001' mmerr scan "$dir/file" backward
check "one bit wrong, mmstorm" red 'wrong byte .* offset 50000001' mmstorm "$dir/file" --seconds 60
flip "$dir/model" 33333333
check "one bit wrong, stload" red 'wrong byte .* offset 33333333' stload load "$dir/model"
umount "$dir"
