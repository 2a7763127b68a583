#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module gets onto a machine and off it again: make install, and DKMS of Debian 13 with two kernels or, for 6.1,
# of Debian 12. Guests then boot those kernels and load what DKMS installed, with modprobe.
# kernels: newest 6.1
set -u
repo=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd -P)
. "$repo/tests/guest/ktap.sh"
lab=$repo/scripts/lab

case ${MMAPRA_KERNEL:-newest} in
6.1*) suite=bookworm kernels=("$MMAPRA_KERNEL") ;;
newest) suite=trixie kernels=(newest 6.12) ;;
*) suite=trixie kernels=("$MMAPRA_KERNEL") ;;
esac
# 10 steps of make and 3 of dkms and a boot for each kernel, 3 more of dkms, and that there were so many
ktap_plan $((14 * ${#kernels[@]} + 4))

out=$repo/build/install/$suite
rm -rf "$out"
mkdir -p "$out"
releases=() with=()
for kernel in "${kernels[@]}"; do
	release=$("$lab" version "$kernel") || { echo "Bail out! no kernel $kernel"; exit 1; }
	releases+=("$release")
	with+=(--with "$kernel")
done

"$lab" shell "${with[@]}" "$suite" tests/host/install-in-userland "$repo" "$out" "${releases[@]}" > "$out/steps" 2>&1 < /dev/null
while IFS= read -r line; do
	case $line in
	"ok "*) ok "${line#ok }" ;;
	"not ok "*) not_ok "${line#not ok }" ;;
	*) echo "# ${line#\# }" ;;
	esac
done < "$out/steps"
check "all steps were made" grep -qx '# end' "$out/steps"

for kernel in "${kernels[@]}"; do
	check "$kernel boots and loads it with modprobe" "$lab" run --mem 1G --timeout 120 --name "install-$kernel" "$kernel" -- \
		bash tests/host/install-in-guest "/mmapra/build/install/$suite"
done
