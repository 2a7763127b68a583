/* SPDX-License-Identifier: GPL-2.0 */
/*
 * engine.h - which pages to read, and when
 *
 * Pure C: no kernel calls, no locks, no clock, no allocation.  The caller
 * serialises calls for one struct engine_file; engine_zone_*() alone may be
 * called at any time.  All positions and sizes are in pages of the file.
 */
#ifndef MMAPRA_ENGINE_H
#define MMAPRA_ENGINE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/compiler.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
#ifndef READ_ONCE
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#endif
#endif

#define ENGINE_MAX_STREAMS	32
#define ENGINE_RECENT		16	/* misses remembered besides streams */

/**
 * struct engine_zone - where a stream wants to be told that its reader came
 * @first:	first page
 * @pages:	number of pages, 0: no zone
 *
 * Written by the engine under the caller's lock, read without any lock.  A
 * reader that sees half of an update makes one needless visit or misses one:
 * both are harmless.
 */
struct engine_zone {
	unsigned long first;
	unsigned long pages;
};

/**
 * struct engine_stream - one run of faults in one direction
 * @start:	first page of the newest window
 * @size:	pages in it, 0: the slot is free
 * @stamp:	engine_file.clock when it was last used
 * @born:	engine_file.clock when it began
 * @want:	pages the next window shall have
 * @step:	+1 towards higher offsets, -1 towards lower ones; other values
 *		are the distance between the first pages of the blocks of a
 *		strided stream; size, want and windows count blocks then
 * @len:	pages in each block of a strided stream, else 1
 * @back:	pages, or blocks of a strided stream, before its newest window
 * @run:	pages of it that its reader is known to have passed
 * @debt:	pages taken from the file's credit, given back when used
 * @order:	log2 of the pages in a folio of the newest window, if the file
 *		could have any
 * @full:	windows of the largest size in a row that were used up to their
 *		zones, as far as it matters
 * @waited:	its reader had to wait for the newest window
 * @longer:	times that the blocks turned out to be longer
 */
struct engine_stream {
	unsigned long start;
	unsigned long size;
	u32 stamp;
	u32 born;
	u32 want;
	s32 step;
	u32 len;
	u32 back;
	u32 run;
	u32 debt;
	u8 order;
	u8 full;
	u8 longer;
	bool waited;
};

/**
 * struct engine_file - all that is known of one open file
 * @zones:	zone of each stream, index for index; the part that faults on
 *		cached pages look at
 * @nr_zones:	zones beyond this index are empty
 * @streams:	the streams
 * @recent:	last misses that no stream explained, as a ring
 * @nr_recent:	misses written to the ring since the start
 * @clock:	counts decisions; the measure of age
 * @credit:	pages that may be read without knowing that a reader wants them
 * @waits:	how much readers wait for windows that were sent ahead of them
 */
struct engine_file {
	struct engine_zone zones[ENGINE_MAX_STREAMS];
	u32 nr_zones;
	u32 clock;
	u32 nr_recent;
	u32 credit;
	u8 waits;
	unsigned long recent[ENGINE_RECENT];
	struct engine_stream streams[ENGINE_MAX_STREAMS];
};

/**
 * struct engine_env - what a decision depends on besides the file's history
 * @file_pages:	pages in the file, the last one perhaps in part
 * @max_pages:	largest window
 * @huge_pages:	pages in a huge page when the mapping asks for those and the
 *		file can have them, else 0
 * @max_order:	log2 of the pages of the largest folio the file can have
 * @streams:	streams to remember, 1 to ENGINE_MAX_STREAMS
 * @sequential:	the mapping was advised to be read sequentially
 * @random:	the mapping was advised to be read at random
 * @bulk:	the kernel takes pages for a program that waits for all of them
 * @restart:	forward streams may start from misses
 * @backward:	streams towards lower offsets may start
 * @stride:	streams with a constant step may start
 * @cached_run:	tells how many pages in a row are cached, @page the first of
 *		them, going up (@step 1) or down (@step -1), counting no
 *		further than @max; must not sleep
 * @priv:	passed to @cached_run
 */
struct engine_env {
	unsigned long file_pages;
	unsigned long max_pages;
	unsigned long huge_pages;
	unsigned int max_order;
	unsigned int streams;
	bool sequential;
	bool random;
	bool bulk;
	bool restart;
	bool backward;
	bool stride;
	unsigned long (*cached_run)(void *priv, unsigned long page, int step,
				    unsigned long max);
	void *priv;
};

/**
 * enum engine_why - what a window was read for
 * @ENGINE_FIRST:	a miss that no stream explained
 * @ENGINE_START:	a stream was recognised
 * @ENGINE_LATE:	a stream's reader missed: it was faster than its window
 * @ENGINE_AHEAD:	a stream's reader is near the end of its window
 */
enum engine_why {
	ENGINE_FIRST,
	ENGINE_START,
	ENGINE_LATE,
	ENGINE_AHEAD,
};

/**
 * struct engine_window - pages to read
 * @start:	first page
 * @pages:	number of pages; 0: nothing to do
 * @step:	see struct engine_stream; when it is neither 1 nor -1, @pages
 *		blocks are meant, at @start and @step, 2 * @step ... from there
 * @len:	pages in a block, all upwards of its first; 1 without blocks.  The
 *		last block may reach beyond the end of the file
 * @order:	log2 of the pages in a folio, where the file can have them
 * @mark:	leave the readahead mark on the first page: the page cache then
 *		remembers the stream if it is pushed out of the table
 * @why:	reason, for statistics
 */
struct engine_window {
	unsigned long start;
	unsigned long pages;
	long step;
	unsigned long len;
	unsigned int order;
	bool mark;
	enum engine_why why;
};

/**
 * engine_init() - forget everything, as for a file just opened
 * @ef:		the file's state
 */
void engine_init(struct engine_file *ef);

/**
 * engine_miss() - a fault found its page missing
 * @ef:		the file's state, serialised by the caller
 * @env:	circumstances of this fault
 * @page:	the page, below env->file_pages
 * @w:		the window to read now; always contains @page
 */
void engine_miss(struct engine_file *ef, const struct engine_env *env,
		 unsigned long page, struct engine_window *w);

/**
 * engine_hit() - a fault on a cached page touched a zone or a readahead mark,
 *		   or has to wait for the page
 * @ef:		the file's state, serialised by the caller
 * @env:	circumstances of this fault
 * @page:	the page, below env->file_pages
 * @marked:	the page carried a readahead mark
 * @pending:	the read of the page is under way
 * @w:		the window to read ahead; w->pages is 0 if there is none
 */
void engine_hit(struct engine_file *ef, const struct engine_env *env,
		unsigned long page, bool marked, bool pending,
		struct engine_window *w);

/**
 * engine_zone_contains() - does a stream want to know of a fault on a page?
 * @ef:		the file's state; no lock needed
 * @page:	the page
 */
static inline bool engine_zone_contains(const struct engine_file *ef,
					unsigned long page)
{
	u32 i, nr = READ_ONCE(ef->nr_zones);

	for (i = 0; i < nr; i++) {
		const struct engine_zone *z = &ef->zones[i];

		if (page - READ_ONCE(z->first) < READ_ONCE(z->pages))
			return true;
	}
	return false;
}

/**
 * engine_zone_near() - does a range of pages touch a zone?
 * @ef:		the file's state; no lock needed
 * @first:	first page of the range
 * @last:	last page of the range, not below @first
 */
static inline bool engine_zone_near(const struct engine_file *ef,
				    unsigned long first, unsigned long last)
{
	u32 i, nr = READ_ONCE(ef->nr_zones);

	for (i = 0; i < nr; i++) {
		const struct engine_zone *z = &ef->zones[i];
		unsigned long zone = READ_ONCE(z->first);
		unsigned long pages = READ_ONCE(z->pages);

		if (first < zone + pages && last >= zone)
			return true;
	}
	return false;
}

/**
 * engine_zone_clip() - cut a range of pages so that it leaves zones alone
 * @ef:		the file's state; no lock needed
 * @page:	a page in the range, outside every zone
 * @first:	first page of the range; raised where a zone is below @page
 * @last:	last page of the range; lowered where a zone is above @page
 */
void engine_zone_clip(const struct engine_file *ef, unsigned long page,
		      unsigned long *first, unsigned long *last);

/**
 * engine_streams_in_use() - number of streams remembered
 * @ef:		the file's state; no lock needed for a rough answer
 */
unsigned int engine_streams_in_use(const struct engine_file *ef);

#endif
