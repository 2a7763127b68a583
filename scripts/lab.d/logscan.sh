# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# Reads what a guest's kernel said. The console has the warnings and whatever a dying kernel could still print, dmesg
# has everything if the guest lived.

log_trouble='WARNING: |BUG: |kernel BUG at|Oops|Call Trace:|Kernel panic|[Uu]nable to handle|general protection'
log_trouble="$log_trouble|(KASAN|KCSAN|KFENCE|UBSAN|KMSAN|ODEBUG): |kmemleak: [0-9]+ new|DEBUG_LOCKS_WARN_ON|lockdep"
log_trouble="$log_trouble|INFO: (rcu|task|possible)|detected( expedited)? stall|starved for|blocked for more than"
log_trouble="$log_trouble|soft lockup|hard LOCKUP|refcount_t: |list_(add|del) corruption|Bad page|page allocation failure"

# What healthy kernels print that would match: "lockdep" in boot messages, and the parameters they were given
log_harmless='RCU lockdep checking is enabled|Lock dependency validator|[Cc]ommand line: '

# log_scan OUTDIR [REGEX that is expected]...: false, and the lines on stderr, if there is trouble
log_scan() {
	local out=$1 log lines harmless=$log_harmless
	shift
	while [ $# -gt 0 ]; do
		harmless="$harmless|$1"
		shift
	done
	for log in dmesg console; do
		[ -e "$out/$log" ] || continue
		lines=$(tr -d '\r' < "$out/$log" | grep -naE "$log_trouble" | grep -avE "$harmless") || continue
		say "the kernel log has trouble ($out/$log):"
		head -n 20 <<< "$lines" | sed 's/^[0-9]*:/lab: log: /' >&2
		# the first of them with what follows: registers and a call trace tell more than the headline
		say "the first one, with its neighbours:"
		tr -d '\r' < "$out/$log" | tail -n "+${lines%%:*}" | head -n 30 | sed 's/^/lab: log: /' >&2
		return 1
	done
}
