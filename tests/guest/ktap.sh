# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# KTAP version 1 for guest tests. Source it, call ktap_plan once, then one of ok, not_ok, check or skip for each test.
# The totals and the exit status come by themselves when the script ends: 0 only if every planned test ran and none
# failed. A script that dies half way, or forgets a test, fails.

ktap_planned=0 ktap_run=0 ktap_pass=0 ktap_fail=0 ktap_skip=0

ktap_plan() {
	ktap_planned=$1
	echo "KTAP version 1"
	echo "1..$1"
	trap ktap_end EXIT
}

ktap_diag() { printf '# %s\n' "$*"; }

ok() {
	ktap_run=$((ktap_run + 1)) ktap_pass=$((ktap_pass + 1))
	echo "ok $ktap_run $*"
}

not_ok() {
	ktap_run=$((ktap_run + 1)) ktap_fail=$((ktap_fail + 1))
	echo "not ok $ktap_run $*"
}

# skip NAME [REASON...]
skip() {
	local name=$1
	shift
	ktap_run=$((ktap_run + 1)) ktap_skip=$((ktap_skip + 1))
	echo "ok $ktap_run $name # SKIP${*:+ $*}"
}

# check NAME CMD...: ok if CMD succeeds; else not ok, with what it printed as diagnostic lines before
check() {
	local name=$1 output line status=0
	shift
	output=$("$@" 2>&1) || status=$?
	if [ "$status" -eq 0 ]; then
		ok "$name"
		return
	fi
	while [ -n "$output" ] && read -r line; do ktap_diag "$line"; done <<< "$output"
	ktap_diag "exit status $status: $*"
	not_ok "$name"
	return 1
}

# shellcheck disable=SC2317,SC2329 # called by trap
ktap_end() {
	local status=$?
	trap - EXIT
	echo "# Totals: pass:$ktap_pass fail:$ktap_fail xfail:0 xpass:0 skip:$ktap_skip error:0"
	if [ "$ktap_run" -ne "$ktap_planned" ]; then
		ktap_diag "planned $ktap_planned tests, ran $ktap_run"
		exit 1
	fi
	[ "$ktap_fail" -eq 0 ] || exit 1
	exit "$status"
}
