/* SPDX-License-Identifier: GPL-2.0 */
/*
 * window.h - turns a decision into page cache reads
 */
#ifndef MMAPRA_WINDOW_H
#define MMAPRA_WINDOW_H

#include <linux/fs.h>
#include <linux/pagemap.h>
#include "engine.h"

/**
 * window_read() - bring the pages of a window into the page cache
 * @file:	the open file, with a reference or lock that keeps it open
 * @w:		what to read; the part beyond the end of the file is left out
 *
 * Starts the reads and does not wait for them; pages that are cached are left
 * alone.  May sleep for memory and for room in the device's queue.  Takes the
 * mapping's invalidate lock for reading.  file->f_ra is not used.  Failures
 * show as pages that are not there afterwards, or not up to date.
 */
void window_read(struct file *file, const struct engine_window *w);

/**
 * window_clear_mark() - take the readahead mark off a page, if it has one
 * @mapping:	the page cache
 * @index:	the page, in pages
 */
void window_clear_mark(struct address_space *mapping, pgoff_t index);

/**
 * window_read_failed() - is a folio neither up to date nor being read?
 * @folio:	one that is or was in the page cache
 *
 * A read ends with the folio up to date first, then unlocked: looked at in the
 * reverse order, a read that ends meanwhile has not failed.
 */
static inline bool window_read_failed(struct folio *folio)
{
	if (folio_test_locked(folio))
		return false;
	smp_rmb();	/* locked first, then up to date */
	return !folio_test_uptodate(folio);
}

/**
 * window_drop_folio() - take a folio whose read failed out of the page cache
 * @mapping:	the file's pages
 * @index:	a page of it
 *
 * May sleep.
 *
 * Return: true if nothing is cached at @index now, as far as can be told
 */
bool window_drop_folio(struct address_space *mapping, pgoff_t index);

/**
 * window_can_choose_order() - can folios of any order be asked for?
 *
 * Return: false on kernels before 6.17, where only some can
 */
bool window_can_choose_order(void);

/**
 * window_init() - prepare; may sleep
 *
 * Return: 0 or -ENOMEM
 */
int window_init(void);

/**
 * window_exit() - the reverse; no read may be under way
 */
void window_exit(void);

#endif
