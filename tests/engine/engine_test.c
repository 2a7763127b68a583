// SPDX-License-Identifier: GPL-2.0
/*
 * engine_test.c - runs one group of tests
 *
 *	engine_test cases|known
 *	engine_test invariants|regret SEED TRACES [WORKERS]
 *
 * Prints "ok NAME" and "not ok NAME", for run.sh to number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

static unsigned int check_all(const struct property *p, uint64_t seed,
			      unsigned long traces, unsigned int workers)
{
	const struct property *q;
	unsigned int failed = 0, weights = 0;

	for (q = p; q->name; q++)
		weights += q->weight;
	for (; p->name; p++) {
		unsigned long n = traces * p->weight / weights;

		/* one trace: that one, as whatever it is */
		failed += !property_check(p, seed, traces == 1 || !n ? 1 : n,
					  workers);
	}
	return failed;
}

int main(int argc, char **argv)
{
	const struct property *p = NULL;
	unsigned int failed;

	if (argc == 2 && !strcmp(argv[1], "cases")) {
		failed = test_cases();
	} else if (argc == 2 && !strcmp(argv[1], "known")) {
		failed = 0;
		test_known();
	} else if (argc >= 4) {
		if (!strcmp(argv[1], "invariants"))
			p = invariant_properties;
		else if (!strcmp(argv[1], "regret"))
			p = regret_properties;
		if (!p)
			goto usage;
		failed = check_all(p, strtoull(argv[2], NULL, 0),
				   strtoul(argv[3], NULL, 0),
				   argc > 4 ? (unsigned int)atoi(argv[4]) : 1);
	} else {
usage:
		fprintf(stderr, "usage: %s cases|known|{invariants|regret SEED TRACES [WORKERS]}\n",
			argv[0]);
		return 2;
	}
	return failed != 0;
}
