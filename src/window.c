// SPDX-License-Identifier: GPL-2.0
/*
 * window.c - turns a decision into page cache reads
 *
 * The page cache exports no call that reads a given range with folios of a
 * given order.  Two calls together do:
 *
 * page_cache_ra_unbounded() reads any range, in the smallest folios.
 *
 * page_cache_async_ra() goes on from a window that is described by a struct
 * file_ra_state.  Given one of our own that describes a window just before
 * ours, with a largest window (ra_pages) of our size, it reads just ours: the
 * size comes out as ra_pages, because the window before had that size, and
 * the order as two more than before.  It wants a folio that carries the mark;
 * one that is in no page cache serves, and its order is where kernels before
 * 6.17 take the order from.
 */
#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include "window.h"

#define CHUNK_PAGES	(SZ_2M / PAGE_SIZE)	/* as force_page_cache_ra() */

/* Folios that stand in for a marked one, of order 0, 1, ... */
#define STAND_INS	(COMPAT_RA_HAS_ORDER ? 1 : 4)
static struct folio *stand_in[STAND_INS];

static void read_small(struct file *file, pgoff_t start, unsigned long pages,
		       bool mark)
{
	struct address_space *mapping = file->f_mapping;

	while (pages) {
		unsigned long n = min_t(unsigned long, pages, CHUNK_PAGES);
		/* file systems write to it what they could not take */
		struct file_ra_state ra = { .start = start, .size = n,
					    .ra_pages = n };
		DEFINE_READAHEAD(ractl, file, &ra, mapping, start);

		filemap_invalidate_lock_shared(mapping);
		/* a look-ahead of all pages marks the first, of none no page */
		page_cache_ra_unbounded(&ractl, n, mark ? n : 0);
		filemap_invalidate_unlock_shared(mapping);
		start += n;
		pages -= n;
		mark = false;
	}
}

/* Returns false if nothing was tried. */
static bool read_ordered(struct file *file, pgoff_t start, unsigned long pages,
			 unsigned int order, bool mark)
{
	struct address_space *mapping = file->f_mapping;
	struct file_ra_state ra = {
		.start		= start - pages,
		.size		= pages,
		.async_size	= 1,
		.ra_pages	= pages,
	};
	struct folio *folio = stand_in[0];
	pgoff_t index;

	if (!COMPAT_RA_HAS_ORDER) {
		if (order < 2)
			return false;
		folio = stand_in[min_t(unsigned int, order - 2, STAND_INS - 1)];
	}
	/* page_cache_async_ra() adds two; the sum may wrap */
	COMPAT_RA_SET_ORDER(&ra, order - 2);
	index = round_down(start - 1, folio_nr_pages(folio));
	/* 6.1 takes index 0 for the start of the file */
	if (!start || !index)
		return false;

	{
		DEFINE_READAHEAD(ractl, file, &ra, mapping, index);

		page_cache_async_ra(&ractl, folio, pages);
	}
	if (!mark)
		window_clear_mark(mapping, start);
	return true;
}

void window_clear_mark(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = compat_get_folio(mapping, index);

	if (!folio)
		return;
	/* The bit means something else while the folio is written back. */
	if (folio_test_readahead(folio) && !folio_test_writeback(folio))
		folio_clear_readahead(folio);
	folio_put(folio);
}

bool window_drop_folio(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = compat_get_folio(mapping, index);
	pgoff_t first, last;
	bool drop;

	if (!folio)
		return true;
	first = folio->index;
	last = first + folio_nr_pages(folio) - 1;
	drop = window_read_failed(folio);
	folio_put(folio);
	/* leaves alone what is dirty, mapped or in use */
	return drop && invalidate_mapping_pages(mapping, first, last);
}

bool window_can_choose_order(void)
{
	return COMPAT_RA_HAS_ORDER;
}

void window_read(struct file *file, const struct engine_window *w)
{
	loff_t size = i_size_read(file->f_mapping->host);
	unsigned long end = DIV_ROUND_UP(size, PAGE_SIZE), pages, rest, i;
	struct blk_plug plug;

	/* The file may have become shorter since the decision. */
	if (w->step != 1 && w->step != -1) {
		blk_start_plug(&plug);
		for (i = 0; i < w->pages; i++) {
			pgoff_t page = w->start + i * w->step;

			if (page < end)
				read_small(file, page, min(w->len, end - page),
					   false);
		}
		blk_finish_plug(&plug);
		return;
	}
	if (w->start >= end)
		return;
	pages = min(w->pages, end - w->start);
	if (!w->order || !read_ordered(file, w->start, pages, w->order, w->mark)) {
		read_small(file, w->start, pages, w->mark);
		return;
	}
	/* Some kernels leave out what is no whole folio at the end. */
	rest = (w->start + pages) & ((1UL << w->order) - 1);
	if (rest && rest < pages)
		read_small(file, w->start + pages - rest, rest, false);
}

int window_init(void)
{
	unsigned int order;

	for (order = 0; order < STAND_INS; order++) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, order);

		if (!page) {
			window_exit();
			return -ENOMEM;
		}
		stand_in[order] = page_folio(page);
	}
	return 0;
}

void window_exit(void)
{
	unsigned int order;

	for (order = 0; order < STAND_INS; order++) {
		if (stand_in[order])
			folio_put(stand_in[order]);
		stand_in[order] = NULL;
	}
}
