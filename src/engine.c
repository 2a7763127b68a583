// SPDX-License-Identifier: GPL-2.0
/*
 * engine.c - which pages to read, and when
 *
 * A fault on a page that is not cached is a miss.  For each miss the engine
 * names a window: the pages to read in one go, the missing page among them.
 * Faults on cached pages are hits and do not come here, but for the few that
 * enter a zone (below).
 *
 * Streams.  An open file has up to env->streams of them.  A stream has a step
 * (+1: towards higher offsets, -1: towards lower ones, else the distance
 * between single pages) and remembers its newest window [start, start + size).
 * A miss belongs to a stream if it lies in the newest window or less than one
 * window beyond it in the direction of the step.  If no stream claims it,
 * the evidence for a new one is, from strong to weak:
 *
 *   - the page before it (or after it: then the step is -1) was among the last
 *     ENGINE_RECENT misses: a window of WINDOW_FIRST pages;
 *   - the page before it (after it) is cached with at least WINDOW_FIRST
 *     neighbours in a row: probably a stream that was pushed out of the table;
 *     a window as large as that run, up to the largest;
 *   - the page before it (after it) is cached: a window of WINDOW_WEAK pages;
 *   - two earlier misses at the same distance, p - d and p - 2d: a stream with
 *     step d, WINDOW_FIRST pages of it.  If streams with step 1 ran from
 *     p - d and p - 2d on, one after the other, and as far as is known equally
 *     far, blocks are meant; two of them are read.  Readers of several slices
 *     of a file are at equal distances, too: a step must fit into the rest of
 *     the file some times, and none of those streams may go on.
 *
 * Without evidence the page is read alone, but for the credit (below).
 *
 * Ahead of the reader.  Each window has a zone, its part nearest to the next
 * window.  A fault that enters the zone sends the next window on its way,
 * twice as large as the one before, up to the largest.  The zone is the last
 * quarter of a window that grows and the last half of a largest one.  Once
 * WINDOWS_FULL windows of the largest size in a row have been used up to their
 * zones, the stream is established: the zone is the whole newest window then,
 * so that one window is in flight or ready while the reader is in the one
 * before.  A reader that misses, having skipped the zone or lost its pages, has
 * to establish itself again.  The caller keeps fault-around from mapping pages
 * in a zone, else the reader would pass through it without a fault.
 *
 * Haste.  Half a window may be too little notice.  The caller tells of faults
 * on pages that are on their way; when, of the file's largest windows, so many
 * were waited for that WAITS_MANY is reached, the zone is three quarters of a
 * first largest window and seven eighths of those that follow, for all of the
 * file's streams, until WAITS_MOST windows came in time.
 * For a reader that takes pages in bulk, the kernel for a program that does
 * nothing meanwhile, the zone is the whole of the second largest window.  Two
 * windows in one go are sent from there, and the zone is the newest two from
 * then on: a batch of pages is taken in less time than a read takes.
 *
 * Regret.  For a stream, let w(k) be its windows and let the reader stop
 * anywhere.  w(k+1) <= 2 w(k) is read only when the zone of w(k) was entered,
 * so at least w(1) + ... + w(k-1) + 3/4 w(k) pages were passed by the reader
 * and at most 2 w(k) are read beyond that point and unused; the sum of the
 * earlier windows is at least w(k) - WINDOW_FIRST, therefore
 *
 *   pages read <= 16/7 * pages passed + WINDOW_FIRST
 *
 * and a little more where folios round the zone up: 5/2, or 20/7 for a stream
 * that did not start with WINDOW_FIRST pages.  The half of a largest window m
 * is within that, for the next one is no larger: 3/2 m unused, and at least
 * 3/2 m - WINDOW_FIRST passed.  An established stream has WINDOWS_FULL windows
 * of the largest size behind it, and at most two of that size are read and
 * unused:
 *
 *   pages read <= pages passed + 2 m <= 13/12 * pages passed + WINDOW_FIRST
 *
 * Haste adds 3/8 of a largest window for each stream, bulk 3/2.
 *
 * "Passed" is what lies between the first page and the last one that the
 * reader asked for: one that leaves out pages on its way still moves on.
 * Blocks are counted in whole ones, and may be a sixth too long.
 *
 * Waits.  A run of n pages in a row waits for the first page, for the second
 * (now a stream), and at most once for each window up to the first of the
 * largest size, when the reader arrives before the pages do:
 * 3 + log2(m / WINDOW_FIRST).  None of them but the first two is a miss: the
 * page is in the page cache, its read under way.
 *
 * A miss inside the newest window says that its pages were evicted before
 * they were used, or that another thread is about to bring them: the rest of
 * the window is asked for again (pages that are there are not read twice) and
 * the next one is halved.  A reader that jumps beyond its window halves it,
 * too, and loses the stream when it jumps out of the smallest.
 *
 * Folios.  The order of folios grows by two from window to window as in
 * page_cache_async_ra(), but a folio never reaches from before the zone into
 * it: it would be mapped in one go and the zone passed unseen.  Windows end,
 * and zones begin, where a folio of that order would, whether the file can
 * have it or not: where a reader stops is as often as not such a place.  For
 * the same reason the zones of largest windows begin at multiples of those: a
 * reader of a piece that ends there does not enter the last one.
 *
 * Credit.  A file has pages that may be read without much evidence.  They are
 * taken from its credit, and given back double when the reader passed as many.
 * Each largest window that is used adds one page, up to CREDIT_LIMIT such
 * windows: a file read at random runs dry after a few misses, one read in runs
 * never does.  There are two uses:
 *
 *   - A miss without any evidence.  The first one of a file just opened reads
 *     a largest window around the page, as stock does, the next few read
 *     WINDOW_FIRST pages forward, so that a reader that starts anywhere waits
 *     once.  Later, when a largest window can be paid, it is read forward.
 *   - A new stream may start with a largest window instead of a small one.
 *     CREDIT_STARTS of those are kept for streams that begin with two misses
 *     in a row.
 *
 * Files of CREDIT_SMALL pages or fewer have the credit to be read whole.
 *
 * Warm pages.  Before a window is sent ahead the page cache is asked whether
 * its pages are there already.  It then starts at the first missing page, and
 * if none is missing for two windows the stream is dropped: a walk over cached
 * pages costs nothing.  The run of cached pages behind it will bring the
 * stream back at full size at the first miss.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/string.h>
#else
#include <string.h>
#endif
#include "engine.h"

#define WINDOW_WEAK	2	/* pages, when one cached neighbour is all we know */
#define WINDOW_FIRST	4	/* pages, when a stream was just recognised */
#define WINDOWS_FULL	24	/* of the largest size in a row: established */
#define STEPS_FEW	3	/* steps left in the file: not worth a stream */
#define LONGER_LIMIT	6	/* misses that may tell how long blocks are */
#define CREDIT_TOUCHES	5	/* first touches with WINDOW_FIRST pages */
#define CREDIT_SMALL	1024	/* pages in a file that may be read whole */
#define CREDIT_STARTS	2	/* streams that may start with a largest window */
#define WAITS_WEIGHT	2	/* windows in time that outweigh one wait */
#define WAITS_MANY	16	/* by that measure: readers need more notice */
#define WAITS_MOST	255	/* what becomes of many */
#define CREDIT_LIMIT	8	/* largest windows that a file can save up */

static unsigned long lower(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

static unsigned long higher(unsigned long a, unsigned long b)
{
	return a > b ? a : b;
}

/* log2, rounded down; @n > 0 */
static unsigned int log2_floor(unsigned long n)
{
	unsigned int bits = 0;

	while (n >>= 1)
		bits++;
	return bits;
}

static unsigned long align_down(unsigned long n, unsigned int order)
{
	return n >> order << order;
}

static unsigned long align_up(unsigned long n, unsigned int order)
{
	return align_down(n + (1UL << order) - 1, order);
}

static bool is_strided(const struct engine_stream *s)
{
	return s->step != 1 && s->step != -1;
}

/* First page of a stream with step 1 */
static unsigned long base_of(const struct engine_stream *s)
{
	return s->start - s->back;
}

/* Pages from the first one of a stream with step 1 or -1 to @page */
static u32 passed(const struct engine_stream *s, unsigned long page)
{
	if (s->step == -1)
		return (u32)(s->start + s->size + s->back - page);
	return (u32)(page - base_of(s)) + 1;
}

static unsigned long largest(const struct engine_env *env)
{
	return higher(higher(env->max_pages, env->huge_pages), 1);
}

static unsigned long cached_run(const struct engine_env *env,
				unsigned long page, int step, unsigned long max)
{
	if (page >= env->file_pages)	/* also one below page 0 */
		return 0;
	return env->cached_run(env->priv, page, step, max);
}

static void set_zone(struct engine_file *ef, struct engine_stream *s,
		     unsigned long first, unsigned long pages)
{
	struct engine_zone *z = &ef->zones[s - ef->streams];

	/* Empty before it moves: a reader between the stores sees no zone. */
	WRITE_ONCE(z->pages, 0);
	WRITE_ONCE(z->first, first);
	WRITE_ONCE(z->pages, pages);
}

static void drop_stream(struct engine_file *ef, struct engine_stream *s)
{
	set_zone(ef, s, 0, 0);
	s->size = 0;
}

/* Slots beyond a limit that was lowered are given up here as well. */
static struct engine_stream *new_stream(struct engine_file *ef,
					const struct engine_env *env, long step)
{
	struct engine_stream *s, *oldest = &ef->streams[0];
	unsigned int i, limit = env->streams;

	if (limit < 1 || limit > ENGINE_MAX_STREAMS)
		limit = ENGINE_MAX_STREAMS;
	for (i = limit; i < ef->nr_zones; i++)
		drop_stream(ef, &ef->streams[i]);
	for (i = 0; i < limit; i++) {
		s = &ef->streams[i];
		if (!s->size) {
			oldest = s;
			break;
		}
		if (ef->clock - s->stamp > ef->clock - oldest->stamp)
			oldest = s;
	}
	drop_stream(ef, oldest);
	if (limit < ef->nr_zones)
		WRITE_ONCE(ef->nr_zones, limit);
	if (ef->nr_zones <= (u32)(oldest - ef->streams))
		WRITE_ONCE(ef->nr_zones, (u32)(oldest - ef->streams) + 1);
	memset(oldest, 0, sizeof(*oldest));
	oldest->step = (s32)step;
	oldest->len = 1;
	oldest->run = 1;
	oldest->born = ef->clock;
	return oldest;
}

/* The largest window of a stream, in pages or, if it is strided, in steps. */
static unsigned long limit_of(const struct engine_stream *s,
			      const struct engine_env *env)
{
	return higher(largest(env) / s->len, 1);
}

static void grow(struct engine_stream *s, const struct engine_env *env)
{
	s->want = (u32)lower(higher(2UL * s->want, WINDOW_FIRST),
			     limit_of(s, env));
}

static bool full_size(const struct engine_stream *s, const struct engine_env *env)
{
	return s->want >= limit_of(s, env);
}

static bool established(const struct engine_stream *s)
{
	return s->full >= WINDOWS_FULL;
}

/* Will the reader be there before its pages are, told half a window before? */
static bool in_haste(const struct engine_file *ef, const struct engine_env *env)
{
	return env->bulk || ef->waits >= WAITS_MANY;
}

/*
 * Not the first window for a reader in bulk: one that was missed is mapped in
 * one go if it is a single folio, and nobody would come to its zone.
 */
static bool zone_is_whole(const struct engine_env *env,
			  const struct engine_stream *s)
{
	return established(s) || (env->bulk && full_size(s, env) && s->full);
}

/* Pages in the zone of a window of @size pages */
static unsigned long notice(const struct engine_file *ef,
			    const struct engine_env *env,
			    const struct engine_stream *s, unsigned long size)
{
	if (zone_is_whole(env, s))
		return size;
	if (!full_size(s, env))
		return higher(size / 4, 1);
	if (!in_haste(ef, env))
		return higher(size / 2, 1);
	return size - size / (s->full ? 8 : 4);
}

/* Shall the zone begin where readers stop: at a multiple of the window? */
static bool aligns_zone(const struct engine_env *env,
			const struct engine_stream *s)
{
	return s->size && s->want >= 2 * WINDOW_FIRST && full_size(s, env) &&
	       !zone_is_whole(env, s);
}

static void place_forward(struct engine_file *ef, const struct engine_env *env,
			  struct engine_stream *s, unsigned long from)
{
	unsigned long end = lower(from + s->want, env->file_pages), zone;
	unsigned long pages = notice(ef, env, s, s->want);

	s->start = from;
	if (end == env->file_pages) {
		s->size = end - from;
		set_zone(ef, s, 0, 0);
		return;
	}
	zone = align_down(end - pages, log2_floor(s->want));
	if (aligns_zone(env, s) && zone >= from)
		end = zone + pages;
	else if (align_down(end, s->order) > from)
		end = align_down(end, s->order);
	s->size = end - from;
	pages = notice(ef, env, s, s->size);
	zone = higher(align_down(end - pages, s->order), from);
	set_zone(ef, s, zone, end - zone);
}

/* The mirror of place_forward(): @from is the highest page of the window. */
static void place_backward(struct engine_file *ef, const struct engine_env *env,
			   struct engine_stream *s, unsigned long from)
{
	unsigned long end = from + 1, start = end - lower(s->want, end), zone;
	unsigned long pages = notice(ef, env, s, s->want);

	s->start = start;
	if (!start) {
		s->size = end;
		set_zone(ef, s, 0, 0);
		return;
	}
	zone = align_up(start + pages, log2_floor(s->want));
	if (aligns_zone(env, s) && zone <= end)
		start = zone - pages;
	else if (align_up(start, s->order) < end)
		start = align_up(start, s->order);
	s->start = start;
	s->size = end - start;
	pages = notice(ef, env, s, s->size);
	zone = lower(align_up(start + pages, s->order), end);
	set_zone(ef, s, start, zone - start);
}

/* How many of @n steps from @from stay in the file, @from counted. */
static unsigned long steps_in_file(const struct engine_env *env,
				   unsigned long from, long step,
				   unsigned long n)
{
	if (step > 0)
		return lower(n, (env->file_pages - 1 - from) / step + 1);
	return lower(n, from / -step + 1);
}

static void place_strided(struct engine_file *ef, const struct engine_env *env,
			  struct engine_stream *s, unsigned long from)
{
	unsigned long last, zone;

	s->start = from;
	s->size = steps_in_file(env, from, s->step, s->want);
	last = from + (s->size - 1) * s->step;
	if (steps_in_file(env, last, s->step, 2) < 2) {
		set_zone(ef, s, 0, 0);
		return;
	}
	zone = last - (long)(notice(ef, env, s, s->size) - 1) * s->step;
	if (s->step > 0)
		set_zone(ef, s, zone, last - zone + s->len);
	else
		set_zone(ef, s, last, zone - last + s->len);
}

/* First page after the newest window in the direction of the stream. */
static unsigned long next_page(const struct engine_stream *s)
{
	if (is_strided(s))
		return s->start + s->size * s->step;
	return s->step > 0 ? s->start + s->size : s->start - 1;
}

/*
 * Stream @s is about to go on from page @from: if another one would, too, both
 * follow one reader.  Left alone they would read ahead of each other.  Both
 * are to go on in the same block of 2^@order pages.
 */
static void drop_twins(struct engine_file *ef, const struct engine_stream *s,
		       unsigned long from, unsigned int order)
{
	struct engine_stream *twin;

	for (twin = ef->streams; twin < ef->streams + ef->nr_zones; twin++)
		if (twin != s && twin->size && twin->step == s->step &&
		    next_page(twin) >> order == from >> order)
			drop_stream(ef, twin);
}

/* The window of @s just moved: ask for it. */
static void ask_for(struct engine_file *ef, struct engine_stream *s,
		    enum engine_why why, struct engine_window *w)
{
	s->stamp = ef->clock;
	s->waited = false;
	w->start = s->start;
	w->pages = s->size;
	w->step = s->step;
	w->len = s->len;
	w->why = why;
}

/*
 * Move stream @s to a window of s->want pages whose first page in the
 * direction of the stream is @from, which lies in the file.
 */
static void advance(struct engine_file *ef, const struct engine_env *env,
		    struct engine_stream *s, unsigned long from,
		    enum engine_why why, struct engine_window *w)
{
	unsigned int order;

	drop_twins(ef, s, from, 0);
	s->want = (u32)lower(higher(s->want, 1), limit_of(s, env));
	if (s->size && s->step == 1)
		s->back += (u32)(from - s->start);
	else if (s->size && s->step == -1)
		s->back += (u32)(s->start + s->size - 1 - from);
	else if (s->size)
		s->back += (u32)((long)(from - s->start) / s->step);
	if (zone_is_whole(env, s))
		order = log2_floor(s->want);
	else
		order = s->want >= 16 ? log2_floor(s->want / 4) : 0;
	s->order = (u8)lower(s->order + 2, order);

	if (is_strided(s)) {
		s->order = 0;
		place_strided(ef, env, s, from);
	} else if (s->step > 0) {
		place_forward(ef, env, s, from);
	} else {
		place_backward(ef, env, s, from);
	}
	ask_for(ef, s, why, w);
	w->order = (unsigned int)lower(s->order, env->max_order);
	w->mark = s->step == 1 && established(s);
}

/*
 * Huge pages: windows are whole blocks of env->huge_pages, aligned.  One huge
 * page is mapped by one fault, so the zone is the block farthest on, and the
 * block after it is read when the reader enters it.
 */
static void advance_huge(struct engine_file *ef, const struct engine_env *env,
			 struct engine_stream *s, unsigned long from,
			 unsigned long blocks, enum engine_why why,
			 struct engine_window *w)
{
	unsigned int order = log2_floor(env->huge_pages);
	unsigned long first = align_down(from, order), end, room;

	drop_twins(ef, s, from, order);
	s->want = (u32)(blocks << order);
	s->order = (u8)order;
	if (s->step > 0) {
		end = lower(first + s->want, env->file_pages);
		room = env->file_pages - end;
	} else {
		end = lower(first + env->huge_pages, env->file_pages);
		first -= lower(first, s->want - env->huge_pages);
		room = first;
	}
	s->start = first;
	s->size = end - first;
	if (!room)
		set_zone(ef, s, 0, 0);
	else if (s->step > 0)
		set_zone(ef, s, higher(first, end - lower(end, env->huge_pages)),
			 lower(s->size, env->huge_pages));
	else
		set_zone(ef, s, first, lower(s->size, env->huge_pages));

	ask_for(ef, s, why, w);
	w->order = order;
	w->mark = false;
}

/*
 * How far @page lies along the stream, counted in its steps from the first
 * page of the newest window; ULONG_MAX if it is not on its way.
 */
static unsigned long position(const struct engine_stream *s, unsigned long page)
{
	unsigned long step, d;

	if (s->step == 1)
		return page - s->start;
	if (s->step == -1)
		return s->start + s->size - 1 - page;
	/* blocks lie upwards of their first pages, whatever the step */
	step = s->step > 0 ? (unsigned long)s->step : -(unsigned long)s->step;
	d = s->step > 0 ? page - s->start : s->start + step - 1 - page;
	if ((s->step > 0 ? d % step : step - 1 - d % step) >= s->len)
		return -1UL;
	/* no block starts below page 0 */
	return s->step < 0 && d / step > s->start / step ? -1UL : d / step;
}

static struct engine_stream *find_stream(struct engine_file *ef,
					 unsigned long page)
{
	struct engine_stream *s, *near = NULL;
	unsigned int i;

	for (i = 0; i < ef->nr_zones; i++) {
		unsigned long at;

		s = &ef->streams[i];
		if (!s->size)
			continue;
		at = position(s, page);
		if (at == s->size)
			return s;
		if (at < 2 * s->size)
			near = s;
	}
	return near;
}

/* A miss on the way of stream @s; leaves w->pages 0 if it left the way. */
static void late(struct engine_file *ef, const struct engine_env *env,
		 struct engine_stream *s, unsigned long page,
		 struct engine_window *w)
{
	unsigned long at = position(s, page);

	s->full = 0;
	if (s->len > largest(env)) {
		/* the limit was lowered */
		drop_stream(ef, s);
		return;
	}
	if (at < s->size) {
		/* Its pages went away, or are about to come: ask again. */
		s->want = (u32)higher(s->want / 2, WINDOW_FIRST);
		s->stamp = ef->clock;
		w->pages = lower(s->size - at, limit_of(s, env));
		w->start = s->step == -1 ? page - (w->pages - 1) : page;
		if (is_strided(s))
			w->start = s->start + at * s->step;
		w->step = s->step;
		w->len = s->len;
		w->order = env->huge_pages ? s->order : 0;
		w->mark = false;
		w->why = ENGINE_LATE;
		return;
	}
	s->run = passed(s, page);
	if (at == s->size) {
		grow(s, env);
	} else if (s->want > WINDOW_FIRST) {
		s->want = (u32)higher(s->want / 2, WINDOW_FIRST);
	} else {
		drop_stream(ef, s);
		return;
	}
	if (is_strided(s))
		page = s->start + at * s->step;	/* the first one of the block */
	if (env->huge_pages && !is_strided(s))
		advance_huge(ef, env, s, page, 2, ENGINE_LATE, w);
	else
		advance(ef, env, s, page, ENGINE_LATE, w);
}

/* The stream that ran from page @first on, or NULL */
static const struct engine_stream *run_from(const struct engine_file *ef,
					    unsigned long first)
{
	const struct engine_stream *s;

	/* it starts with the second page if the first was read alone */
	for (s = ef->streams; s < ef->streams + ef->nr_zones; s++)
		if (s->size && s->step == 1 &&
		    (base_of(s) == first || base_of(s) == first + 1))
			return s;
	return NULL;
}

/* What ran @steps before strided stream @s began, or NULL */
static const struct engine_stream *run_before(const struct engine_file *ef,
					      const struct engine_stream *s,
					      unsigned long steps)
{
	return run_from(ef, s->start - (s->back + steps) * s->step);
}

/* Was stream @s, if there is one, used since the clock showed @then? */
static bool used_since(const struct engine_file *ef,
		       const struct engine_stream *s, u32 then)
{
	return s && ef->clock - s->stamp < ef->clock - then;
}

/*
 * A miss right behind a block of a strided stream, in its newest window or the
 * one before: the blocks are longer than was known.  They grow by a sixth,
 * so that little is read in vain and few misses tell the length.  If these do
 * not, what seemed to be blocks are streams that go on.
 */
static bool longer_blocks(struct engine_file *ef, const struct engine_env *env,
			  unsigned long page, struct engine_window *w)
{
	struct engine_stream *s;

	for (s = ef->streams; s < ef->streams + ef->nr_zones; s++) {
		struct engine_zone *z = &ef->zones[s - ef->streams];
		long step = s->step > 0 ? s->step : -(long)s->step;
		long size = (long)s->size, at, first;
		u32 more;

		if (!size || s->len == 1)
			continue;
		/* the first page of the block, and how many steps it is on */
		first = (long)(page - s->len);
		at = (first - (long)s->start) / s->step;
		if ((long)s->start + at * s->step != first ||
		    at >= size || at < -size)
			continue;
		more = (u32)higher(s->len / 6, 1);
		if (s->longer == LONGER_LIMIT || s->len + more >= step ||
		    s->len + more > largest(env) ||
		    used_since(ef, run_before(ef, s, 1), s->born) ||
		    used_since(ef, run_before(ef, s, 2), s->born)) {
			drop_stream(ef, s);
			return false;
		}
		s->longer++;
		s->len += more;
		s->stamp = ef->clock;
		if (z->pages)
			set_zone(ef, s, z->first, z->pages + more);
		w->start = (unsigned long)first;
		w->pages = lower(size - at, limit_of(s, env));
		w->step = s->step;
		w->len = s->len;
		w->order = 0;
		w->mark = false;
		w->why = ENGINE_LATE;
		return true;
	}
	return false;
}

static bool was_recent(const struct engine_file *ef, unsigned long page)
{
	u32 i, n = ef->nr_recent < ENGINE_RECENT ? ef->nr_recent : ENGINE_RECENT;

	for (i = 0; i < n; i++)
		if (ef->recent[i] == page)
			return true;
	return false;
}

static void remember(struct engine_file *ef, unsigned long page)
{
	ef->recent[ef->nr_recent % ENGINE_RECENT] = page;
	/* The count wraps into the upper half: the ring stays full. */
	if (!++ef->nr_recent)
		ef->nr_recent = ENGINE_RECENT;
}

/* The step of a run of three misses that ends at @page, or 0. */
static long find_stride(const struct engine_file *ef, unsigned long page)
{
	u32 i, n = ef->nr_recent < ENGINE_RECENT ? ef->nr_recent : ENGINE_RECENT;

	for (i = 0; i < n; i++) {
		/* newest first, so that the newest rhythm wins */
		unsigned long b = ef->recent[(ef->nr_recent - 1 - i) %
					     ENGINE_RECENT];
		long d = (long)(page - b);

		if (d != (s32)d)
			continue;
		if ((d > 1 || d < -1) && was_recent(ef, b - d))
			return d;
	}
	return 0;
}

/*
 * How long is the run of pages that stream @s read from page @first on?  At
 * least *@least and at most *@most pages, if its reader did not go on.
 */
static void run_length(const struct engine_file *ef,
		       const struct engine_stream *s, unsigned long first,
		       unsigned long *least, unsigned long *most)
{
	const struct engine_zone *z;

	*least = 1;
	*most = 1;
	if (!s)
		return;
	z = &ef->zones[s - ef->streams];
	*least = base_of(s) - first + s->run;
	/* its reader did not come into the zone */
	*most = z->pages ? z->first - first : -1UL;
}

/*
 * Length of the blocks of a stream with this step that comes to @page: what
 * the runs at the two places before have in common.  One reader ended the
 * earlier before it began the later; if not, they are not blocks but streams
 * of several readers.
 */
static u32 blocks_before(const struct engine_file *ef,
			 const struct engine_env *env, unsigned long page,
			 long step)
{
	const struct engine_stream *later = run_from(ef, page - step);
	const struct engine_stream *earlier = run_from(ef, page - 2 * step);
	unsigned long least, most, len, end;

	if (later && used_since(ef, earlier, later->born))
		return 1;
	run_length(ef, later, page - step, &len, &end);
	run_length(ef, earlier, page - 2 * step, &least, &most);
	len = higher(len, least);
	if (len > lower(end, most) || len > largest(env) ||
	    len >= (unsigned long)(step > 0 ? step : -step))
		return 1;
	return (u32)len;
}

/* Three blocks or single pages at the same distance: read the next ones. */
static bool try_stride(struct engine_file *ef, const struct engine_env *env,
		       unsigned long page, struct engine_window *w)
{
	struct engine_stream *s;
	long step;

	if (!env->stride || env->huge_pages)
		return false;
	step = find_stride(ef, page);
	/* the readers of a few slices of a file are as far apart */
	if (!step || steps_in_file(env, page, step, STEPS_FEW) < STEPS_FEW)
		return false;
	s = new_stream(ef, env, step);
	s->len = blocks_before(ef, env, page, step);
	s->want = s->len > 1 ? 2 : WINDOW_FIRST;
	advance(ef, env, s, page, ENGINE_START, w);
	return true;
}

static u32 first_credit(const struct engine_env *env)
{
	unsigned long credit = (CREDIT_STARTS + 1) * largest(env) +
			       CREDIT_TOUCHES * (WINDOW_FIRST - 1);

	if (env->file_pages <= CREDIT_SMALL)
		return (u32)higher(env->file_pages, credit);
	return (u32)credit;
}

static void earn(struct engine_file *ef, const struct engine_env *env, u32 pages)
{
	ef->credit = (u32)higher(ef->credit,
				 lower(ef->credit + pages,
				       CREDIT_LIMIT * largest(env)));
}

/* Take @pages from the credit if at least @keep remain. */
static bool borrow(struct engine_file *ef, struct engine_stream *s,
		   unsigned long pages, unsigned long keep)
{
	if (ef->credit < keep + pages)
		return false;
	ef->credit -= (u32)pages;
	s->debt = (u32)pages;
	return true;
}

/* A new stream whose window is about as large as what is cached behind it. */
static void start_stream(struct engine_file *ef, const struct engine_env *env,
			 long step, unsigned long page, bool recent,
			 unsigned long run, struct engine_window *w)
{
	struct engine_stream *s = new_stream(ef, env, step);
	unsigned long limit = largest(env), cost;

	if (env->huge_pages) {
		advance_huge(ef, env, s, page, 2, ENGINE_START, w);
		return;
	}
	s->want = recent ? WINDOW_FIRST : WINDOW_WEAK;
	if (run >= WINDOW_FIRST)
		s->want = (u32)lower(run, limit);
	cost = (in_haste(ef, env) ? 2 * limit : limit) - s->want;
	if (s->want < limit &&
	    borrow(ef, s, cost, recent ? 0 : CREDIT_STARTS * limit))
		s->want = (u32)limit;
	advance(ef, env, s, page, ENGINE_START, w);
}

/* Is the miss next to cached pages?  Then start a stream away from them. */
static bool try_start(struct engine_file *ef, const struct engine_env *env,
		      unsigned long page, struct engine_window *w)
{
	unsigned long low = page - 1, high = page + 1, below, above;
	bool recent_below, recent_above, forward;

	if (env->huge_pages) {
		low = align_down(page, log2_floor(env->huge_pages)) - 1;
		high = low + 1 + env->huge_pages;
	}
	below = env->restart ? cached_run(env, low, -1, largest(env)) : 0;
	above = env->backward ? cached_run(env, high, 1, largest(env)) : 0;
	recent_below = below && was_recent(ef, low);
	recent_above = above && was_recent(ef, high);
	if (env->random && !env->huge_pages) {
		/* advised otherwise: no weak evidence */
		below = recent_below ? below : 0;
		above = recent_above ? above : 0;
	}
	if (!below && !above)
		return false;
	if (recent_below != recent_above)
		forward = recent_below;
	else
		forward = below >= above;
	if (forward)
		start_stream(ef, env, 1, page, recent_below, below, w);
	else
		start_stream(ef, env, -1, page, recent_above, above, w);
	remember(ef, page);
	return true;
}

/* A miss without any evidence: the page alone, or more on credit. */
static void first_touch(struct engine_file *ef, const struct engine_env *env,
			unsigned long page, struct engine_window *w)
{
	unsigned long limit = largest(env), start = page, pages = 1;
	unsigned long keep = CREDIT_STARTS * limit;
	struct engine_stream *s;

	if (env->huge_pages) {
		s = new_stream(ef, env, 1);
		advance_huge(ef, env, s, page, ef->clock == 1 && !env->random ?
			     2 : 1, ENGINE_FIRST, w);
		if (ef->clock != 1)
			drop_stream(ef, s);
		return;
	}
	w->start = page;
	w->pages = 1;
	w->step = 1;
	w->len = 1;
	w->order = 0;
	w->mark = false;
	w->why = ENGINE_FIRST;
	if (env->random)
		return;

	if (env->sequential) {
		/* the user vouches for the pages after this one */
		pages = limit;
	} else if (ef->credit >= keep + limit - 1 && limit > WINDOW_FIRST) {
		/* around it for a start, as stock does; then as streams go */
		start = page - lower(page, ef->clock == 1 ? limit / 2 : 0);
		pages = limit;
	} else if (ef->credit >= keep + WINDOW_FIRST - 1) {
		pages = lower(WINDOW_FIRST, limit);
	}
	if (pages <= 1)
		return;

	s = new_stream(ef, env, 1);
	s->want = (u32)pages;
	advance(ef, env, s, start, ENGINE_FIRST, w);
	if (s->start < page) {
		/* no end where a reader might stop: it is not known to come */
		s->size = lower(pages, env->file_pages - start);
		w->pages = s->size;
		if (start + pages < env->file_pages)
			set_zone(ef, s, start + pages - pages / 4, pages / 4);
	}
	/* small folios: nothing is known of the pages around */
	s->order = 0;
	w->order = 0;
	if (!env->sequential)
		borrow(ef, s, w->pages - 1, 0);
}

void engine_init(struct engine_file *ef)
{
	memset(ef, 0, sizeof(*ef));
}

void engine_miss(struct engine_file *ef, const struct engine_env *env,
		 unsigned long page, struct engine_window *w)
{
	struct engine_stream *s;

	w->pages = 0;
	if (!ef->clock++)
		ef->credit = first_credit(env);

	s = find_stream(ef, page);
	if (s) {
		late(ef, env, s, page, w);
		if (w->pages)
			return;
	}
	if (longer_blocks(ef, env, page, w))
		return;
	if (try_start(ef, env, page, w))
		return;
	if (try_stride(ef, env, page, w)) {
		remember(ef, page);
		return;
	}
	remember(ef, page);
	first_touch(ef, env, page, w);
}

/* Skip what is cached of the way ahead; false if nothing is to be read. */
static bool skip_cached(const struct engine_env *env,
			const struct engine_stream *s, unsigned long *from)
{
	unsigned long run, far = 2UL * higher(s->want, largest(env));

	if (*from >= env->file_pages)
		return false;
	if (is_strided(s)) {
		far = lower(s->len, env->file_pages - *from);
		return cached_run(env, *from, 1, far) < far;
	}
	run = cached_run(env, *from, s->step, far);
	if (run >= far)
		return false;
	*from += run * s->step;
	return *from < env->file_pages;
}

/* Did the reader of @s wait for a window of the largest size, or was it there? */
static void count_wait(struct engine_file *ef, const struct engine_env *env,
		       struct engine_stream *s, bool wait)
{
	if (!full_size(s, env) || s->waited)
		return;
	s->waited = wait;
	if (!wait)
		ef->waits -= ef->waits > 0;
	else if (ef->waits + WAITS_WEIGHT < WAITS_MANY)
		ef->waits += WAITS_WEIGHT;
	else
		ef->waits = WAITS_MOST;	/* for a while */
}

/* A page that is on its way, before the zone of the newest window */
static void waited(struct engine_file *ef, const struct engine_env *env,
		   unsigned long page)
{
	struct engine_stream *s;

	for (s = ef->streams; s < ef->streams + ef->nr_zones; s++)
		if (s->size && position(s, page) < s->size) {
			count_wait(ef, env, s, true);
			return;
		}
}

/* A mark of a stream that is not in the table, or of a read() */
static void adopt(struct engine_file *ef, const struct engine_env *env,
		  unsigned long page, struct engine_window *w)
{
	unsigned long limit = largest(env), run, next;
	struct engine_stream *s;

	if (!env->restart || env->random)
		return;
	run = cached_run(env, page, 1, 2 * limit);
	next = page + run;
	if (!run || run >= 2 * limit || next >= env->file_pages)
		return;
	s = find_stream(ef, next);
	if (s)
		return;
	s = new_stream(ef, env, 1);
	s->want = (u32)lower(higher(2 * run, WINDOW_FIRST), limit);
	advance(ef, env, s, next, ENGINE_AHEAD, w);
}

/*
 * The reader of @s is at @page and wants the notice of two windows: if there is
 * one only, one more is read.  The zone is the newest two from then on, as far
 * as they are still to come.
 */
static void keep_two_ahead(struct engine_file *ef, const struct engine_env *env,
			   struct engine_stream *s, unsigned long page,
			   struct engine_window *w)
{
	unsigned long first = s->start, end = first + s->size, more = 0;

	if (!ef->zones[s - ef->streams].pages)
		return;		/* nothing is to follow */
	if (s->step > 0) {
		if (end - page <= 2UL * s->want)
			more = lower(s->want, env->file_pages - end);
		end += more;
		first = higher(end - lower(end, 2UL * s->want), page + 1);
	} else {
		if (page - first < 2UL * s->want)
			more = lower(s->want, first);
		first -= more;
		s->start = first;
		end = lower(first + 2UL * s->want, page);
	}
	s->size += more;
	w->start = s->start;
	w->pages = s->size;
	set_zone(ef, s, first, end - first);
}

void engine_hit(struct engine_file *ef, const struct engine_env *env,
		unsigned long page, bool marked, bool pending,
		struct engine_window *w)
{
	struct engine_stream *s;
	unsigned long from;
	unsigned int i;

	w->pages = 0;
	if (!ef->clock++)
		ef->credit = first_credit(env);

	for (i = 0; i < ef->nr_zones; i++)
		if (page - ef->zones[i].first < ef->zones[i].pages)
			break;
	if (i == ef->nr_zones) {
		if (marked)
			adopt(ef, env, page, w);
		else if (pending)
			waited(ef, env, page);
		return;
	}

	s = &ef->streams[i];
	count_wait(ef, env, s, pending);
	s->run = passed(s, page);
	if (s->run > s->debt && s->debt) {
		earn(ef, env, 2 * s->debt);
		s->debt = 0;
	}
	if (full_size(s, env)) {
		if (s->full < WINDOWS_FULL)
			s->full++;
		earn(ef, env, 1);
	}
	from = next_page(s);
	if (is_strided(s) && s->len == 1)
		s->len = blocks_before(ef, env, page, s->step);
	if (s->len > largest(env) || !skip_cached(env, s, &from)) {
		drop_stream(ef, s);
		return;
	}
	if (env->huge_pages && !is_strided(s)) {
		advance_huge(ef, env, s, from,
			     higher(env->max_pages / env->huge_pages, 1),
			     ENGINE_AHEAD, w);
		return;
	}
	grow(s, env);
	advance(ef, env, s, from, ENGINE_AHEAD, w);
	if (env->bulk && zone_is_whole(env, s) && !is_strided(s))
		keep_two_ahead(ef, env, s, page, w);
}

void engine_zone_clip(const struct engine_file *ef, unsigned long page,
		      unsigned long *first, unsigned long *last)
{
	u32 i, nr = READ_ONCE(ef->nr_zones);

	for (i = 0; i < nr; i++) {
		const struct engine_zone *z = &ef->zones[i];
		unsigned long zone = READ_ONCE(z->first);
		unsigned long pages = READ_ONCE(z->pages);

		if (!pages)
			continue;
		if (zone > page)
			*last = lower(*last, zone - 1);
		else if (zone + pages <= page)
			*first = higher(*first, zone + pages);
	}
}

unsigned int engine_streams_in_use(const struct engine_file *ef)
{
	unsigned int i, n = 0;

	for (i = 0; i < ENGINE_MAX_STREAMS; i++)
		n += READ_ONCE(ef->streams[i].size) != 0;
	return n;
}
