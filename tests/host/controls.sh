#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Negative controls: with a broken module, tests must be red, and red for the reason that was built in.
# kernels: newest
set -u
repo=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd -P)
. "$repo/tests/guest/ktap.sh"
ktap_plan 8

kernel=${MMAPRA_KERNEL:-newest}
work=$repo/build/controls
rm -rf "$work"
mkdir -p "$work"

# red NAME SCRIPT [ARGUMENT...]: build the mutant NAME, boot, run the script. Sets status and out.
red() {
	local mutant=$1
	shift
	out=$work/$mutant/out
	mkdir -p "$out"
	check "$mutant: the mutant builds" build "$mutant" || return
	"$repo/scripts/lab" run --disk 4G --one-thread --timeout 300 --modules "$work/$mutant/ko" --out "$out" "$kernel" -- \
		bash "tests/guest/$1.sh" "${@:2}" > "$out/ktap" 2> "$out/lab.log" < /dev/null
	status=$?
	ktap_diag "$mutant: lab run ended with status $status"
}

build() {
	"$repo/tests/mutant" "$1" "$work/$1/src" &&
		"$repo/scripts/lab" build -o "$work/$1/ko" --src "$work/$1/src" "$kernel" < /dev/null
}

# shows FILE REGEX
shows() { grep -aE "$2" "$1" || { tail -n 15 "$1"; return 1; }; }

# ---- the drain left out: tasks return into a module that is gone ----
red no-drain drain
check "no-drain: the run is red" test "$status" -ne 0
check "no-drain: no totals, the guest did not live to print them" test -z "$(grep '^# Totals' "$out/ktap")"
check "no-drain: because the kernel died after an unload" shows "$out/console" 'BUG: |Oops|Unable to handle|general protection'

# ---- hooks that fire and do nothing: as good as no module ----
red inert cases sparse-forward
check "inert: the run is red" test "$status" -eq 1
check "inert: because the case is no better than without the module" shows "$out/ktap" '^not ok 1 sparse-forward'

# ---- recorded results: a run that broke off is red ----
cat > "$work/broken" << END
KTAP version 1
1..3
ok 1 one
ok 2 two
END
sed '$a ok 3 three\n# Totals: pass:3 fail:0 xfail:0 xpass:0 skip:0 error:0' "$work/broken" > "$work/whole"
# judged: a recorded run that ended in the middle fails, the same one with its end passes
judged() {
	"$repo/tests/check" --read "$work/whole" || return
	! "$repo/tests/check" --read "$work/broken"
}
check "silence: a run without its end is red" judged
