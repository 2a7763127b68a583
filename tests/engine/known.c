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

static void run(struct cache *c, unsigned long page, int step, unsigned long n)
{
	for (; n; n--, page += (unsigned long)(long)step)
		cache_touch(c, 0, page);
}

/* A window that ends with a folio is short, the next one is not. */
static bool growing(struct cache *c)
{
	start(c, 512, 9, 0);
	run(c, 322, 1, 383);
	printf("# %lu pages read for a run of 383, 16/7 of it and 4 are %d\n",
	       c->n.pages, 16 * 383 / 7 + 4);
	return c->n.pages <= 16 * 383 / 7 + 4;
}

/* Windows of 4, 8, 16 and 32 pages all give notice of a quarter. */
static bool waits(struct cache *c)
{
	start(c, 32, 0, 32);
	run(c, 0, 1, 200);
	printf("# %lu waits in a run of 200, 2 + log2(32 / 4) are 5\n",
	       c->n.waits);
	return c->n.waits <= 5;
}

/*
 * design.md counts pages touched where engine.c counts pages passed.  Each
 * touch in a zone sends a whole window, whatever was left out before it.
 */
static bool touched(struct cache *c)
{
	unsigned long page, n;

	start(c, 32, 0, 0);
	for (page = 0; page < 100; page++)
		cache_touch(c, 0, page);
	for (; page < 4000; page += 32)
		cache_touch(c, 0, page);
	n = cache_count_touched(c);
	printf("# %lu pages read, %lu touched in one stream, 2.3 times that are %lu\n",
	       c->n.pages, n, 23 * n / 10);
	return c->n.pages <= 23 * n / 10 + 2 * 32;
}

/* drop_twins() looks for the page that missed, not for its huge page. */
static bool huge_twins(struct cache *c)
{
	static const unsigned int pages[] = { 719, 2189, 1606, 3416 };
	const struct engine_stream *s;
	unsigned int i, j, twins = 0;

	start(c, 16, 9, 0);
	c->env.huge_pages = 512;
	c->ef->clock = 0;	/* with credit */
	for (i = 0; i < 4; i++)
		cache_touch(c, 0, pages[i]);
	s = c->ef->streams;
	for (i = 0; i < ENGINE_MAX_STREAMS; i++)
		for (j = 0; j < i; j++)
			twins += s[i].size && s[j].size &&
				 s[i].step == s[j].step &&
				 s[i].start + s[i].size == s[j].start + s[j].size;
	for (i = 0; i < ENGINE_MAX_STREAMS; i++)
		for (j = 0; j < ENGINE_MAX_STREAMS; j++)
			twins += s[i].size && s[j].size && i != j &&
				 s[i].step == s[j].step &&
				 s[i].start + s[i].size == s[j].start;
	printf("# %u pairs of streams for one reader of huge pages\n", twins);
	return !twins;
}

/* What is asked for again is as large as it was, not as the knob says now. */
static bool late_size(struct cache *c)
{
	start(c, 32, 0, 0);
	run(c, 0, 1, 40);
	cache_drop(c, 0, 4096);
	c->env.max_pages = 4;
	c->n.pages = 0;
	cache_touch(c, 0, 40);
	printf("# %lu pages in one window, largest is 4 now\n", c->n.pages);
	return c->n.pages <= 4;
}

/*
 * A stride within the windows that credit pays for: the misses that show are
 * those between these windows, and seem to be strides of their own.
 */
static bool fresh_stride(struct cache *c)
{
	start(c, 32, 0, 0);
	c->ef->clock = 0;
	c->env.file_pages = 641;	/* small: credit for all of it */
	run(c, 640, -8, 80);
	printf("# %lu misses in a fresh file, 80 touches 8 pages apart, backward\n",
	       c->n.misses);
	return c->n.misses <= 6;
}

static const struct {
	const char *name;
	bool (*kept)(struct cache *c);
} promises[] = {
	{ "growing-with-folios", growing },
	{ "waits", waits },
	{ "read-by-touched", touched },
	{ "huge-twins", huge_twins },
	{ "window-asked-again", late_size },
	{ "fresh-stride", fresh_stride },
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
