#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each knob takes what is allowed and shows it; all else is refused with EINVAL and a line, and changes nothing.
# lab: --disk 4G --timeout 300
# kernels: all
set -u
. "$(dirname "$0")/lib.sh"

good="
enabled N Y
restart N Y
backward N Y
stride N Y
streams 1 32 8
random_hint verify honor
max_window_kb 65536 4 0
"
bad="
enabled maybe 2
restart maybe 7
backward x
stride -1
streams 0 33 -1 eight 99999999999
random_hint never 1 honour
max_window_kb 65537 -4 4k
filesystems ext4,e/xt4 ,
"
ktap_plan $(($(grep -c . <<< "$good") * 2 + $(grep -c . <<< "$bad") * 2 + 9))

# as one writes it: one write(), and its errno's text
put() { printf '%s' "$2" | dd of="$params/$1" bs=4096 status=none 2>&1; }

# everything READS as KNOB says: all knobs in one line
all_knobs() { (cd "$params" && grep -H . ./*); }

module_load || bail "cannot load $MMAPRA_KO"
defaults=$(all_knobs)
say "$(tr '\n' ' ' <<< "$defaults")"
for pair in enabled=Y restart=Y backward=Y stride=Y streams=8 random_hint=honor max_window_kb=0; do
	[ "$(cat "$params/${pair%=*}")" = "${pair#*=}" ] || say "default of ${pair%=*}: $(cat "$params/${pair%=*}")"
done | grep . > /tmp/wrong
check "defaults" test ! -s /tmp/wrong

takes() {
	local name=$1 value got
	shift
	for value; do
		put "$name" "$value" || { echo "$name=$value refused"; return 1; }
		got=$(cat "$params/$name")
		[ "$got" = "$value" ] || { echo "$name: wrote $value, reads $got"; return 1; }
	done
}

refuses() {
	local name=$1 value before output
	shift
	before=$(all_knobs)
	for value; do
		log_mark
		if output=$(put "$name" "$value"); then
			echo "$name=$value was taken"
			return 1
		fi
		grep -q "Invalid argument" <<< "$output" || { echo "$name=$value: $output"; return 1; }
		[ "$(all_knobs)" = "$before" ] || { echo "$name=$value changed something"; return 1; }
		log_since "mmapra: $name: .*allowed" > /dev/null || { echo "$name=$value: no line in the log"; return 1; }
	done
}

refused_at_load() {
	local name=$1 value
	shift
	for value; do
		log_mark
		if insmod "$MMAPRA_KO" "$name=$value" 2> /dev/null; then
			rmmod mmapra
			echo "$name=$value was taken"
			return 1
		fi
		[ ! -d /sys/module/mmapra ] || { echo "$name=$value: left behind"; return 1; }
		log_since "mmapra: $name: .*allowed" > /dev/null || { echo "$name=$value: no line in the log"; return 1; }
	done
}

# shellcheck disable=SC2086 # words
while read -r name values; do
	[ -z "$name" ] || check "$name takes $values" takes $name $values
done <<< "$good"
# shellcheck disable=SC2086
while read -r name values; do
	[ -z "$name" ] || check "$name refuses $values" refuses $name $values
done <<< "$bad"
check "defaults again" test "$(all_knobs)" = "$defaults"
check "filesystems takes a list" takes filesystems "ext4,xfs" "all,-nfs" "-btrfs"
check "a list too long is refused" refuses filesystems "$(printf 'a%.0s' {1..700})"
check "unload" module_unload

# shellcheck disable=SC2086
while read -r name values; do
	[ -z "$name" ] || check "insmod refuses $name $values" refused_at_load $name $values
done <<< "$bad"

# what is given at load is what is shown
loaded_as() {
	local got
	insmod "$MMAPRA_KO" "$1=$2" || return
	got=$(cat "$params/$1")
	rmmod mmapra
	[ "$got" = "$2" ] || { echo "$1: $got"; return 1; }
}
# shellcheck disable=SC2086
while read -r name value _; do
	[ -z "$name" ] || check "insmod takes $name=$value" loaded_as $name $value
done <<< "$good"

numbers() {
	local f
	for f in "$stats"/*; do
		[[ $(cat "$f") =~ ^[0-9]+$ ]] || { echo "$f: $(cat "$f")"; return 1; }
	done
}

check "loads with everything set" insmod "$MMAPRA_KO" enabled=N restart=N backward=N stride=N streams=3 \
	random_hint=verify max_window_kb=512 filesystems=ext4
check "and shows it" test "$(cat "$params"/{enabled,restart,streams,max_window_kb,filesystems} | tr '\n' ' ')" = \
	"N N 3 512 ext4 "
check "every statistic is one number" numbers
check "unload again" module_unload
