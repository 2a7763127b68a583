/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmapra.h - names that the module and its users in user space share
 *
 * Knobs are files in /sys/module/mmapra/parameters, statistics are files in
 * /sys/module/mmapra/stats.  Each holds one value.
 */
#ifndef MMAPRA_H
#define MMAPRA_H

#define MMAPRA_NAME		"mmapra"
#define MMAPRA_VERSION		"0.1"	/* dkms.conf has it, too */

/* Limits and defaults of the knobs. */
#define MMAPRA_MAX_STREAMS	32
#define MMAPRA_DEF_STREAMS	8
#define MMAPRA_MAX_WINDOW_KB	65536
#define MMAPRA_MAX_FILES	65536
#define MMAPRA_DEF_FILES	1024

/**
 * MMAPRA_STATS - every statistic: X(name), each a count since load
 *
 * misses:		faults on pages that were not cached, of managed files
 * boundaries:		faults on cached pages that sent the next window on its way
 * restarts:		streams recognised by two misses or a cached neighbour
 * backward_windows:	windows read for streams towards lower offsets
 * strided_windows:	windows read for streams with a constant step
 * windows:		windows read, of all kinds
 * pages_read:		pages asked for in those windows; pages that were cached
 *			already are among them but were not read again
 * first_touches:	misses that no stream explained
 * failed_folios:	large folios whose read failed, read again page by page
 * fallback_*:		misses left to the stock kernel, by reason:
 *   filesystem:	type not in the filesystems knob, or no readahead method
 *   random:		MADV_RANDOM mapping and random_hint=honor
 *   off:		readahead is switched off for the open file or device
 *   huge:		MADV_HUGEPAGE, on a kernel where a module cannot choose the
 *			size of folios
 *   busy:		the table was in use, or the file too new to it
 *   retried:		second try of a fault whose page went away meanwhile
 *   special:		executable mappings and DAX
 */
#define MMAPRA_STATS(X) \
	X(misses) \
	X(boundaries) \
	X(restarts) \
	X(backward_windows) \
	X(strided_windows) \
	X(windows) \
	X(pages_read) \
	X(first_touches) \
	X(failed_folios) \
	X(fallback_filesystem) \
	X(fallback_random) \
	X(fallback_off) \
	X(fallback_huge) \
	X(fallback_busy) \
	X(fallback_retried) \
	X(fallback_special)

#endif
