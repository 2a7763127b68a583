// SPDX-License-Identifier: GPL-2.0
/*
 * known.c - promises that the engine does not keep, each with the shortest
 * trace that shows it
 *
 * The other tests hold what is kept.  A promise that comes to be kept shows up
 * here as XPASS: then move it there, and tighten what this file is the reason
 * for.
 */
#include <stdio.h>

#include "tests.h"

static struct cache *start(struct cache *c, unsigned long max_pages,
			   unsigned int max_order, unsigned int latency)
{
	struct trace t;

	trace_init(&t);
	t.config.around = 1;
	t.config.latency = latency;
	t.env.max_pages = max_pages;
	t.env.max_order = max_order;
	t.broke = true;
	trace_open(c, &t);
	return c;
}

/*
 * Pages touched would be a better measure than pages passed.  Each touch in a
 * zone sends a whole window, whatever was left out before it.
 */
static bool touched(struct cache *c)
{
	unsigned long page, n;

	start(c, 32, 0, 0);
	for (page = 0; page < 1000; page++)
		cache_touch(c, 0, page);
	for (; page < 4000; page += 32)
		cache_touch(c, 0, page);
	n = cache_count_touched(c);
	printf("# %lu pages read, %lu touched in one stream, 2.3 times that are %lu\n",
	       c->n.pages, n, 23 * n / 10);
	return c->n.pages <= 23 * n / 10 + 2 * 32;
}

static const struct {
	const char *name;
	bool (*kept)(struct cache *c);
} promises[] = {
	{ "read-by-touched", touched },
};

void test_known(void)
{
	struct cache *c = cache_new(4096);
	unsigned int i;

	for (i = 0; i < sizeof(promises) / sizeof(promises[0]); i++)
		printf("ok known-%s # %s\n", promises[i].name,
		       promises[i].kept(c) ? "XPASS" : "XFAIL");
	cache_free(c);
}
