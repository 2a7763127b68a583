#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Negative controls: engines with a fault put in. The tests must tell each from the real one: at least one test that
# the real engine passes has to fail.
#   mutants.sh OUT SEED
set -u
out=$1 seed=$2
here=$(cd "$(dirname "$0")" && pwd)
engine=$here/../../src/engine.c
dir=$out/mutants
mkdir -p "$dir"

# name | what is wrong with it | sed script, which must change engine.c or engine.h
mutants=(
	"zone-never|no zone is ever set|s/WRITE_ONCE(z->pages, pages)/WRITE_ONCE(z->pages, 0)/"
	"zone-whole|zones are whole windows from the start|/^static bool established/,/^}/s/return .*/return s || 1;/"
	"zone-part|zones stay a part of the window|/^static bool established/,/^}/s/return .*/return s \&\& 0;/; s/return size - size \/ (s->full ? 8 : 4)/return higher(size \/ 2, 1)/"
	"zone-outside|zones reach a page too far|s/set_zone(ef, s, zone, end - zone)/set_zone(ef, s, zone, end - zone + 1)/"
	"zone-unaligned|zones do not start with a folio|s/zone = higher(align_down(end - pages, s->order), from)/zone = higher(end - pages, from)/"
	"zone-anywhere|zones do not start at multiples of a window|/^static bool aligns_zone/,/^}/s/return .*/return 0 \&\&/"
	"grow-not|windows do not grow|s/higher(2UL \* s->want, WINDOW_FIRST)/higher(s->want, WINDOW_FIRST)/"
	"grow-fourfold|windows grow fourfold|s/higher(2UL \* s->want, WINDOW_FIRST)/higher(4UL * s->want, WINDOW_FIRST)/"
	"grow-unlimited|windows grow beyond the largest|/^static unsigned long limit_of/,/^}/s/return .*/return s \&\& env ? 1UL << 20 : 1;/"
	"backward-never|no stream goes backward|s/above = env->backward ?/above = 0 \&\& env->backward ?/"
	"backward-always|the knob is not heeded|s/above = env->backward ?/above = env->backward || 1 ?/"
	"restart-never|no stream starts forward|s/below = env->restart ?/below = 0 \&\& env->restart ?/"
	"stride-never|strides are not seen|s/if (!env->stride || env->huge_pages)/if (1)/"
	"stride-beyond|strides go on past the end of the file|s/\/ step + 1)/\/ step + 2)/"
	"blocks-never|blocks are single pages|/^static u32 blocks_before/,/^}/s/return (u32)len/return 1 + 0 * len/"
	"blocks-short|blocks do not get longer|/^static bool longer_blocks/,/^}/s/s->len += more/s->len += 0 * more/"
	"blocks-unlimited|streams that go on are blocks|s/s->longer == LONGER_LIMIT/s->longer == 255/"
	"blocks-of-many|several readers make blocks|/^static bool used_since/,/^}/s/return .*/return 0 * then \&\& ef \&\& s;/"
	"stride-to-end|strides start near the end of the file|s/if (!step || steps_in_file(env, page, step, STEPS_FEW) < STEPS_FEW)/if (!step)/"
	"blocks-unequal|runs of any length are blocks|s/len > lower(end, most) || len > largest/len > largest/"
	"forgets-misses|the last misses are not remembered|/^static void remember/,/^}/s/if (!++ef->nr_recent)/if (0)/"
	"start-large|streams start with the largest window|s/s->want = recent ? WINDOW_FIRST : WINDOW_WEAK/s->want = (u32)limit; (void)recent/"
	"credit-endless|what is read on credit is not paid|s/ef->credit -= (u32)pages;//"
	"credit-unused|no stream starts on credit|s/if (s->want < limit \&\&/if (0 \&\& s->want < limit \&\&/"
	"credit-lost|what was used is not given back|s/earn(ef, env, 2 \* s->debt)/earn(ef, env, 0 * s->debt)/"
	"bulk-unheeded|a reader in bulk gets no more notice|s/(env->bulk \&\& full_size/(0 \&\& full_size/"
	"bulk-from-missed|a window that was missed is a zone|s/ \&\& full_size(s, env) \&\& s->full)/ \&\& full_size(s, env))/"
	"waits-unseen|waits are not counted|s/ef->waits = WAITS_MOST/ef->waits = 0/"
	"waits-always|each file seems slow|s/ef->waits -= ef->waits > 0/ef->waits = WAITS_MOST/"
	"credit-none|a fresh file has no credit|s/ef->credit = first_credit(env)/ef->credit = 0 * first_credit(env)/"
	"jump-rewarded|who jumps ahead gets the next size|s/s->want = (u32)higher(s->want \/ 2, WINDOW_FIRST);/grow(s, env);/"
	"limit-ignored|more streams than permitted|s/limit = env->streams;/limit = ENGINE_MAX_STREAMS + 0 * env->streams;/"
	"oldest-not|the newest stream is replaced|s/if (ef->clock - s->stamp > ef->clock - oldest->stamp)/if (ef->clock - s->stamp < ef->clock - oldest->stamp)/"
	"twins|two streams follow one reader|/^static void drop_twins/,/^}/s/if (twin != s/if (0 \&\& twin != s/"
	"cached-again|pages that are there are asked for|s/if (run >= far)/if (run >= far \&\& far > 100000)/; s/\*from += run \* s->step/*from += 0 * run/"
	"clip-above|fault-around takes the first page of a zone|s/\*last = lower(\*last, zone - 1)/*last = lower(*last, zone)/"
	"clip-below|fault-around takes the last page of a zone|s/\*first = higher(\*first, zone + pages)/*first = higher(*first, zone + pages - 1)/"
	"near-blind|a zone that starts with the last page is not near|s/last >= zone)/last > zone)/"
	"contains-blind|the first page of a zone is not in it|s/if (page - READ_ONCE(z->first) < READ_ONCE(z->pages))/if (page - READ_ONCE(z->first) - 1 < READ_ONCE(z->pages))/"
	"backward-off|backward windows miss their first page|/^static void place_backward/,/^}/s/end = from + 1, start/end = from, start/"
	"end-of-file|forward windows pass the end of the file|s/end = lower(from + s->want, env->file_pages), zone/end = from + s->want, zone/"
	"order-unlimited|folios larger than the file takes|s/w->order = (unsigned int)lower(s->order, env->max_order)/w->order = s->order/"
	"hint-ignored|reads around, advised random|s/if (env->random)/if (0 \&\& env->random)/"
	"huge-unaligned|huge windows start anywhere|s/unsigned long first = align_down(from, order), end, room;/unsigned long first = from, end, room;/"
)

# What is inline in engine.h is in every object.
build() {
	local name=$1 from=$2 objects="$out/fast/[!e]*.o $out/fast/engine_test.o"
	${CC:-gcc} -std=gnu11 -w -O1 -I"$from" -c -o "$dir/$name.o" "$from/engine.c" || return
	if ! cmp -s "$from/engine.h" "${engine%.c}.h"; then
		# its guard keeps the real one out
		${CC:-gcc} -std=gnu11 -w -O1 -include "$from/engine.h" -o "$dir/$name" "$dir/$name.o" \
			"$here"/*.c "$here/../cases.c"
		return
	fi
	# shellcheck disable=SC2086 # a pattern
	${CC:-gcc} -o "$dir/$name" "$dir/$name.o" $objects
}

# Build one and print the names of the tests that fail.
failing() {
	local name=$1 from=$2
	if ! build "$name" "$from" > "$dir/$name.log" 2>&1; then
		echo does-not-build
		return
	fi
	{
		timeout 60 "$dir/$name" cases
		timeout 60 "$dir/$name" invariants "$seed" 4000
		timeout 60 "$dir/$name" regret "$seed" 40000
	} > "$dir/$name.log" 2>&1
	sed -n 's/^not ok //p' "$dir/$name.log" | sort
}

one() {
	local name what script
	IFS='|' read -r name what _ <<< "$1"
	script=${1#*|*|}
	mkdir -p "$dir/$name.src"
	cp "$engine" "${engine%.c}.h" "$dir/$name.src/"
	sed -i -e "$script" "$dir/$name.src/engine.c" "$dir/$name.src/engine.h"
	if cmp -s "$engine" "$dir/$name.src/engine.c" && cmp -s "${engine%.c}.h" "$dir/$name.src/engine.h"; then
		echo "# the script of mutant $name changes nothing: engine.c has moved on"
		echo "not ok mutant-$name"
		return
	fi
	failing "$name" "$dir/$name.src" > "$dir/$name.failing"
	if grep -q does-not-build "$dir/$name.failing"; then
		sed 's/^/# /' "$dir/$name.log"
		echo "not ok mutant-$name"
	elif comm -13 "$dir/real.failing" "$dir/$name.failing" | grep . > "$dir/$name.caught"; then
		echo "# $what: caught by $(paste -sd' ' "$dir/$name.caught" | cut -c1-120)"
		echo "ok mutant-$name"
	else
		echo "# $what: no test that the real engine passes fails"
		echo "not ok mutant-$name"
	fi
}

failing real "${engine%/*}" > "$dir/real.failing"
slots=$(nproc)
for mutant in "${mutants[@]}"; do
	one "$mutant" > "$dir/${mutant%%|*}.result" &
	[ "$(jobs -rp | wc -l)" -lt "$slots" ] || wait -n
done
wait
status=0
for mutant in "${mutants[@]}"; do
	cat "$dir/${mutant%%|*}.result"
	! grep -q '^not ok' "$dir/${mutant%%|*}.result" || status=1
done
exit $status
