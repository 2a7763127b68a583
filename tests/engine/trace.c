// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - random access patterns, see trace.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace.h"

#define SHRINK_TRIES	20000u

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

void rng_seed(struct rng *r, uint64_t seed)
{
	r->s = mix(seed);
	if (!r->s)
		r->s = 1;
}

uint64_t rng_next(struct rng *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * 0x2545f4914f6cdd1d;
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

bool rng_chance(struct rng *r, uint32_t percent)
{
	return rng_below(r, 100) < percent;
}

uint32_t rng_log(struct rng *r, uint32_t n)
{
	uint32_t bits = 0, max;

	while (bits < 31 && 2u << bits <= n)
		bits++;
	max = 1u << rng_below(r, bits + 1);
	max += rng_below(r, max);
	return max < n ? max : n;
}

void trace_init(struct trace *t)
{
	memset(t, 0, offsetof(struct trace, op));
	t->config.around = 16;
	/* what the engine asks of its caller */
	t->config.clip_retry = true;
	t->env.file_pages = 4096;
	t->env.max_pages = 32;
	t->env.streams = 8;
	t->env.restart = true;
	t->env.backward = true;
	t->env.stride = true;
	t->procs = 1;
}

bool trace_add(struct trace *t, struct trace_op op)
{
	if (t->nr == TRACE_OPS)
		return false;
	t->op[t->nr++] = op;
	return true;
}

bool trace_touch(struct trace *t, unsigned int walker, uint32_t page)
{
	return trace_add(t, (struct trace_op){ .kind = OP_TOUCH,
					       .who = (uint8_t)walker,
					       .page = page });
}

void trace_open(struct cache *c, const struct trace *t)
{
	c->env = t->env;
	cache_open(c, &t->config);
	if (t->broke) {
		/* as after a long random walk */
		c->ef->clock = 1;
		c->ef->credit = 0;
	}
}

static void set(struct engine_env *env, unsigned int what, uint32_t value)
{
	switch ((enum op_set)what) {
	case SET_STREAMS:
		env->streams = value;
		break;
	case SET_MAX_PAGES:
		env->max_pages = value;
		break;
	case SET_HUGE_PAGES:
		env->huge_pages = value;
		break;
	case SET_RESTART:
		env->restart = value;
		break;
	case SET_BACKWARD:
		env->backward = value;
		break;
	case SET_STRIDE:
		env->stride = value;
		break;
	case SET_SEQUENTIAL:
		env->sequential = value;
		break;
	case SET_RANDOM:
		env->random = value;
		break;
	case NR_SETS:
		break;
	}
}

void trace_do(struct cache *c, const struct trace *t, unsigned int i)
{
	const struct trace_op *op = &t->op[i];

	switch ((enum op_kind)op->kind) {
	case OP_TOUCH:
		cache_touch(c, op->who % t->procs, op->page);
		break;
	case OP_DROP:
		cache_drop(c, op->page, op->count);
		break;
	case OP_FILL:
		cache_fill(c, op->page, op->count);
		break;
	case OP_SET:
		set(&c->env, op->who, op->page);
		break;
	}
}

void trace_replay(struct cache *c, const struct trace *t)
{
	unsigned int i;

	trace_open(c, t);
	for (i = 0; i < t->nr; i++)
		trace_do(c, t, i);
}

/* Shrinking */

struct shrink {
	struct cache *c;
	const struct property *p;
	unsigned int tries;
};

static bool still_fails(struct shrink *s, const struct trace *t)
{
	char why[256];

	return s->tries++ < SHRINK_TRIES && !s->p->holds(s->c, t, why,
							  sizeof(why));
}

/* Leave out runs of ops, long ones first. */
static bool drop_ops(struct shrink *s, struct trace *t)
{
	struct trace *try = malloc(sizeof(*try));
	bool better = false;
	unsigned int n, at;

	if (!try)
		return false;
	for (n = t->nr / 2; n; n /= 2) {
		for (at = 0; at + n <= t->nr;) {
			memcpy(try, t, sizeof(*try));
			memmove(&try->op[at], &t->op[at + n],
				(t->nr - at - n) * sizeof(t->op[0]));
			try->nr -= n;
			if (still_fails(s, try)) {
				memcpy(t, try, sizeof(*t));
				better = true;
			} else {
				at += n;
			}
		}
	}
	free(try);
	return better;
}

static uint32_t last_page(const struct trace *t)
{
	uint32_t last = 0;
	unsigned int i;

	for (i = 0; i < t->nr; i++)
		if (t->op[i].kind != OP_SET &&
		    t->op[i].page + t->op[i].count > last)
			last = t->op[i].page + t->op[i].count;
	return last;
}

/* Simpler circumstances, one at a time; larger @what is another one. */
static bool simplify(struct trace *t, unsigned int what)
{
	uint32_t lowest = UINT32_MAX;
	unsigned int i;

	switch (what) {
	case 0:
		t->config.room = 0;
		return true;
	case 1:
		t->config.latency = 0;
		return true;
	case 2:
		t->procs = 1;
		return true;
	case 3:
		t->config.around = 1;
		return true;
	case 4:
		t->env.max_order = 0;
		for (i = 0; i < t->nr; i++)
			if (t->op[i].kind == OP_SET &&
			    t->op[i].who == SET_HUGE_PAGES)
				return false;
		return !t->env.huge_pages;
	case 5:
		t->env.sequential = false;
		return true;
	case 6:
		t->env.random = false;
		return true;
	case 7:
		t->env.streams = 8;
		return true;
	case 8:
		t->env.stride = false;
		return true;
	case 9:
		t->broke = true;
		return true;
	case 10:
		t->env.backward = false;
		return true;
	case 11:
		t->env.max_pages = 4;
		return true;
	case 12:
		t->env.max_pages = 16;
		return true;
	case 13:
		t->env.max_pages = 32;
		return true;
	case 14:
		t->env.max_pages /= 2;
		return t->env.max_pages;
	case 15:
		t->env.file_pages = last_page(t) + 1;
		return true;
	case 16:
		t->env.file_pages = 4096;
		return last_page(t) < 4096;
	case 17:
		/* towards the start of the file */
		for (i = 0; i < t->nr; i++)
			if (t->op[i].kind != OP_SET && t->op[i].page < lowest)
				lowest = t->op[i].page;
		for (i = 0; i < t->nr; i++)
			if (t->op[i].kind != OP_SET)
				t->op[i].page -= lowest;
		return lowest && lowest != UINT32_MAX;
	case 18:
		t->config.clip_retry = true;
		return true;
	case 19:
		t->env.bulk = false;
		return true;
	default:
		return false;
	}
}

void trace_shrink(struct cache *c, const struct property *p, struct trace *t)
{
	struct shrink s = { .c = c, .p = p };
	struct trace *try = malloc(sizeof(*try));
	unsigned int what;

	if (!try)
		return;
	/* each makes room for the other */
	do {
		for (what = 0; what < 20; what++) {
			memcpy(try, t, sizeof(*try));
			if (simplify(try, what) && still_fails(&s, try))
				memcpy(t, try, sizeof(*t));
		}
	} while (drop_ops(&s, t) && s.tries < SHRINK_TRIES);
	free(try);
}

void trace_print(const struct trace *t)
{
	static const char * const sets[NR_SETS] = {
		"streams", "max_pages", "huge_pages", "restart", "backward",
		"stride", "sequential", "random"
	};
	const struct engine_env *e = &t->env;
	unsigned int i, n;

	printf("#   file %lu pages, window %lu, huge %lu, order %u, %u streams%s%s%s%s%s%s%s\n",
	       e->file_pages, e->max_pages, e->huge_pages, e->max_order,
	       e->streams, e->restart ? "" : ", no restart",
	       e->backward ? "" : ", no backward", e->stride ? "" : ", no stride",
	       e->sequential ? ", sequential" : "", e->random ? ", random" : "",
	       e->bulk ? ", bulk" : "",
	       t->broke ? ", no credit" : "");
	printf("#   cache: room %lu, around %u%s, latency %u; %u processes\n",
	       t->config.room, t->config.around,
	       t->config.clip_retry ? "" : " (all on retry)",
	       t->config.latency, t->procs);
	for (i = 0; i < t->nr; i += n) {
		const struct trace_op *op = &t->op[i];
		long d;

		n = 1;
		switch ((enum op_kind)op->kind) {
		case OP_DROP:
			printf("#   drop %u +%u\n", op->page, op->count);
			continue;
		case OP_FILL:
			printf("#   fill %u +%u\n", op->page, op->count);
			continue;
		case OP_SET:
			printf("#   %s = %u\n",
			       sets[op->who % NR_SETS], op->page);
			continue;
		case OP_TOUCH:
			break;
		}
		d = i + 1 < t->nr ? (long)op[1].page - (long)op->page : 0;
		while (i + n < t->nr && op[n].kind == OP_TOUCH &&
		       op[n].who == op->who &&
		       (long)op[n].page - (long)op[n - 1].page == d)
			n++;
		if (n > 2) {
			printf("#   walker %u (%+d): %u to %u, %u touches %+ld\n",
			       op->who, t->step[op->who], op->page,
			       op[n - 1].page, n, d);
			continue;
		}
		n = 1;
		printf("#   walker %u (%+d): %u\n", op->who, t->step[op->who],
		       op->page);
	}
}

/* Returns the number of the first trace that fails, or @end. */
static unsigned long try_range(const struct property *p, struct cache *c,
			       uint64_t seed, unsigned long first,
			       unsigned long end, unsigned long step,
			       struct trace *t)
{
	struct rng r;
	char why[256];
	unsigned long i;

	for (i = first; i < end; i += step) {
		rng_seed(&r, seed + i);
		trace_init(t);
		t->seed = seed + i;
		p->make(t, &r);
		if (!p->holds(c, t, why, sizeof(why)))
			return i;
	}
	return end;
}

/*
 * The work is split so that each worker's first failure is known; the lowest
 * one is told, whatever the number of workers.
 */
static unsigned long try_all(const struct property *p, struct cache *c,
			     uint64_t seed, unsigned long traces,
			     unsigned int workers, struct trace *t)
{
	unsigned long found, first = traces;
	int fds[2];
	unsigned int i;

	if (workers <= 1)
		return try_range(p, c, seed, 0, traces, 1, t);
	if (pipe(fds)) {
		perror("pipe");
		exit(2);
	}
	fflush(stdout);
	for (i = 0; i < workers; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			exit(2);
		}
		if (pid)
			continue;
		found = try_range(p, c, seed, i, traces, workers, t);
		if (write(fds[1], &found, sizeof(found)) != sizeof(found))
			_exit(2);
		_exit(0);
	}
	for (i = 0; i < workers; i++) {
		int status;

		/* a worker that crashed is a failure, too */
		if (wait(&status) < 0 || status) {
			printf("# a worker died, status %d; seed %llu\n",
			       status, (unsigned long long)seed);
			exit(2);
		}
		if (read(fds[0], &found, sizeof(found)) != sizeof(found))
			exit(2);
		if (found < first)
			first = found;
	}
	close(fds[0]);
	close(fds[1]);
	return first;
}

bool property_check(const struct property *p, uint64_t seed,
		    unsigned long traces, unsigned int workers)
{
	struct cache *c = cache_new(TRACE_PAGES);
	struct trace *t = malloc(sizeof(*t));
	unsigned long first;
	char why[256] = "";
	bool good;

	if (!t)
		exit(2);
	first = try_all(p, c, seed, traces, workers, t);
	good = first >= traces;
	if (!good) {
		/* once more, for what it says */
		try_range(p, c, seed, first, first + 1, 1, t);
		trace_shrink(c, p, t);
		p->holds(c, t, why, sizeof(why));
		printf("# %s\n# trace %lu (SEED=%llu TRACES=1), shrunk:\n", why,
		       first, (unsigned long long)(seed + first));
		trace_print(t);
	}
	printf("# %s: %lu traces, seed %llu\n%sok %s\n", p->name,
	       good ? traces : first + 1, (unsigned long long)seed,
	       good ? "" : "not ", p->name);
	free(t);
	cache_free(c);
	return good;
}
