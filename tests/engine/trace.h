/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h - random access patterns that can be replayed, shrunk and printed
 */
#ifndef MMAPRA_TESTS_TRACE_H
#define MMAPRA_TESTS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"

#define TRACE_WALKERS	32u
#define TRACE_OPS	640u
#define TRACE_PAGES	16384u	/* largest file */

enum op_kind {
	OP_TOUCH,
	OP_DROP,	/* @count pages from @page leave the cache */
	OP_FILL,	/* and come into it, as by read() */
	OP_SET,		/* an env field becomes @page */
};

enum op_set {
	SET_STREAMS,
	SET_MAX_PAGES,
	SET_HUGE_PAGES,
	SET_RESTART,
	SET_BACKWARD,
	SET_STRIDE,
	SET_SEQUENTIAL,
	SET_RANDOM,
	NR_SETS,
};

struct trace_op {
	uint8_t kind;
	uint8_t who;	/* walker of a touch, enum op_set of a set */
	uint16_t count;
	uint32_t page;
};

/**
 * struct trace - one experiment
 * @seed:	what it was made from
 * @config:	of the page cache
 * @env:	what the engine is told, to begin with
 * @procs:	walkers are dealt to this many processes
 * @broke:	the file has no credit left
 * @step:	of each walker
 * @nr_walkers:	how many there are
 * @nr:		number of ops
 */
struct trace {
	uint64_t seed;
	struct cache_config config;
	struct engine_env env;
	unsigned int procs;
	bool broke;
	int32_t step[TRACE_WALKERS];
	unsigned int nr_walkers;
	unsigned int nr;
	struct trace_op op[TRACE_OPS];
};

/* xorshift64*, seeded by splitmix64: small, fast, the same everywhere */
struct rng {
	uint64_t s;
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
/* 0 to @n - 1, small ones no likelier than large ones */
uint32_t rng_below(struct rng *r, uint32_t n);
bool rng_chance(struct rng *r, uint32_t percent);
/* 1 to @n, each power of two as likely as the next */
uint32_t rng_log(struct rng *r, uint32_t n);

/**
 * struct property - something that holds for all traces of a kind
 * @name:	of the test
 * @make:	fills a trace from its seed
 * @holds:	replays it; false and one line in @why if something is wrong
 * @weight:	share of the traces
 */
struct property {
	const char *name;
	void (*make)(struct trace *t, struct rng *r);
	bool (*holds)(struct cache *c, const struct trace *t, char *why,
		      size_t size);
	unsigned int weight;
};

/* To start from: defaults of the module, nothing to do. */
void trace_init(struct trace *t);
bool trace_add(struct trace *t, struct trace_op op);
bool trace_touch(struct trace *t, unsigned int walker, uint32_t page);

/* Open the file of a trace; then do its ops, all or one by one. */
void trace_open(struct cache *c, const struct trace *t);
void trace_do(struct cache *c, const struct trace *t, unsigned int i);
void trace_replay(struct cache *c, const struct trace *t);

/* Make a trace that violates the property as short as it gets. */
void trace_shrink(struct cache *c, const struct property *p, struct trace *t);
void trace_print(const struct trace *t);

/*
 * Try @traces random traces of a property, from @seed on; the first that
 * violates it is shrunk and printed.  Prints one line of KTAP.
 */
bool property_check(const struct property *p, uint64_t seed,
		    unsigned long traces, unsigned int workers);

#endif
