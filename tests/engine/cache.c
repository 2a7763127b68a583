// SPDX-License-Identifier: GPL-2.0
/*
 * cache.c - a simulated page cache and its faults, see cache.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"

#define CACHED	1u	/* in the page cache */
#define TOUCHED	2u	/* some process touched it, ever */
#define MARKED	4u	/* the folio's readahead mark, on its first page */
#define UNUSED	8u	/* not touched since it was read */

#define NOBODY	UINT32_MAX	/* end of the LRU list */
#define NO_PAGE	(~0UL)
#define PMD_ORDER	9u

static unsigned long min_ul(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

static void *need(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		fprintf(stderr, "no memory for a cache of %zu pages\n", n);
		exit(2);
	}
	return p;
}

struct cache *cache_new(unsigned long capacity)
{
	struct cache *c = need(1, sizeof(*c));

	c->capacity = capacity;
	c->state = need(capacity, sizeof(*c->state));
	c->order = need(capacity, sizeof(*c->order));
	c->mapped = need(capacity, sizeof(*c->mapped));
	c->ready = need(capacity, sizeof(*c->ready));
	c->newer = need(capacity, sizeof(*c->newer));
	c->older = need(capacity, sizeof(*c->older));
	/* alone in its memory, so that ASan sees what lies beyond */
	c->ef = need(1, sizeof(*c->ef));
	return c;
}

void cache_free(struct cache *c)
{
	free(c->state);
	free(c->order);
	free(c->mapped);
	free(c->ready);
	free(c->newer);
	free(c->older);
	free(c->ef);
	free(c);
}

/* Folios */

static unsigned long folio_start(const struct cache *c, unsigned long page)
{
	return page >> c->order[page] << c->order[page];
}

static unsigned long folio_end(const struct cache *c, unsigned long page)
{
	return folio_start(c, page) + (1UL << c->order[page]);
}

static bool folio_marked(const struct cache *c, unsigned long page)
{
	return c->state[folio_start(c, page)] & MARKED;
}

static bool uptodate(const struct cache *c, unsigned long page)
{
	return c->state[page] & CACHED &&
	       (!c->config.latency || c->ready[page] <= c->now);
}

/* The LRU list is kept only where its order matters. */
static void lru_add(struct cache *c, unsigned long page)
{
	if (!c->config.room)
		return;
	c->older[page] = c->newest;
	c->newer[page] = NOBODY;
	if (c->newest != NOBODY)
		c->newer[c->newest] = (uint32_t)page;
	else
		c->oldest = (uint32_t)page;
	c->newest = (uint32_t)page;
}

static void lru_del(struct cache *c, unsigned long page)
{
	if (!c->config.room)
		return;
	if (c->newer[page] != NOBODY)
		c->older[c->newer[page]] = c->older[page];
	else
		c->newest = c->older[page];
	if (c->older[page] != NOBODY)
		c->newer[c->older[page]] = c->newer[page];
	else
		c->oldest = c->newer[page];
}

static void evict(struct cache *c, unsigned long page)
{
	unsigned long p, end = folio_end(c, page);

	/* a folio goes as a whole, out of all page tables */
	for (p = folio_start(c, page); p < end; p++) {
		lru_del(c, p);
		if (c->state[p] & UNUSED)
			c->n.wasted++;
		c->state[p] &= TOUCHED;
		c->mapped[p] = 0;
		c->order[p] = 0;
		c->cached--;
	}
}

static void make_room(struct cache *c)
{
	while (c->config.room && c->cached >= c->config.room) {
		uint32_t page = c->oldest;

		while (page != NOBODY && c->pinned != NO_PAGE &&
		       folio_start(c, page) <= c->pinned &&
		       folio_end(c, page) > c->pinned)
			page = c->newer[page];
		if (page == NOBODY)
			return;
		evict(c, page);
	}
}

/* Add one page that is not cached; a folio is added page by page. */
static void add(struct cache *c, unsigned long page, unsigned int order)
{
	c->state[page] = (c->state[page] & TOUCHED) | CACHED | UNUSED;
	c->order[page] = (uint8_t)order;
	c->ready[page] = c->now + c->config.latency;
	c->cached++;
	lru_add(c, page);
}

/*
 * Read [start, start + pages), folios as large as alignment, @order and what
 * is there already permit.  As in the kernel, the mark goes on a folio that is
 * newly made, or nowhere.
 */
static void read_range(struct cache *c, unsigned long start,
		       unsigned long pages, unsigned int order, bool mark)
{
	unsigned long page = start, end = start + pages, i, before = c->n.pages;

	end = min_ul(end, c->env.file_pages);
	while (page < end) {
		unsigned int o = order;
		unsigned long n;

		if (c->state[page] & CACHED) {
			page++;
			continue;
		}
		while (o && (page & ((1UL << o) - 1) || page + (1UL << o) > end))
			o--;
		for (n = 1; n < 1UL << o; n++)
			if (c->state[page + n] & CACHED)
				break;
		while (1UL << o > n)
			o--;
		n = 1UL << o;
		make_room(c);
		for (i = 0; i < n; i++)
			add(c, page + i, o);
		if (mark && page == start)
			c->state[page] |= MARKED;
		c->n.pages += n;
		page += n;
	}
	if (c->n.pages != before)
		c->n.reads++;
}

static void read_window(struct cache *c, const struct engine_window *w)
{
	unsigned long i, before = c->n.pages, reads = c->n.reads;

	if (w->step == 1 || w->step == -1) {
		/* window_read() cannot choose the order at the file's start */
		read_range(c, w->start, w->pages, w->start > 1 ? w->order : 0,
			   w->mark);
		return;
	}
	for (i = 0; i < w->pages; i++) {
		unsigned long page = w->start + i * (unsigned long)w->step;

		if (page < c->env.file_pages)
			read_range(c, page, page + w->len > c->env.file_pages ?
				   c->env.file_pages - page : w->len, 0, false);
	}
	c->n.reads = reads + (c->n.pages != before);
}

/* What the engine asks of the page cache; its range check is fault.c's. */
static unsigned long cached_run(void *priv, unsigned long page, int step,
				unsigned long max)
{
	const struct cache *c = priv;
	unsigned long n = 0;

	while (n < max && page < c->env.file_pages && c->state[page] & CACHED) {
		page += (unsigned long)(long)step;
		n++;
	}
	return n;
}

void cache_open(struct cache *c, const struct cache_config *config)
{
	unsigned long n = c->env.file_pages;

	if (!n || n > c->capacity) {
		fprintf(stderr, "a file of %lu pages in a cache for %lu\n", n,
			c->capacity);
		exit(2);
	}
	c->config = *config;
	memset(&c->n, 0, sizeof(c->n));
	memset(c->state, 0, n);
	memset(c->order, 0, n);
	memset(c->mapped, 0, n);
	c->known = false;
	c->now = 0;
	c->newest = NOBODY;
	c->oldest = NOBODY;
	c->cached = 0;
	c->pinned = NO_PAGE;
	c->env.cached_run = cached_run;
	c->env.priv = c;
	engine_init(c->ef);
}

/* Faults */

static void map(struct cache *c, uint8_t proc, unsigned long first,
		unsigned long last)
{
	for (; first <= last; first++)
		c->mapped[first] |= proc;
}

/*
 * filemap_map_pages(): what is cached, read and not marked.  A huge page is
 * mapped as one, by one entry of the table above.
 */
static void map_pages(struct cache *c, uint8_t proc, unsigned long first,
		      unsigned long last)
{
	unsigned long page;

	for (page = first; page <= last; page++) {
		if (!uptodate(c, page) || folio_marked(c, page))
			continue;
		if (c->order[page] >= PMD_ORDER) {
			map(c, proc, folio_start(c, page),
			    folio_end(c, page) - 1);
			return;
		}
		c->mapped[page] |= proc;
	}
}

/* do_fault_around() and the hook of map_pages */
static void map_around(struct cache *c, uint8_t proc, unsigned long page,
		       bool tried)
{
	unsigned long first, last;

	if (c->config.around <= 1 || c->config.copies)
		return;
	first = page & ~(c->config.around - 1UL);
	last = min_ul(first + c->config.around, c->env.file_pages) - 1;
	if ((!tried || c->config.clip_retry) && c->known && !c->env.random &&
	    engine_zone_near(c->ef, first, last)) {
		if (engine_zone_contains(c->ef, page))
			return;
		engine_zone_clip(c->ef, page, &first, &last);
	}
	map_pages(c, proc, first, last);
}

/* finish_fault(): the whole folio, since 6.18 */
static void map_folio(struct cache *c, uint8_t proc, unsigned long page)
{
	if (c->config.copies)
		c->mapped[page] |= proc;
	else
		map(c, proc, folio_start(c, page), folio_end(c, page) - 1);
}

/* The fault is tried again, its page now cached and read. */
static void retry(struct cache *c, uint8_t proc, unsigned long page)
{
	if (c->config.latency && c->ready[page] > c->now)
		c->now = c->ready[page];
	map_around(c, proc, page, true);
	if (!(c->mapped[page] & proc))
		map_folio(c, proc, page);
}

/* filemap_fault() without the module's help */
static void original(struct cache *c, uint8_t proc, unsigned long page)
{
	if (!(c->state[page] & CACHED))
		read_range(c, page, 1, 0, false);
	if (uptodate(c, page))
		map_folio(c, proc, page);
	else
		retry(c, proc, page);
}

static void ask_engine(struct cache *c, struct cache_event *e)
{
	c->n.calls++;
	if (e->missing)
		engine_miss(c->ef, &c->env, e->page, &e->w);
	else
		engine_hit(c->ef, &c->env, e->page, e->marked, e->pending,
			   &e->w);
	if (c->watch)
		c->watch(c, e);
	/* as handle_fault(): the kernel's own readahead must not start here */
	if (!e->missing && e->marked)
		c->state[folio_start(c, e->page)] &= (uint8_t)~MARKED;
}

static void fault(struct cache *c, uint8_t proc, unsigned long page)
{
	struct cache_event e = { .page = page };

	c->n.faults++;
	map_around(c, proc, page, false);
	if (c->mapped[page] & proc)
		return;

	e.missing = !(c->state[page] & CACHED);
	e.marked = !e.missing && folio_marked(c, page);
	e.pending = !e.missing && !e.marked && !uptodate(c, page);
	if (e.missing)
		c->n.misses++;
	if (!uptodate(c, page))
		c->n.waits++;
	if (c->env.random && !c->config.verify) {
		original(c, proc, page);
		return;
	}
	if (e.missing || e.marked)
		c->known = true;
	else if (!c->known || (!e.pending &&
			       !engine_zone_contains(c->ef, page))) {
		original(c, proc, page);
		return;
	}
	ask_engine(c, &e);
	if (!e.w.pages) {
		original(c, proc, page);
		return;
	}
	c->n.windows[e.w.why]++;
	c->pinned = page;
	read_window(c, &e.w);
	if (!(c->state[page] & CACHED))
		original(c, proc, page);	/* the engine forgot it */
	else
		retry(c, proc, page);
	c->pinned = NO_PAGE;
}

void cache_touch(struct cache *c, unsigned int proc, unsigned long page)
{
	uint8_t bit = (uint8_t)(1u << (proc % CACHE_MAX_PROCS));

	c->now++;
	if (!(c->mapped[page] & bit))
		fault(c, bit, page);
	c->state[page] = (uint8_t)((c->state[page] | TOUCHED) & ~UNUSED);
	if (c->config.room) {
		lru_del(c, page);
		lru_add(c, page);
	}
}

void cache_fill(struct cache *c, unsigned long first, unsigned long pages)
{
	struct cache_counts before = c->n;

	read_range(c, first, pages, 0, false);
	c->n = before;
}

void cache_drop(struct cache *c, unsigned long first, unsigned long pages)
{
	unsigned long page, end = min_ul(first + pages, c->env.file_pages);

	for (page = first; page < end; page++)
		if (c->state[page] & CACHED)
			evict(c, page);
}

bool cache_has(const struct cache *c, unsigned long page)
{
	return c->state[page] & CACHED;
}

bool cache_touched(const struct cache *c, unsigned long page)
{
	return c->state[page] & TOUCHED;
}

unsigned long cache_count_touched(const struct cache *c)
{
	unsigned long page, n = 0;

	for (page = 0; page < c->env.file_pages; page++)
		n += cache_touched(c, page);
	return n;
}

unsigned long cache_wasted(const struct cache *c)
{
	unsigned long page, n = c->n.wasted;

	for (page = 0; page < c->env.file_pages; page++)
		n += !!(c->state[page] & UNUSED);
	return n;
}
