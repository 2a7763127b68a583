/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cases.h - the access patterns that this module is about, as one list for
 * the engine's tests in user space and for the tests in a guest
 *
 * A case is what a program does to one mapped file. It has two phases: what
 * the file went through before (CASE_PREPARE, not measured), and the walk that
 * is measured (CASE_WALK). A phase is a sequence of touches for each thread;
 * nothing here opens, maps or measures anything.
 *
 *	struct case_walk w;
 *	uint64_t page;
 *
 *	case_walk_start(&w, c, npages, CASE_WALK, thread);
 *	while (case_walk_next(&w, &page))
 *		touch(page);
 *
 * Sizes follow the file: the numbers in the descriptions hold for a file of
 * CASE_FULL_PAGES (1 GiB of 4 KiB pages), a file half as large is walked half
 * as far. Files under CASE_MIN_PAGES are too small to be of use.
 */
#ifndef MMAPRA_TESTS_CASES_H
#define MMAPRA_TESTS_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CASE_FULL_PAGES	262144u	/* 1 GiB: what all limits are written for */
#define CASE_MIN_PAGES	16384u	/* 64 MiB */
#define CASE_THREADS	4u	/* the most threads a case has */
#define CASE_ANY	UINT32_MAX	/* no limit on the faults */

enum case_phase { CASE_PREPARE, CASE_WALK };

/* madvise() on the whole mapping, after the first phase */
enum case_hint {
	HINT_NONE,
	HINT_SEQUENTIAL,
	HINT_RANDOM,
	HINT_HUGEPAGE,
};

/* how the second phase reaches the pages */
enum case_map {
	MAP_READ,		/* shared and read-only, read by the program */
	MAP_WRITE,		/* private and writable, written by the program */
	MAP_KERNEL,		/* shared, read by process_vm_readv() */
};

/* what a test must know to judge a run */
#define CASE_STOCK_MIB		(1u << 0)	/* no more MiB than stock read, within max_mib or not */
#define CASE_STOCK_MAJFLT	(1u << 1)	/* no more major faults than stock took */
#define CASE_STOCK_MINFLT	(1u << 2)	/* no more than 1.1 x the minor faults stock took */
#define CASE_SCALES		(1u << 3)	/* max_majflt grows with the file */
#define CASE_VERIFY		(1u << 4)	/* runs under random_hint=verify */
#define CASE_LATER		(1u << 5)	/* the goal is not asked for yet, only the guards are */

/* at CASE_FULL_PAGES, for the second phase, on the newest stock kernel */
struct case_limit {
	uint32_t majflt;
	double mib;
};

struct mmcase {
	const char *name;
	const char *what;	/* one line, for people */
	unsigned int threads;
	enum case_hint hint;
	enum case_map map;
	unsigned int flags;
	unsigned int file_mib;	/* the size the row is meant for */
	unsigned int prepare;	/* patterns, see cases.c */
	unsigned int walk;
	struct case_limit goal;	/* where this is going */
	struct case_limit max;	/* what a run must hold today */
};

struct case_walk {
	const struct mmcase *c;
	unsigned int pattern;
	unsigned int thread;
	uint64_t npages;
	uint64_t i;		/* touches so far */
	uint64_t j, k;		/* used by some patterns */
};

/* what a run measured; a negative number was not measured */
struct case_result {
	int64_t majflt;
	int64_t minflt;
	double mib;
};

extern const struct mmcase mmcases[];
extern const size_t nr_mmcases;

const struct mmcase *case_find(const char *name);
const char *case_hint_name(enum case_hint hint);
const char *case_map_name(enum case_map map);

void case_walk_start(struct case_walk *w, const struct mmcase *c,
		     uint64_t npages, enum case_phase phase,
		     unsigned int thread);
bool case_walk_next(struct case_walk *w, uint64_t *page);

/* The limits of a case, for a file of this many pages. */
struct case_limit case_scale(const struct mmcase *c, struct case_limit full,
			     uint64_t npages);

/*
 * Does a run hold? @stock is the same case without the module, or NULL. Writes
 * one line to @why: the limit that was passed, or what was held.
 */
bool case_judge(const struct mmcase *c, uint64_t npages,
		const struct case_result *run, const struct case_result *stock,
		char *why, size_t size);

#endif
