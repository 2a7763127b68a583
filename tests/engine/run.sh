#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the engine's tests and prints KTAP; see the Makefile.
#   run.sh OUT SEED TRACES
set -u
out=$1 seed=$2 traces=$3
here=$(cd "$(dirname "$0")" && pwd)
workers=$(nproc)
# the sanitizers cost tenfold, and the checks after each call as much again
few=$((traces / 25 + 1))

# A program that ends other than by saying so has failed, whatever it said before.
run() {
	local name=$1 status=0
	shift
	"$@" 2>&1 || status=$?
	if [ "$status" -gt 1 ]; then
		echo "# exit status $status: $*"
		echo "not ok $name"
	fi
}

{
	run cases "$out/engine_test.safe" cases
	run invariants "$out/engine_test.safe" invariants "$seed" "$few" "$workers"
	run regret-safe "$out/engine_test.safe" regret "$seed" "$few" "$workers" | sed 's/ok regret-/&safe-/'
	run regret "$out/engine_test" regret "$seed" "$traces" "$workers"
	run known "$out/engine_test.safe" known
	run mutants "$here/mutants.sh" "$out" "$seed"
} | awk '
	BEGIN { print "KTAP version 1" }
	/^ok / { if (/ # XFAIL$/) xfail++; else if (/ # XPASS$/) xpass++; else pass++ }
	/^not ok / { fail++ }
	/^(not )?ok / { n++; sub(/ok /, "ok " n " ") }
	{ print; fflush() }
	END {
		print "1.." n + 0
		printf "# Totals: pass:%d fail:%d xfail:%d xpass:%d skip:0 error:0\n", pass, fail, xfail, xpass
		exit fail > 0 || pass == 0
	}'
