// SPDX-License-Identifier: GPL-2.0
/*
 * invariants.c - what holds after each call of the engine, whatever happened
 *
 * Traces are as wild as they get: streams of all kinds by up to 32 threads,
 * jumps, pages that go and come, hints and knobs that change half way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

/**
 * struct watch - what is known from before the call
 * @before:	the engine's state then
 * @why:	first thing wrong
 */
struct watch {
	struct engine_file before;
	struct rng rng;
	char *why;
	size_t size;
	bool bad;
};

#define EXPECT(w, cond, ...) do {					\
	if (!(cond) && !(w)->bad) {					\
		(w)->bad = true;					\
		snprintf((w)->why, (w)->size, __VA_ARGS__);		\
	}								\
} while (0)

static bool strided(long step)
{
	return step != 1 && step != -1;
}

static unsigned int in_use(const struct engine_file *ef)
{
	unsigned int i, n = 0;

	for (i = 0; i < ENGINE_MAX_STREAMS; i++)
		n += ef->streams[i].size != 0;
	return n;
}

static unsigned long span_first(const struct engine_stream *s)
{
	if (strided(s->step) && s->step < 0)
		return s->start + (s->size - 1) * (unsigned long)(long)s->step;
	return s->start;
}

static unsigned long span_last(const struct engine_stream *s)
{
	unsigned long last = s->start;

	if (!strided(s->step))
		return s->start + s->size - 1;
	if (s->step > 0)
		last += (s->size - 1) * (unsigned long)(long)s->step;
	return last + s->len - 1;
}

static void check_window(struct watch *x, const struct cache *c,
			 const struct cache_event *e)
{
	const struct engine_window *w = &e->w;
	const struct engine_env *env = &c->env;
	unsigned long first = w->start, last, most;
	unsigned int i;

	if (e->missing)
		EXPECT(x, w->pages, "miss of %lu: no window", e->page);
	if (!w->pages)
		return;
	EXPECT(x, w->step, "window at %lu: step 0", w->start);
	last = strided(w->step) ?
	       w->start + (w->pages - 1) * (unsigned long)w->step :
	       w->start + w->pages - 1;
	EXPECT(x, first < env->file_pages && last < env->file_pages,
	       "window %lu to %lu, step %ld, of a file of %lu pages", first,
	       last, w->step, env->file_pages);
	if (strided(w->step) && w->step < 0)
		EXPECT(x, last <= first, "strided window wraps at %lu", first);
	else
		EXPECT(x, first <= last, "window wraps at %lu", first);
	if (e->missing) {
		unsigned long d = e->page - first;
		unsigned long step = !strided(w->step) ? 1 : w->step < 0 ?
				     (unsigned long)-w->step :
				     (unsigned long)w->step;

		if (w->step < 0 && strided(w->step))
			d = e->page - last;
		EXPECT(x, d / step < w->pages && d % step < w->len,
		       "miss of %lu: window %lu +%lu, step %ld, blocks of %lu",
		       e->page, w->start, w->pages, w->step, w->len);
	}

	most = largest_window(env);
	if (env->huge_pages && 2 * env->huge_pages > most)
		most = 2 * env->huge_pages;
	/* in bulk two windows are read in one go, for a start */
	if (env->bulk && w->why == ENGINE_AHEAD && !strided(w->step))
		most *= 2;
	EXPECT(x, w->pages * w->len <= most,
	       "window of %lu times %lu pages, %lu allowed, why %d", w->pages,
	       w->len, most, w->why);

	EXPECT(x, w->order <= env->max_order || w->order == 0,
	       "folios of order %u, the file takes %u", w->order,
	       env->max_order);
	if (strided(w->step))
		EXPECT(x, !w->order && !w->mark, "strided: order %u, mark %d",
		       w->order, w->mark);
	EXPECT(x, strided(w->step) ? w->len >= 1 &&
	       w->len < (unsigned long)labs(w->step) : w->len == 1,
	       "blocks of %lu pages, step %ld", w->len, w->step);
	if (w->mark)
		EXPECT(x, w->step == 1, "mark with step %ld", w->step);

	/* who left out pages gets a smaller window, not a larger one */
	if (w->why == ENGINE_LATE && w->step == 1 && !env->huge_pages)
		for (i = 0; i < x->before.nr_zones; i++) {
			const struct engine_stream *s = &x->before.streams[i];

			most = s->want / 2 > WINDOW_FIRST ? s->want / 2 :
							    WINDOW_FIRST;
			if (c->ef->streams[i].start != w->start ||
			    s->start == w->start || s->step != 1 || !s->size)
				continue;
			EXPECT(x, w->start == s->start + s->size ||
			       w->pages <= most,
			       "%lu pages after a jump from %lu +%lu to %lu",
			       w->pages, s->start, s->size, w->start);
		}

	/* what a hint or a knob forbids */
	if (env->random && w->why == ENGINE_FIRST && !env->huge_pages)
		EXPECT(x, w->pages == 1, "first touch of %lu pages, advised random",
		       w->pages);
	if (w->why == ENGINE_START) {
		EXPECT(x, w->step != 1 || env->restart,
		       "forward stream from %lu, restart off", e->page);
		EXPECT(x, w->step != -1 || env->backward,
		       "backward stream from %lu, backward off", e->page);
		EXPECT(x, !strided(w->step) || env->stride,
		       "stride from %lu, stride off", e->page);
	}

	/* what is there is not asked for ahead of the reader */
	if (w->why == ENGINE_AHEAD && !env->huge_pages) {
		unsigned long page = w->step == -1 ? last : first, left;

		for (left = w->len; left > 1 && cache_has(c, page); left--)
			page++;
		EXPECT(x, !cache_has(c, page),
		       "page %lu read ahead, it is cached", page);
	}
}

static void check_streams(struct watch *x, const struct cache *c,
			  const struct cache_event *e)
{
	const struct engine_file *ef = c->ef;
	unsigned int used = in_use(ef), was = in_use(&x->before), i, j;
	const struct engine_window *w = &e->w;
	unsigned long back;

	EXPECT(x, ef->nr_zones <= ENGINE_MAX_STREAMS, "%u zones",
	       ef->nr_zones);
	EXPECT(x, engine_streams_in_use(ef) == used,
	       "%u streams in use, said to be %u", used,
	       engine_streams_in_use(ef));
	/* a limit that was lowered takes effect with the next new stream */
	EXPECT(x, used <= c->env.streams || used <= was,
	       "%u streams after %u, limit %u", used, was, c->env.streams);
	if (w->pages && w->why == ENGINE_START)
		EXPECT(x, used <= c->env.streams,
		       "%u streams after a new one, limit %u", used,
		       c->env.streams);

	for (i = 0; i < ENGINE_MAX_STREAMS && !x->bad; i++) {
		const struct engine_stream *s = &ef->streams[i];
		const struct engine_zone *z = &ef->zones[i];

		if (!s->size || i >= ef->nr_zones) {
			EXPECT(x, !z->pages, "slot %u is free, zone %lu +%lu",
			       i, z->first, z->pages);
			EXPECT(x, !s->size, "slot %u beyond %u in use", i,
			       ef->nr_zones);
			continue;
		}
		/* the last block may be cut off by the end of the file */
		EXPECT(x, s->step && span_last(s) - (s->len - 1) <
				     c->env.file_pages &&
		       span_first(s) <= span_last(s),
		       "stream %u: window %lu +%lu, step %d, file of %lu", i,
		       s->start, s->size, s->step, c->env.file_pages);
		EXPECT(x, s->want, "stream %u wants no pages", i);
		EXPECT(x, s->longer <= LONGER_LIMIT,
		       "stream %u: blocks got longer %u times", i, s->longer);
		/* in bulk also windows before the newest, of any size by then */
		back = c->env.bulk && !strided(s->step) ?
		       c->env.file_pages : 0;
		if (z->pages)
			EXPECT(x, z->first + (s->step == 1 ? back : 0) >=
			       span_first(s) &&
			       z->first + z->pages - 1 <=
			       span_last(s) + (s->step == 1 ? 0 : back) &&
			       z->first + z->pages > z->first,
			       "stream %u: zone %lu +%lu, window %lu +%lu, step %d",
			       i, z->first, z->pages, s->start, s->size,
			       s->step);
		if (c->env.bulk)
			continue;
		/* no folio reaches from before the zone into it */
		if (z->pages && s->step == 1 && z->first > s->start)
			EXPECT(x, !(z->first & ((1UL << s->order) - 1)),
			       "stream %u: zone at %lu, order %u", i, z->first,
			       s->order);
		if (z->pages && s->step == -1 && z->pages < s->size)
			EXPECT(x, !((z->first + z->pages) &
				    ((1UL << s->order) - 1)),
			       "stream %u: zone ends at %lu, order %u", i,
			       z->first + z->pages, s->order);
	}
	/*
	 * Two that are about to go the same way would follow one reader.
	 */
	for (j = 0; j < ef->nr_zones && w->pages; j++) {
		const struct engine_stream *s = &ef->streams[j];

		if (!s->size || s->step != w->step || s->start == w->start ||
		    strided(s->step))
			continue;
		EXPECT(x, w->step == 1 ? s->start + s->size != w->start :
					 s->start != w->start + w->pages,
		       "stream %u goes where the window %lu +%lu went", j,
		       w->start, w->pages);
	}
	/* else each fault there would come back; a huge page may be read anew */
	if (!e->missing && !c->env.huge_pages)
		for (i = 0; i < x->before.nr_zones; i++) {
			const struct engine_zone *b = &x->before.zones[i];
			const struct engine_zone *z = &ef->zones[i];

			if (e->page - b->first >= b->pages)
				continue;
			EXPECT(x, e->page - z->first >= z->pages,
			       "page %lu stays in zone %u, %lu +%lu", e->page,
			       i, z->first, z->pages);
			break;
		}
}

static bool model_contains(const struct engine_file *ef, unsigned long page)
{
	unsigned int i;

	for (i = 0; i < ENGINE_MAX_STREAMS; i++)
		if (ef->zones[i].pages && page >= ef->zones[i].first &&
		    page <= ef->zones[i].first + ef->zones[i].pages - 1)
			return true;
	return false;
}

/* The three functions that faults look at, page by page. */
static void check_zones(struct watch *x, const struct cache *c,
			unsigned long around)
{
	const struct engine_file *ef = c->ef;
	unsigned long first, last, page, f, l, p, before;
	unsigned long max = c->env.file_pages - 1;
	bool near = false;

	before = rng_below(&x->rng, 24);
	first = around > before ? around - before : 0;
	last = first + rng_below(&x->rng, 40);
	last = last > max ? max : last;
	first = first > last ? last : first;
	page = first + rng_below(&x->rng, (uint32_t)(last - first + 1));

	for (p = first; p <= last; p++) {
		bool in = model_contains(ef, p);

		EXPECT(x, engine_zone_contains(ef, p) == in,
		       "page %lu is %sin a zone", p, in ? "" : "not ");
		near = near || in;
	}
	EXPECT(x, engine_zone_near(ef, first, last) == near,
	       "pages %lu to %lu are %snear a zone", first, last,
	       near ? "" : "not ");
	if (model_contains(ef, page))
		return;
	for (f = page; f > first && !model_contains(ef, f - 1); f--)
		;
	for (l = page; l < last && !model_contains(ef, l + 1); l++)
		;
	engine_zone_clip(ef, page, &first, &last);
	EXPECT(x, first == f && last == l,
	       "around %lu: clipped to %lu to %lu, not %lu to %lu", page,
	       first, last, f, l);
}

static void watch(struct cache *c, const struct cache_event *e)
{
	struct watch *x = c->watcher;
	unsigned int i;

	if (x->bad)
		return;
	check_window(x, c, e);
	check_streams(x, c, e);
	check_zones(x, c, e->page);
	if (e->w.pages)
		check_zones(x, c, e->w.start + e->w.pages - 1);
	for (i = 0; i < c->ef->nr_zones && rng_chance(&x->rng, 20); i++)
		check_zones(x, c, c->ef->zones[i].first);
	x->before = *c->ef;
}

static bool holds(struct cache *c, const struct trace *t, char *why,
		  size_t size)
{
	struct watch x = { .why = why, .size = size };
	unsigned int i;

	rng_seed(&x.rng, t->seed + 1);
	c->watch = watch;
	c->watcher = &x;
	trace_open(c, t);
	for (i = 0; i < t->nr && !x.bad; i++)
		trace_do(c, t, i);
	c->watch = NULL;
	return !x.bad;
}

/* Making traces */

struct walker {
	uint32_t at;
	uint32_t left;
	int32_t step;
};

static int32_t random_step(struct rng *r)
{
	int32_t step;

	switch (rng_below(r, 6)) {
	case 0:
	case 1:
		return 1;
	case 2:
	case 3:
		return -1;
	case 4:
		return 0;	/* anywhere */
	default:
		step = (int32_t)rng_log(r, 300) + 1;
		return rng_chance(r, 50) ? step : -step;
	}
}

/* A place to go: anywhere, an end of the file, or where someone has been. */
static uint32_t random_page(struct rng *r, const struct trace *t)
{
	uint32_t n = (uint32_t)t->env.file_pages, page, near;

	switch (rng_below(r, 8)) {
	case 0:
		return 0;
	case 1:
		return n - 1;
	case 2:
	case 3:
	case 4:
		if (!t->nr)
			break;
		page = t->op[rng_below(r, t->nr)].page;
		near = rng_log(r, 64);
		if (rng_chance(r, 50))
			page += near;
		else
			page -= near;
		if (page < n)
			return page;
		break;
	}
	return rng_below(r, n);
}

static void walk(struct trace *t, struct rng *r, struct walker *w,
		 unsigned int i)
{
	if (!w->left || w->at >= t->env.file_pages) {
		w->at = random_page(r, t);
		w->left = rng_log(r, 400);
	}
	trace_touch(t, i, w->at);
	w->left--;
	if (!w->step)
		w->left = 0;
	else
		w->at += (uint32_t)w->step;
}

static void random_env(struct trace *t, struct rng *r)
{
	struct engine_env *e = &t->env;

	e->file_pages = rng_log(r, rng_chance(r, 30) ? 64 : 8192);
	e->max_pages = rng_log(r, 2048);
	if (rng_chance(r, 40))
		e->max_pages = 32;
	e->max_order = rng_below(r, 10);
	if (rng_chance(r, 10)) {
		e->huge_pages = 512;
		e->max_order = 9;
	}
	e->streams = 1 + rng_below(r, ENGINE_MAX_STREAMS);
	e->restart = rng_chance(r, 85);
	e->backward = rng_chance(r, 85);
	e->stride = rng_chance(r, 85);
	e->sequential = rng_chance(r, 10);
	e->random = rng_chance(r, 10);
	t->config.verify = rng_chance(r, 70);
	t->config.around = rng_chance(r, 25) ? 1 : 16;
	t->config.latency = rng_chance(r, 20) ? rng_log(r, 200) : 0;
	t->config.clip_retry = rng_chance(r, 30);
	if (rng_chance(r, 30))
		t->config.room = rng_log(r, 2048) + 16;
	t->procs = 1 + rng_below(r, 3);
	t->broke = rng_chance(r, 30);
	e->bulk = rng_chance(r, 10);
}

static void random_set(struct trace *t, struct rng *r)
{
	struct trace_op op = { .kind = OP_SET };

	op.who = (uint8_t)rng_below(r, NR_SETS);
	op.page = rng_below(r, 2);
	switch ((enum op_set)op.who) {
	case SET_STREAMS:
		op.page = 1 + rng_below(r, ENGINE_MAX_STREAMS);
		break;
	case SET_MAX_PAGES:
		op.page = rng_log(r, 2048);
		break;
	case SET_HUGE_PAGES:
		op.page *= t->env.max_order == 9 ? 512 : 0;
		break;
	default:
		break;
	}
	trace_add(t, op);
}

static void make_wild(struct trace *t, struct rng *r)
{
	struct walker w[TRACE_WALKERS] = { 0 };
	unsigned int i = 0, n, length = 20 + rng_log(r, 500), burst = 0;
	bool settle = rng_chance(r, 50);

	random_env(t, r);
	t->nr_walkers = n = rng_log(r, TRACE_WALKERS);
	for (i = 0; i < n; i++)
		w[i].step = t->step[i] = random_step(r);
	while (t->nr < length && t->nr < TRACE_OPS) {
		if (!settle && rng_chance(r, 3))
			random_set(t, r);
		if (!settle && rng_chance(r, 2))
			trace_add(t, (struct trace_op){
				.kind = rng_chance(r, 70) ? OP_DROP : OP_FILL,
				.page = random_page(r, t),
				.count = (uint16_t)rng_log(r, 300) });
		if (!burst) {
			i = rng_below(r, n);
			burst = rng_log(r, 40);
		}
		burst--;
		walk(t, r, &w[i], i);
	}
}

const struct property invariant_properties[] = {
	{ "invariants", make_wild, holds, 1 },
	{ 0 },
};
