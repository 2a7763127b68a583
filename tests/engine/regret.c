// SPDX-License-Identifier: GPL-2.0
/*
 * regret.c - what the engine promises about waits and waste
 *
 * engine.c's header comment has the reasoning.  Here the two sides of each
 * inequality are counted while random traces run, on a file that keeps what it
 * reads (no eviction), by whoever drives the engine.
 *
 * Growing: with w(1) the first window of a stream and P the pages from its
 * start to where its reader got when a window was asked for,
 *
 *	read <= 16/7 P + c(w(1))
 *
 * The comment has c = WINDOW_FIRST for w(1) = WINDOW_FIRST: twice the last
 * window w is unused beyond a quarter of it, the sum of all before is at least
 * w - w(1), so read = 4w - w(1) where P > 7/4 w - w(1), which leaves
 * c(w(1)) = 9/7 w(1) - 16/7.  That is 20/7 for w(1) = WINDOW_FIRST; smaller
 * first windows grow to WINDOW_FIRST at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

#define FAIL(...) (snprintf(why, size, __VA_ARGS__), false)

static unsigned int log2_up(unsigned long n)
{
	unsigned int bits = 0;

	while (1UL << bits < n)
		bits++;
	return bits;
}

/*
 * What a stream may have read when its reader got to page @passed of it.  With
 * folios windows end early and zones begin early: 5/2 in place of 16/7 is what
 * a search of all alignments found for a run that starts from nothing, and no
 * more than 20/7 for one that starts with any other window.
 */
static unsigned long growing_limit(unsigned long passed, unsigned long first)
{
	unsigned long times_14 = (first <= WINDOW_FIRST ? 35 : 40) * passed;

	if (first <= WINDOW_FIRST)
		return times_14 / 14 + WINDOW_FIRST;
	return (times_14 + 18 * first) / 14;
}

static unsigned long established_limit(unsigned long passed,
				       unsigned long largest)
{
	return passed + 2 * largest;
}

static unsigned long windows_ahead(const struct cache *c)
{
	return c->n.windows[ENGINE_FIRST] + c->n.windows[ENGINE_START] +
	       c->n.windows[ENGINE_LATE] + c->n.windows[ENGINE_AHEAD];
}

/* Runs */

static void random_file(struct trace *t, struct rng *r)
{
	t->env.file_pages = 512 + rng_log(r, TRACE_PAGES / 2);
	t->env.max_pages = rng_chance(r, 40) ? 32 : rng_log(r, 512);
	t->env.max_order = rng_chance(r, 50) ? 0 : rng_below(r, 10);
	t->config.around = rng_chance(r, 20) ? 1 : 16;
}

static int32_t run_step(struct rng *r)
{
	static const int32_t steps[] = { 1, 1, -1, -1, 2, -2, 8, -8, 61, -61 };

	if (rng_chance(r, 10))
		return (int32_t)rng_log(r, 400) + 1;
	return steps[rng_below(r, sizeof(steps) / sizeof(steps[0]))];
}

static bool strided(int step)
{
	return step != 1 && step != -1;
}

/* Shrinking may have made something else of it. */
static bool are_runs(const struct trace *t)
{
	uint32_t last[TRACE_WALKERS];
	unsigned int i;

	memset(last, 0xff, sizeof(last));
	for (i = 0; i < t->nr; i++) {
		const struct trace_op *op = &t->op[i];
		int32_t step = t->step[op->who];

		if (op->kind != OP_TOUCH)
			continue;
		if (last[op->who] != UINT32_MAX &&
		    last[op->who] + (uint32_t)step != op->page)
			return false;
		if (step == -1 ? !t->env.backward : strided(step) &&
						    !t->env.stride)
			return false;
		last[op->who] = op->page;
	}
	return true;
}

/*
 * A run starts at the middle of a file or farther back, so that it has room;
 * the run of a stride ends where the file does.
 */
static void make_run(struct trace *t, struct rng *r)
{
	int32_t step = run_step(r);
	uint32_t page, n, pages;

	random_file(t, r);
	t->step[0] = step;
	t->nr_walkers = 1;
	pages = (uint32_t)t->env.file_pages;
	page = step > 0 ? rng_below(r, pages / 2 + 1) :
			  pages - 1 - rng_below(r, pages / 2 + 1);
	/* most end where a window has just been asked for */
	for (n = rng_log(r, TRACE_OPS); n && page < pages; n--) {
		trace_touch(t, 0, page);
		page += (uint32_t)step;
	}
}

/* Does the file go on for @steps from touch @i, that one counted? */
static bool steps_follow(const struct trace *t, unsigned int i,
			 unsigned long steps)
{
	long last = (long)t->op[i].page + ((long)steps - 1) * t->step[0];

	return last >= 0 && last < (long)t->env.file_pages;
}

static void make_run_broke(struct trace *t, struct rng *r)
{
	make_run(t, r);
	t->broke = true;
}

/*
 * A run waits for its first page, and for its second; a stride shows with the
 * third.  Unless the window is one page, nothing else is missed.
 */
static bool run_holds(struct cache *c, const struct trace *t, char *why,
		      size_t size)
{
	unsigned long m = t->env.max_pages, misses, limit, got, n = t->nr;

	if (!are_runs(t) || !t->broke)
		return true;
	trace_replay(c, t);
	misses = strided(t->step[0]) ? 3 : 2;
	/* near the end of the file a stride is not worth a stream */
	if (strided(t->step[0]) && n > 3 && !steps_follow(t, 2, STEPS_FEW))
		misses = n;
	if (m > 1 && c->n.misses > misses)
		return FAIL("%lu misses in a run of %u, %lu allowed",
			    c->n.misses, t->nr, misses);
	got = c->n.pages;
	/* what came before the stream was one page at a time */
	limit = growing_limit(n, WINDOW_FIRST);
	if (got > limit)
		return FAIL("%lu pages read for a run of %u, %lu allowed", got,
			    t->nr, limit);
	limit = established_limit(n, m) + 2;
	if (got > limit)
		return FAIL("%lu pages read for a run of %u, largest window %lu",
			    got, t->nr, m);
	limit = n / m + 2 + log2_up(m) + misses;
	if (!strided(t->step[0]))
		/* windows end where a folio would */
		limit = 2 * n / m + 2 + log2_up(m) + misses;
	if (windows_ahead(c) > limit)
		return FAIL("%lu windows for a run of %u, %lu allowed",
			    windows_ahead(c), t->nr, limit);
	return true;
}

/*
 * On credit, a forward run of a fresh file waits once, wherever it starts.
 * Backward it waits for the page before those that were read around the first.
 */
static bool fresh_holds(struct cache *c, const struct trace *t, char *why,
			size_t size)
{
	unsigned long m = t->env.max_pages, misses, limit;

	if (!are_runs(t) || t->broke)
		return true;
	trace_replay(c, t);
	/* no window is read around pages where it would be too small */
	misses = strided(t->step[0]) ? t->nr : t->step[0] < 0 ? 2 :
		 m > WINDOW_FIRST ? 1 : 2;
	if (m > 1 && c->n.misses > misses)
		return FAIL("%lu misses in a run of %u, fresh, %lu allowed",
			    c->n.misses, t->nr, misses);
	/* a step within the window goes through all the pages on the way */
	limit = (unsigned long)t->nr * (unsigned int)abs(t->step[0]);
	limit = established_limit(limit, m) + m + 5 * WINDOW_FIRST;
	if (c->n.pages > limit)
		return FAIL("%lu pages read for a run of %u, fresh, %lu allowed",
			    c->n.pages, t->nr, limit);
	return true;
}

/*
 * Blocks of n pages, each D after the one before: two of them are streams, the
 * first page of the third shows what they are, and up to LONGER_LIMIT misses
 * how long.  One more may come in a block that was asked for before that.
 */
static void make_blocks(struct trace *t, struct rng *r)
{
	uint32_t page, apart, n, i;

	random_file(t, r);
	t->broke = true;
	t->env.file_pages = TRACE_PAGES;
	t->env.max_pages = 8 + rng_log(r, 120);
	n = 2 + rng_below(r, (uint32_t)t->env.max_pages / 2);
	apart = 4 * (uint32_t)t->env.max_pages + rng_log(r, 200);
	t->nr_walkers = 1;
	t->step[0] = 1;
	for (page = rng_below(r, TRACE_PAGES / 4);
	     page + n < TRACE_PAGES && t->nr + n <= TRACE_OPS; page += apart)
		for (i = 0; i < n; i++)
			trace_touch(t, 0, page + i);
}

/* Pages in a block; 0 if shrinking made something else of the blocks. */
static unsigned int block_pages(const struct trace *t)
{
	unsigned int i, n = 0, apart;

	while (n < t->nr && t->op[n].page == t->op[0].page + n)
		n++;
	if (n < 2 || n == t->nr || t->nr % n)
		return 0;
	apart = t->op[n].page - t->op[0].page;
	for (i = 0; i < t->nr; i++)
		if (t->op[i].kind != OP_TOUCH ||
		    t->op[i].page != t->op[0].page + i / n * apart + i % n)
			return 0;
	return n > t->env.max_pages / 2 + 1 || apart < 4 * t->env.max_pages ?
	       0 : n;
}

static bool blocks_hold(struct cache *c, const struct trace *t, char *why,
			size_t size)
{
	unsigned long n = block_pages(t), limit, m = t->env.max_pages;

	if (!n || !t->broke || !t->env.stride)
		return true;
	trace_replay(c, t);
	limit = 2 * 2 + 1 + LONGER_LIMIT + 1;
	if (c->n.misses > limit)
		return FAIL("%lu misses in %lu blocks of %lu, %lu allowed",
			    c->n.misses, t->nr / n, n, limit);
	/* blocks too long by a sixth, and two that the reader did not reach */
	limit = growing_limit(3 * n, WINDOW_FIRST) + 7 * t->nr / 6 + 2 * m;
	if (c->n.pages > limit)
		return FAIL("%lu pages read for %u in blocks of %lu, %lu allowed",
			    c->n.pages, t->nr, n, limit);
	return true;
}

/*
 * A page alone, a run, and a page, equally far from each other: what the first
 * two have in common is one page, so no blocks are read for the third.
 */
static void make_unequal(struct trace *t, struct rng *r)
{
	uint32_t apart, n, i;

	t->broke = true;
	n = 8 + rng_below(r, 64);
	apart = 200 + rng_below(r, 800);
	t->nr_walkers = 1;
	trace_touch(t, 0, 0);
	for (i = 0; i < n; i++)
		trace_touch(t, 0, apart + i);
	trace_touch(t, 0, 2 * apart);
}

static bool unequal_holds(struct cache *c, const struct trace *t, char *why,
			  size_t size)
{
	unsigned long before = 0;
	unsigned int i;

	if (!t->broke || t->nr < 8 || !t->env.stride ||
	    t->op[t->nr - 1].page != 2 * t->op[1].page)
		return true;
	trace_open(c, t);
	for (i = 0; i < t->nr; i++) {
		before = c->n.pages;
		trace_do(c, t, i);
	}
	if (c->n.pages - before > WINDOW_FIRST)
		return FAIL("%lu pages read at one distance after a page and a run, %u allowed",
			    c->n.pages - before, WINDOW_FIRST);
	return true;
}

/*
 * Three streams that start equally far from each other, one after the other:
 * for a while the third, which goes on, seems to be blocks.  So do the others,
 * or they end.
 */
static void make_apart(struct trace *t, struct rng *r)
{
	uint32_t at[3], apart = TRACE_PAGES / 8, i, turn, burst, lead;
	bool end = rng_chance(r, 30);

	random_file(t, r);
	t->broke = true;
	t->env.file_pages = TRACE_PAGES;
	t->env.max_pages = 8 + rng_log(r, 120);
	t->nr_walkers = 3;
	lead = 1 + rng_log(r, 20);
	burst = rng_log(r, 8) + 1;
	for (i = 0; i < 3; i++) {
		t->step[i] = 1;
		at[i] = i * apart;
	}
	for (turn = 0; t->nr + 3 * burst <= TRACE_OPS; turn++)
		for (i = 0; i < 3 * burst; i++)
			if (turn >= i / burst * lead &&
			    !(end && turn >= (i / burst + 1) * lead &&
			      i / burst < 2))
				trace_touch(t, i / burst, at[i / burst]++);
}

static bool apart_holds(struct cache *c, const struct trace *t, char *why,
			size_t size)
{
	unsigned long limit = 3 * 2 + LONGER_LIMIT + 2;

	if (!are_runs(t) || !t->broke || t->nr_walkers != 3)
		return true;
	trace_replay(c, t);
	if (c->n.misses > limit)
		return FAIL("%lu misses in three streams, %lu allowed",
			    c->n.misses, limit);
	return true;
}

static void make_run_slow(struct trace *t, struct rng *r)
{
	make_run_broke(t, r);
	/*
	 * A window that is sent when the one before is entered is in time.
	 * Windows may be a power of two below the largest.
	 */
	t->config.latency = rng_log(r, (uint32_t)t->env.max_pages);
	t->config.latency = (t->config.latency + 1) / 2;
	t->config.around = 1;
}

static bool waits_hold(struct cache *c, const struct trace *t, char *why,
		       size_t size)
{
	unsigned long m = t->env.max_pages, limit = 2;

	if (!are_runs(t) || !t->broke ||
	    t->config.latency > (m + 1) / 2)
		return true;
	trace_replay(c, t);
	limit += strided(t->step[0]);
	if (m > WINDOW_FIRST)
		limit += log2_up((m + WINDOW_FIRST - 1) / WINDOW_FIRST);
	/* the first window of the largest size */
	limit++;
	/* one more where the first window that ends with a folio is short */
	limit += !!(m & (m - 1));
	/* half a window is not enough notice: until that is seen */
	if (t->config.latency > m / 4)
		limit += WAITS_MANY;
	if (m >= WINDOW_FIRST && c->n.waits > limit)
		return FAIL("%lu waits in a run of %u, %lu allowed", c->n.waits,
			    t->nr, limit);
	return true;
}

/*
 * In bulk the zone of a largest window is all of it, but for the first one's:
 * whoever has to be told nearly a window before waits for those two at most.
 * So after a jump over what was read ahead, which is the second walker.
 */
static void make_run_bulk(struct trace *t, struct rng *r)
{
	uint32_t m = 16u << rng_below(r, 4), page, jump;

	t->broke = true;
	t->env.bulk = true;
	t->env.file_pages = TRACE_PAGES;
	t->env.max_pages = m;
	t->env.max_order = rng_chance(r, 50) ? 0 : rng_below(r, 10);
	t->config.latency = 3 * m / 2 + rng_below(r, m / 4);
	t->config.around = 1;
	t->nr_walkers = 2;
	t->step[0] = rng_chance(r, 50) ? 1 : -1;
	t->step[1] = t->step[0];
	page = TRACE_PAGES / 2 + rng_below(r, m);
	while (t->nr < TRACE_OPS / 2) {
		trace_touch(t, 0, page);
		page += (uint32_t)t->step[0];
	}
	for (jump = rng_below(r, 2 * m); jump; jump--)
		page += (uint32_t)t->step[0];
	while (t->nr < TRACE_OPS) {
		trace_touch(t, 1, page);
		page += (uint32_t)t->step[1];
	}
}

static bool bulk_holds(struct cache *c, const struct trace *t, char *why,
		       size_t size)
{
	unsigned long m = t->env.max_pages, limit;

	if (!are_runs(t) || !t->broke || !t->env.bulk || m < 16 ||
	    (m & (m - 1)) || t->config.latency >= 7 * m / 4)
		return true;
	trace_replay(c, t);
	limit = t->nr_walkers * (2 + log2_up(m / WINDOW_FIRST) + 2);
	if (c->n.waits > limit)
		return FAIL("%lu waits in a run of %u in bulk, %lu allowed",
			    c->n.waits, t->nr, limit);
	return true;
}

/*
 * A long run earns credit.  Then others start next to a page that is there, as
 * a tensor after one whose last page was touched: with a large window each, as
 * long as they use what they get.
 */
#define GAP_RUN		(TRACE_OPS / 2)
#define GAP_PAGES	24u	/* thrice the largest window */

static void make_gaps(struct trace *t, struct rng *r)
{
	struct trace_op fill = { .kind = OP_FILL, .count = 1 };
	uint32_t page, n;

	t->broke = true;
	t->env.max_pages = 6 + rng_below(r, 3);
	t->config.around = rng_chance(r, 20) ? 1 : 16;
	t->env.file_pages = TRACE_PAGES;
	t->env.stride = false;
	t->nr_walkers = 2;
	t->step[0] = 1;
	t->step[1] = rng_chance(r, 50) ? 1 : -1;
	page = rng_below(r, TRACE_PAGES / 4);
	for (n = 0; n < GAP_RUN; n++)
		trace_touch(t, 0, page++);
	page = TRACE_PAGES / 2;
	while (t->nr + GAP_PAGES < TRACE_OPS) {
		page += 4 * GAP_PAGES + rng_below(r, 4 * GAP_PAGES);
		fill.page = page - (uint32_t)t->step[1];
		trace_add(t, fill);
		for (n = 0; n < GAP_PAGES; n++)
			trace_touch(t, 1, page + n * (uint32_t)t->step[1]);
	}
}

static bool gaps_hold(struct cache *c, const struct trace *t, char *why,
		      size_t size)
{
	unsigned long pages, m = t->env.max_pages;
	unsigned int i, n = 0, gaps = 0;
	uint32_t next = 0;

	/* shrunk, it would test something else */
	if (m < 6 || m > 8 || t->env.stride || !t->env.restart || !t->broke ||
	    !t->env.backward)
		return true;
	trace_open(c, t);
	for (i = 0; i < t->nr && t->op[i].kind == OP_TOUCH; i++)
		trace_do(c, t, i);
	if (i != GAP_RUN)
		return true;
	for (; i < t->nr; i++, n++) {
		if (t->op[i].kind == OP_FILL) {
			if (gaps && n <= GAP_PAGES)
				return true;
			n = 0;
			gaps++;
			next = t->op[i].page;
		} else if (t->op[i].page != next) {
			return true;
		}
		next += (uint32_t)t->step[1];
		pages = c->n.pages;
		trace_do(c, t, i);
		if (n == 1 && c->n.pages - pages < m / 2)
			return FAIL("%lu pages in the first window of gap %u",
				    c->n.pages - pages, gaps);
	}
	pages = GAP_RUN + gaps * (GAP_PAGES + 1 + 2 * m) + 2 * m;
	if (c->n.pages > pages)
		return FAIL("%lu pages read, %u gaps, %lu allowed", c->n.pages,
			    gaps, pages);
	return true;
}

/*
 * Several runs at once, each in a part of the file of its own, half as many as
 * there may be streams, and few enough for all their starts to be remembered.
 */
#define RUNS		8u

static void make_runs(struct trace *t, struct rng *r)
{
	uint32_t at[RUNS], left[RUNS], n, part, i, burst, sum = 0;

	random_file(t, r);
	t->broke = true;
	t->env.stride = false;	/* three starts may seem to be one */
	t->env.file_pages = TRACE_PAGES;
	t->env.max_pages = rng_chance(r, 40) ? 32 : rng_log(r, 128);
	t->nr_walkers = n = 2 + rng_below(r, RUNS - 1);
	/* one for the first touch of each as well, on credit earned by others */
	t->env.streams = 2 * n;
	part = TRACE_PAGES / n;
	for (i = 0; i < n; i++) {
		t->step[i] = rng_chance(r, 50) ? 1 : -1;
		left[i] = rng_log(r, TRACE_OPS / n);
		sum += left[i];
		at[i] = i * part + part / 2 + rng_below(r, part / 8);
	}
	burst = rng_log(r, 64);
	for (i = 0; sum; i = rng_below(r, n)) {
		uint32_t b = 1 + rng_below(r, burst);

		for (; b && left[i]; b--, left[i]--, sum--) {
			trace_touch(t, i, at[i]);
			at[i] += (uint32_t)t->step[i];
		}
	}
}

static bool runs_hold(struct cache *c, const struct trace *t, char *why,
		      size_t size)
{
	unsigned long n[TRACE_WALKERS] = { 0 }, misses = 0, limit = 0;
	unsigned int i;

	if (!are_runs(t) || !t->broke || t->env.streams < 2 * t->nr_walkers)
		return true;
	trace_replay(c, t);
	for (i = 0; i < t->nr; i++)
		n[t->op[i].who]++;
	for (i = 0; i < t->nr_walkers; i++) {
		unsigned long most = growing_limit(n[i],
						   WINDOW_FIRST);

		if (most > established_limit(n[i], t->env.max_pages) + 2)
			most = established_limit(n[i], t->env.max_pages) + 2;
		limit += n[i] ? most : 0;
		misses += n[i] < 2 ? n[i] : 2;
	}
	/* long runs earn the credit that short ones start on */
	limit += 4 * (t->nr / t->env.max_pages);
	if (t->env.max_pages > 1 && c->n.misses > misses)
		return FAIL("%lu misses in %u runs, %lu allowed", c->n.misses,
			    t->nr_walkers, misses);
	if (c->n.pages > limit)
		return FAIL("%lu pages read for %u runs, %lu allowed",
			    c->n.pages, t->nr_walkers, limit);
	return true;
}

/*
 * Threads that read slices of a file, equally far from each other, in turn:
 * soon seen to be no blocks, for the earlier ones go on as well.
 */
static void make_slices(struct trace *t, struct rng *r)
{
	uint32_t at[TRACE_WALKERS], apart, turn = 2 + rng_below(r, 6), i, j;

	t->broke = true;
	t->env.file_pages = TRACE_PAGES;
	t->env.max_pages = 32;
	t->env.max_order = rng_chance(r, 50) ? 0 : 9;
	t->nr_walkers = 4 + rng_below(r, 5);
	apart = TRACE_PAGES / 8;
	for (i = 0; i < t->nr_walkers; i++) {
		t->step[i] = 1;
		at[i] = i * apart;
	}
	while (t->nr + t->nr_walkers * turn <= TRACE_OPS)
		for (i = 0; i < t->nr_walkers; i++)
			for (j = 0; j < turn; j++)
				trace_touch(t, i, at[i]++);
}

static bool slices_hold(struct cache *c, const struct trace *t, char *why,
			size_t size)
{
	unsigned long limit = 2 * t->nr_walkers + 4;

	if (!are_runs(t) || !t->broke || t->nr_walkers < 4)
		return true;
	trace_replay(c, t);
	if (c->n.misses > limit)
		return FAIL("%lu misses in %u slices, %lu allowed",
			    c->n.misses, t->nr_walkers, limit);
	return true;
}

/*
 * Some runs that go on and on, and short ones that come and go: those that were
 * used last keep their streams.
 */
#define LONG_RUNS	3u

static void make_intruders(struct trace *t, struct rng *r)
{
	uint32_t at[LONG_RUNS], part = TRACE_PAGES / (LONG_RUNS + 1), i, j, k;
	uint32_t rounds = 2 + rng_below(r, 10), place;

	random_file(t, r);
	t->broke = true;
	t->env.stride = false;
	t->env.file_pages = TRACE_PAGES;
	t->env.max_pages = 5 + rng_below(r, 4);
	t->env.max_order = 0;
	/* long ones, the short one, and first touches on credit */
	t->env.streams = 2 * LONG_RUNS;
	t->nr_walkers = LONG_RUNS + rounds;
	for (i = 0; i < LONG_RUNS; i++) {
		t->step[i] = rng_chance(r, 50) ? 1 : -1;
		at[i] = i * part + part / 2 + rng_below(r, part / 4);
	}
	for (k = 0; k < rounds; k++) {
		for (i = 0; i < LONG_RUNS; i++)
			for (j = 0; j < 16; j++) {
				trace_touch(t, i, at[i]);
				at[i] += (uint32_t)t->step[i];
			}
		i = LONG_RUNS + k;
		t->step[i] = rng_chance(r, 50) ? 1 : -1;
		place = LONG_RUNS * part + 100 + 300 * k + rng_below(r, 64);
		trace_touch(t, i, place);
		trace_touch(t, i, place + (uint32_t)t->step[i]);
	}
}

static bool intruders_hold(struct cache *c, const struct trace *t, char *why,
			   size_t size)
{
	bool came[TRACE_WALKERS] = { 0 };
	unsigned int i, misses = 0;

	if (!are_runs(t) || t->env.streams < 2 * LONG_RUNS ||
	    t->env.max_pages < 5 || t->env.max_pages > 8)
		return true;
	trace_replay(c, t);
	for (i = 0; i < t->nr; i++) {
		if (!came[t->op[i].who])
			misses += 2;
		came[t->op[i].who] = true;
	}
	if (c->n.misses > misses)
		return FAIL("%lu misses, %u allowed", c->n.misses, misses);
	return true;
}

/* Anything */

/**
 * struct ledger - what a stream has read, from its first window on
 * @base:	first page of that, in the direction of the stream
 * @read:	pages in its windows
 * @first:	pages that the first one was to have
 * @largest:	largest window that it was permitted
 */
struct ledger {
	unsigned long base;
	unsigned long read;
	unsigned long first;
	unsigned long largest;
	int step;
};

struct books {
	struct engine_file before;
	struct ledger of[ENGINE_MAX_STREAMS];
	unsigned long allowance;	/* for starts, of all streams so far */
	unsigned long crossed;	/* streams sent on by who was not on their way */
	char *why;
	size_t size;
	bool bad;
};

static unsigned long passed(const struct ledger *l, unsigned long page)
{
	unsigned long step = l->step < 0 ? -(unsigned long)l->step :
					   (unsigned long)l->step;
	unsigned long d = l->step < 0 ? l->base - page : page - l->base;

	return d / step + 1;
}

static void book(struct cache *c, const struct cache_event *e)
{
	struct books *b = c->watcher;
	const struct engine_window *w = &e->w;
	const struct engine_file *ef = c->ef;
	const struct engine_stream *s = NULL, *was = NULL;
	unsigned long largest = largest_window(&c->env), p, end, limit;
	struct ledger *l;
	unsigned int i;
	bool new;

	if (c->env.huge_pages)
		largest = largest > 2 * c->env.huge_pages ? largest :
			  2 * c->env.huge_pages;
	for (i = 0; i < ef->nr_zones && w->pages; i++) {
		s = &ef->streams[i];
		was = &b->before.streams[i];
		if (s->size == w->pages && s->start == w->start &&
		    s->step == w->step && s->stamp == ef->clock)
			break;
	}
	if (!w->pages || i == ef->nr_zones) {
		/* nothing, a page alone, or what was asked for before */
		if (w->pages && w->why == ENGINE_FIRST)
			b->allowance += w->pages;
		goto out;
	}
	l = &b->of[i];
	if (was->size && was->size == s->size && was->start == s->start &&
	    was->step == s->step)
		goto out;	/* the same once more, all of it */
	new = w->why == ENGINE_FIRST || w->why == ENGINE_START ||
	      (w->why == ENGINE_AHEAD &&
	       e->page - b->before.zones[i].first >= b->before.zones[i].pages);
	if (new) {
		l->step = s->step;
		l->base = s->step == -1 ? s->start + s->size - 1 : s->start;
		l->read = s->size;
		l->first = s->want;	/* less where a folio ends */
		l->largest = largest;
		if (c->env.bulk)
			b->allowance += 3 * largest / 2;
		if (c->env.huge_pages)
			b->allowance += 2 * largest;
		else
			b->allowance += 2 * (s->want > WINDOW_FIRST ?
					     s->want : WINDOW_FIRST);
		goto out;
	}
	l->read += s->size;
	p = e->page - (unsigned long)(long)s->step;
	b->crossed += p < c->env.file_pages && !cache_touched(c, p);
	end = passed(l, was->start);
	if (was->step != -1)
		end += was->size - 1;
	/* a jump over what was not read is as good as a start */
	if (e->missing && c->env.huge_pages)
		b->allowance += 2 * largest;
	else if (e->missing && passed(l, e->page) > end + 1)
		b->allowance += 2 * s->size;
	l->largest = largest > l->largest ? largest : l->largest;
	p = passed(l, e->page);
	if (c->env.huge_pages || was->full)
		limit = established_limit(p, l->largest);
	else
		limit = growing_limit(p, l->first);
	if (c->env.bulk)
		limit += 3 * l->largest / 2;
	if (l->read > limit && !b->bad) {
		b->bad = true;
		snprintf(b->why, b->size,
			 "stream from %lu, step %d: %lu pages read when %lu were passed, %lu allowed, %s",
			 l->base, l->step, l->read, p, limit,
			 was->full ? "established" : "growing");
	}
out:
	b->before = *ef;
}

static void make_any(struct trace *t, struct rng *r)
{
	uint32_t at[TRACE_WALKERS] = { 0 }, left[TRACE_WALKERS] = { 0 };
	uint32_t n, i, length, burst = 1 + rng_log(r, 32), b, pages;
	uint32_t longest = rng_log(r, 300);

	random_file(t, r);
	if (rng_chance(r, 5)) {
		t->env.max_order = 1 + rng_below(r, 9);
		t->env.huge_pages = 1UL << t->env.max_order;
	}
	t->env.streams = rng_chance(r, 50) ? 8 : 1 + rng_below(r, 32);
	t->env.sequential = rng_chance(r, 5);
	t->broke = rng_chance(r, 50);
	t->procs = 1 + rng_below(r, 2);
	pages = (uint32_t)t->env.file_pages;
	t->nr_walkers = n = rng_log(r, TRACE_WALKERS);
	for (i = 0; i < n; i++)
		t->step[i] = run_step(r);
	length = 8 + rng_log(r, 300);
	while (t->nr < length) {
		i = rng_below(r, n);
		for (b = 1 + rng_below(r, burst); b && t->nr < length; b--) {
			if (!left[i] || at[i] >= pages) {
				at[i] = rng_below(r, pages);
				left[i] = rng_log(r, longest);
			}
			trace_touch(t, i, at[i]);
			at[i] += (uint32_t)t->step[i];
			left[i]--;
		}
	}
	t->env.bulk = rng_chance(r, 10);
}

/*
 * Whatever the trace, no stream reads more than it may.  And, of the file as a
 * whole,
 *
 *	pages read <= 16/7 passed + starts + 32/7 (largest window) hops
 *
 * where a start costs twice its first window.  Passed are the pages touched,
 * and those that a stride leaves out of what was read ahead.  A hop is a touch
 * in or next to what had been read ahead by someone who was not on his way, or
 * a run that crosses the way of another stream: to the engine it looks as if
 * the pages between had been passed.
 */
static bool read_ahead(const struct cache *c, unsigned long page)
{
	return page < c->env.file_pages && cache_has(c, page) &&
	       !cache_touched(c, page);
}

static bool read_ahead_near(const struct cache *c, unsigned long page)
{
	return read_ahead(c, page - 1) || read_ahead(c, page) ||
	       read_ahead(c, page + 1);
}

static bool any_holds(struct cache *c, const struct trace *t, char *why,
		      size_t size)
{
	struct books b = { .why = why, .size = size };
	uint32_t last[TRACE_WALKERS], step;
	unsigned long passed = 0, hops = 0, limit, m = largest_window(&t->env);
	unsigned int i;

	if (t->env.huge_pages && m < 2 * t->env.huge_pages)
		m = 2 * t->env.huge_pages;
	memset(last, 0xff, sizeof(last));
	c->watch = book;
	c->watcher = &b;
	trace_open(c, t);
	for (i = 0; i < t->nr && !b.bad; i++) {
		const struct trace_op *op = &t->op[i];
		bool new = !cache_touched(c, op->page);

		step = (uint32_t)abs(t->step[op->who]);
		if (new && read_ahead_near(c, op->page)) {
			hops += last[op->who] + (uint32_t)t->step[op->who] !=
				op->page;
			passed += step < 2 * m ? step : 2 * m;
		} else {
			passed += new;
		}
		last[op->who] = op->page;
		trace_do(c, t, i);
	}
	c->watch = NULL;
	if (b.bad)
		return false;
	hops += b.crossed;
	limit = growing_limit(passed + 2 * m * hops,
			      WINDOW_FIRST + 1) + b.allowance;
	if (c->n.pages > limit)
		return FAIL("%lu pages read, %lu passed, %lu hops, %lu for starts: %lu allowed",
			    c->n.pages, passed, hops, b.allowance, limit);
	return true;
}

/*
 * A run goes on where cached pages end: its stream was pushed out of the
 * table, or others read them.  One wait, and it is under way.
 */
static void make_resume(struct trace *t, struct rng *r)
{
	struct trace_op fill = { .kind = OP_FILL };
	uint32_t n;

	do {
		t->nr = 0;
		make_run_broke(t, r);
	} while (strided(t->step[0]) || t->nr == TRACE_OPS);
	n = (uint32_t)t->nr;
	memmove(&t->op[1], &t->op[0], n * sizeof(t->op[0]));
	fill.count = (uint16_t)rng_log(r, 200);
	if (t->step[0] > 0)
		fill.page = t->op[1].page > fill.count ?
			    t->op[1].page - fill.count : 0;
	else
		fill.page = t->op[1].page + 1;
	t->op[0] = fill;
	t->nr++;
}

static bool resume_holds(struct cache *c, const struct trace *t, char *why,
			 size_t size)
{
	unsigned long m = t->env.max_pages, limit;

	if (!t->nr || t->op[0].kind != OP_FILL || !are_runs(t))
		return true;
	trace_replay(c, t);
	if (m > 1 && c->n.misses > 2)
		return FAIL("%lu misses in a run of %u after cached pages, 2 allowed",
			    c->n.misses, t->nr - 1);
	limit = established_limit(t->nr, m) + WINDOW_FIRST;
	if (c->n.pages > limit)
		return FAIL("%lu pages read for a run of %u after cached ones",
			    c->n.pages, t->nr - 1);
	return true;
}

/* A walk over cached pages: nothing to read, next to nobody to ask. */
static void make_warm(struct trace *t, struct rng *r)
{
	uint32_t n, first, i;

	do {
		t->nr = 0;
		make_run(t, r);
	} while (strided(t->step[0]));
	t->procs = 2;
	t->nr_walkers = 2;
	n = t->nr;
	if (n > TRACE_OPS / 2)
		t->nr = n = TRACE_OPS / 2;
	first = rng_below(r, 2);
	t->step[1] = first ? t->step[0] : -t->step[0];
	for (i = 0; i < n && first; i++)
		trace_touch(t, 1, t->op[i].page);
	for (i = 0; i < n && !first; i++)
		trace_touch(t, 1, t->op[n - 1 - i].page);
}

static bool warm_holds(struct cache *c, const struct trace *t, char *why,
		       size_t size)
{
	unsigned long pages, calls, limit, m = t->env.max_pages;
	unsigned int i;

	if (!are_runs(t))
		return true;
	trace_open(c, t);
	for (i = 0; i < t->nr && !t->op[i].who; i++)
		trace_do(c, t, i);
	pages = c->n.pages;
	calls = c->n.calls;
	for (; i < t->nr; i++) {
		if (!cache_touched(c, t->op[i].page))
			return true;	/* not what was walked before */
		trace_do(c, t, i);
	}
	/* the last window of the first walk, and what it marked */
	limit = 2 * m + WINDOW_FIRST;
	if (c->n.pages - pages > limit)
		return FAIL("%lu pages read in a walk over cached ones",
			    c->n.pages - pages);
	limit = t->nr / m + 4;
	if (c->n.calls - calls > limit)
		return FAIL("%lu calls in a walk over %u cached pages",
			    c->n.calls - calls, t->nr / 2);
	return true;
}

const struct property regret_properties[] = {
	{ "regret-run", make_run_broke, run_holds, 20 },
	{ "regret-run-fresh", make_run, fresh_holds, 10 },
	{ "regret-run-waits", make_run_slow, waits_hold, 10 },
	{ "regret-run-bulk", make_run_bulk, bulk_holds, 2 },
	{ "regret-gaps", make_gaps, gaps_hold, 5 },
	{ "regret-blocks", make_blocks, blocks_hold, 5 },
	{ "regret-unequal", make_unequal, unequal_holds, 1 },
	{ "regret-apart", make_apart, apart_holds, 5 },
	{ "regret-slices", make_slices, slices_hold, 1 },
	{ "regret-runs", make_runs, runs_hold, 20 },
	{ "regret-intruders", make_intruders, intruders_hold, 5 },
	{ "regret-resume", make_resume, resume_holds, 10 },
	{ "regret-any", make_any, any_holds, 20 },
	{ "regret-warm", make_warm, warm_holds, 5 },
	{ 0 },
};
