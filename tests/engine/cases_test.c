// SPDX-License-Identifier: GPL-2.0
/*
 * cases_test.c - the list of access patterns, with windows of 128 KiB
 *
 * The same list as for the guest, where a real file system answers.
 */
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "tests.h"

#define MIB_PAGES	256u
#define THREAD_RUNS	60u	/* of cases with several threads */

/* What the module is to do, should the list itself become looser than that. */
static const struct {
	const char *name;
	unsigned long misses;
	double mib;
} promised[] = {
	{ "forward", 1, 1024 },
	{ "sparse-forward", 2, 66 },
	{ "sparse-regions", 34, 66 },
	{ "sparse-backward", 4, 66 },
	{ "sparse-backward-seq", 4, 66 },
	{ "backward-seq", 16, 2050 },
	{ "backward-huge", 16, 2050 },
	{ "threads", 4, 257 },
	{ "sparse-threads", 8, 257 },
	{ "threads-backward-seq", 16, 257 },
	{ "random", CASE_ANY, 22 },
	{ "stride-1021", CASE_ANY, 22 },
	{ "random-runs", CASE_ANY, 23 },
};

static void hint(struct cache *c, enum case_hint h)
{
	c->env.sequential = h == HINT_SEQUENTIAL;
	c->env.random = h == HINT_RANDOM;
	if (h == HINT_HUGEPAGE && c->env.max_order)
		c->env.huge_pages = 1UL << c->env.max_order;
}

/* All threads of a phase in random order, each for up to @turn touches. */
static void phase(struct cache *c, const struct mmcase *mc, uint64_t npages,
		  enum case_phase which, unsigned int turn, struct rng *r)
{
	struct case_walk w[CASE_THREADS];
	bool going[CASE_THREADS];
	unsigned int i, left, burst;
	uint64_t page;

	for (i = 0; i < mc->threads; i++) {
		case_walk_start(&w[i], mc, npages, which, i);
		going[i] = true;
	}
	for (left = mc->threads; left;) {
		i = rng_below(r, mc->threads);
		if (!going[i])
			continue;
		for (burst = 1 + rng_below(r, turn); burst; burst--) {
			if (!case_walk_next(&w[i], &page)) {
				going[i] = false;
				left--;
				break;
			}
			cache_touch(c, 0, page);
		}
	}
}

/* One run of a case; threads take turns of up to @turn touches. */
static struct case_result play(struct cache *c, const struct mmcase *mc,
			       unsigned int max_order, unsigned int turn,
			       uint64_t seed, struct cache_counts *before)
{
	struct cache_config config = {
		.around = 16, .clip_retry = FAULT_CLIPS_RETRY
	};
	uint64_t npages = (uint64_t)mc->file_mib * MIB_PAGES;
	struct rng r;

	rng_seed(&r, seed);
	config.verify = mc->flags & CASE_VERIFY;
	c->env = (struct engine_env){
		.file_pages = npages, .max_pages = 32, .streams = 8,
		.max_order = max_order,
		.restart = true, .backward = true, .stride = true,
	};
	cache_open(c, &config);
	phase(c, mc, npages, CASE_PREPARE, turn, &r);
	hint(c, mc->hint);
	c->config.copies = mc->map == MAP_WRITE;
	*before = c->n;
	phase(c, mc, npages, CASE_WALK, turn, &r);
	return (struct case_result){
		.majflt = (int64_t)(c->n.misses - before->misses),
		.minflt = -1,
		.mib = (double)(c->n.pages - before->pages) / MIB_PAGES,
	};
}

static bool judge(const struct mmcase *mc, const struct case_result *run,
		  char *why, size_t size)
{
	uint64_t npages = (uint64_t)mc->file_mib * MIB_PAGES;
	size_t i;

	if (!case_judge(mc, npages, run, NULL, why, size))
		return false;
	for (i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
		if (strcmp(promised[i].name, mc->name))
			continue;
		if (run->majflt > (int64_t)promised[i].misses ||
		    run->mib > promised[i].mib) {
			snprintf(why, size, "%lld misses, %.1f MiB; %lu, %.0f promised",
				 (long long)run->majflt, run->mib,
				 promised[i].misses, promised[i].mib);
			return false;
		}
	}
	return true;
}

/* What threads do to each other depends on whose turn it is: several runs. */
static bool run_case(struct cache *c, const struct mmcase *mc,
		     unsigned int max_order)
{
	static const unsigned int turns[] = { 200, 2, 20 };
	unsigned int runs = mc->threads > 1 ? THREAD_RUNS : 1, i;
	struct cache_counts before;
	struct case_result run;
	char why[128];
	bool good = true;

	for (i = 0; i < runs && good; i++) {
		run = play(c, mc, max_order,
			   turns[i % (sizeof(turns) / sizeof(turns[0]))],
			   i + 1, &before);
		good = judge(mc, &run, why, sizeof(why));
	}
	printf("# %s: run %u of %u: %s; %lu late, %lu faults, %lu pages unused\n",
	       mc->name, i, runs, why,
	       c->n.windows[ENGINE_LATE] - before.windows[ENGINE_LATE],
	       c->n.faults - before.faults,
	       cache_wasted(c));
	printf("%sok case-%s-order-%u\n", good ? "" : "not ", mc->name,
	       max_order);
	return good;
}

/*
 * A stride within the windows that credit pays for: the misses that show are
 * those between these windows, and seem to be strides of their own.
 */
static bool fresh_stride(struct cache *c)
{
	struct cache_config config = { .around = 1 };
	unsigned long page = 640;
	unsigned int i;

	/* small: credit for all of it */
	c->env = (struct engine_env){
		.file_pages = page + 1, .max_pages = 32, .streams = 8,
		.restart = true, .backward = true, .stride = true,
	};
	cache_open(c, &config);
	for (i = 0; i < 80; i++, page -= 8)
		cache_touch(c, 0, page);
	printf("# %lu misses in a fresh file, 80 touches 8 pages apart, backward, 6 allowed\n",
	       c->n.misses);
	printf("%sok case-fresh-stride\n", c->n.misses > 6 ? "not " : "");
	return c->n.misses <= 6;
}

unsigned int test_cases(void)
{
	static const unsigned int orders[] = { 0, 9 };
	struct cache *c = cache_new(2048 * MIB_PAGES);
	unsigned int failed = 0;
	size_t i, j;

	for (i = 0; i < nr_mmcases; i++)
		for (j = 0; j < 2; j++)
			failed += !run_case(c, &mmcases[i], orders[j]);
	failed += !fresh_stride(c);
	cache_free(c);
	return failed;
}
