/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cache.h - a page cache of one file and the faults of the processes that map
 * it, simulated, so that the engine can be driven in user space
 *
 * What touches a page takes the way that src/fault.c describes, step by step.
 * Time is counted in touches.  Nothing here judges; tests look at the counts
 * and may watch each call of the engine.
 */
#ifndef MMAPRA_TESTS_CACHE_H
#define MMAPRA_TESTS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../src/engine.h"

#define CACHE_MAX_PROCS	8u

/*
 * Does fault.c leave zones out of fault-around on the second try of a fault?
 * The Makefile looks it up.
 */
#ifndef FAULT_CLIPS_RETRY
#define FAULT_CLIPS_RETRY	false
#endif

struct cache;

/**
 * struct cache_config - what does not change while a file is in use
 * @room:	pages that fit, the least recently used go first; 0: all
 * @around:	pages that fault-around maps, a power of two; 1: none
 * @latency:	touches until the pages of a read have arrived
 * @copies:	faults are writes to a private mapping: each page by itself
 * @verify:	random_hint=verify: the engine decides under MADV_RANDOM, too
 * @clip_retry:	zones are left out of fault-around on the second try of a fault
 *		as well, as engine.c wants it
 */
struct cache_config {
	unsigned long room;
	unsigned int around;
	unsigned int latency;
	bool copies;
	bool verify;
	bool clip_retry;
};

/**
 * struct cache_event - one call of the engine
 * @page:	the page that faulted
 * @missing:	it was engine_miss(), else engine_hit()
 * @marked:	the page carried the readahead mark
 * @pending:	the read of the page is under way
 * @w:		what came out
 */
struct cache_event {
	unsigned long page;
	bool missing;
	bool marked;
	bool pending;
	struct engine_window w;
};

/**
 * struct cache_counts - what happened
 * @misses:	faults on pages that were not cached: major faults
 * @waits:	those, and faults on pages whose read was under way
 * @faults:	all faults
 * @calls:	calls of the engine
 * @windows:	windows that it asked for, by enum engine_why
 * @reads:	those, and stock's, that had pages to read
 * @pages:	pages read
 * @wasted:	pages read and evicted before they were touched; cache_wasted()
 *		adds those that are still there
 */
struct cache_counts {
	unsigned long misses;
	unsigned long waits;
	unsigned long faults;
	unsigned long calls;
	unsigned long windows[4];
	unsigned long reads;
	unsigned long pages;
	unsigned long wasted;
};

struct cache {
	struct cache_config config;
	struct engine_env env;
	struct engine_file *ef;
	bool known;		/* the open file has an entry in the table */
	struct cache_counts n;
	uint32_t now;
	/* called after each call of the engine, before the window is read */
	void (*watch)(struct cache *c, const struct cache_event *e);
	void *watcher;

	/* by page */
	uint8_t *state;
	uint8_t *order;		/* of the folio it is in */
	uint8_t *mapped;	/* a bit for each process */
	uint32_t *ready;	/* when its read arrives */
	uint32_t *newer, *older;	/* LRU list */
	uint32_t newest, oldest;
	unsigned long cached;	/* pages */
	unsigned long pinned;	/* being faulted in: not evicted */
	unsigned long capacity;
};

/* Room for files of up to @capacity pages; exits when there is no memory. */
struct cache *cache_new(unsigned long capacity);
void cache_free(struct cache *c);

/*
 * A file that was just opened, nothing of it cached.  The caller has set
 * c->env.file_pages and sets the rest of c->env before the first touch.
 */
void cache_open(struct cache *c, const struct cache_config *config);

/* Process @proc touches a page. */
void cache_touch(struct cache *c, unsigned int proc, unsigned long page);

/* A range comes into the cache by other means than a fault, or goes. */
void cache_fill(struct cache *c, unsigned long first, unsigned long pages);
void cache_drop(struct cache *c, unsigned long first, unsigned long pages);

bool cache_has(const struct cache *c, unsigned long page);
bool cache_touched(const struct cache *c, unsigned long page);
unsigned long cache_count_touched(const struct cache *c);
unsigned long cache_wasted(const struct cache *c);

#endif
