// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - the access patterns, see cases.h
 *
 * Pure C, no system calls: what runs in the guest and what feeds the engine in
 * user space touch the same pages in the same order.
 */
#include <stdio.h>
#include <string.h>

#include "cases.h"

/*
 * Where things are, in a file of 1 GiB. The sparse pass takes one page in the
 * middle of every MiB, so that a walk that starts or ends at a MiB finds its
 * first pages uncached; the file has 1024 of them, so the pass of 2000 touches
 * comes round a second time, as it did in the report, and takes no faults
 * then. Stock reads around each of the first hundred touches; a walk of one
 * stream stays away from those, in the second half.
 */
enum pattern {
	NOTHING,
	SPARSE,			/* 2000 touches, 1 MiB apart */
	WHOLE,			/* every page of the file, upwards */
	WHOLE_BACK,		/* downwards */
	RUN,			/* 64 MiB upwards */
	RUN_BACK,		/* 64 MiB downwards */
	REGIONS,		/* 32 regions of 2 MiB, one after the other */
	SLICE,			/* 64 MiB upwards in the thread's own slice */
	SLICE_BACK,		/* downwards */
	IN_TURN,		/* 4 streams of 32 MiB, a page of each in turn */
	RANDOM,			/* 1 % of the pages, at random */
	RANDOM_RUNS,		/* 1 % of the pages, in runs of 4 */
	STRIDE_61,		/* 1 % of the pages, 61 apart */
	STRIDE_1021,
	COLUMN,			/* 8 pages of every 64 */
	TENSOR_ENDS,		/* the last page of each of 400 tensors */
	TENSORS,		/* all of each tensor, in shuffled order */
};

#define SPARSE_TOUCHES	2000u
#define REGION_COUNT	32u
#define TENSOR_COUNT	400u
#define TENSOR_STEP	149u	/* shuffles: no divisor in common with 400 */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/*
 * Tensors come in groups of 8, sized as the weights of a layer are: 4 of one
 * size, 2 of half of that, 1 of twice of that, 1 small one. The last one takes
 * what is left of the file.
 */
static uint64_t tensor_start(uint64_t npages, unsigned int t)
{
	static const unsigned int before[] = { 0, 8, 16, 24, 32, 36, 40, 56 };
	uint64_t group = 57, groups = TENSOR_COUNT / 8;

	if (t >= TENSOR_COUNT)
		return npages;
	return (t / 8 * group + before[t % 8]) * npages / (group * groups);
}

static bool upwards(struct case_walk *w, uint64_t start, uint64_t n,
		    uint64_t *page)
{
	*page = start + w->i;
	return w->i++ < n;
}

static bool downwards(struct case_walk *w, uint64_t start, uint64_t n,
		      uint64_t *page)
{
	*page = start + n - 1 - w->i;
	return w->i++ < n;
}

static bool one_percent(struct case_walk *w, uint64_t position, uint64_t *page)
{
	*page = position % w->npages;
	return w->i++ < w->npages / 100;
}

static bool next_sparse(struct case_walk *w, uint64_t *page)
{
	uint64_t apart = w->npages / 1024;

	/* smaller files: fewer touches, never closer than stock reads around */
	if (apart < 64)
		apart = 64;
	*page = (w->i * apart + apart / 2) % w->npages;
	return w->i++ < SPARSE_TOUCHES;
}

static bool next_tensors(struct case_walk *w, uint64_t *page)
{
	unsigned int t;

	/* j: tensors taken so far; k: pages taken of this one */
	while (w->j < TENSOR_COUNT) {
		t = (w->j * TENSOR_STEP + 7) % TENSOR_COUNT;
		*page = tensor_start(w->npages, t) + w->k++;
		if (*page < tensor_start(w->npages, t + 1))
			return true;
		w->j++;
		w->k = 0;
	}
	return false;
}

void case_walk_start(struct case_walk *w, const struct mmcase *c,
		     uint64_t npages, enum case_phase phase,
		     unsigned int thread)
{
	memset(w, 0, sizeof(*w));
	w->c = c;
	w->npages = npages;
	w->thread = thread;
	w->pattern = phase == CASE_PREPARE ? c->prepare : c->walk;
	/* one thread alone takes the first phase */
	if (phase == CASE_PREPARE && thread)
		w->pattern = NOTHING;
}

bool case_walk_next(struct case_walk *w, uint64_t *page)
{
	uint64_t n = w->npages, run = n / 16, region = n / 512;
	uint64_t slice = w->thread * (n / CASE_THREADS);

	switch ((enum pattern)w->pattern) {
	case NOTHING:
		return false;
	case SPARSE:
		return next_sparse(w, page);
	case WHOLE:
		return upwards(w, 0, n, page);
	case WHOLE_BACK:
		return downwards(w, 0, n, page);
	case RUN:
		return upwards(w, n / 2, run, page);
	case RUN_BACK:
		return downwards(w, n / 2, run, page);
	case REGIONS:
		*page = w->i / region * (n / REGION_COUNT) + w->i % region;
		return w->i++ < region * REGION_COUNT;
	case SLICE:
		return upwards(w, slice, run, page);
	case SLICE_BACK:
		return downwards(w, slice, run, page);
	case IN_TURN:
		*page = w->i % 4 * (n / 4) + w->i / 4;
		return w->i++ < n / 32 * 4;
	case RANDOM:
		return one_percent(w, mix(w->i), page);
	case RANDOM_RUNS:
		return one_percent(w, mix(w->i / 4) % (n - 3) + w->i % 4, page);
	case STRIDE_61:
		return one_percent(w, w->i * 61, page);
	case STRIDE_1021:
		return one_percent(w, w->i * 1021, page);
	case COLUMN:
		/* the third rank of eight */
		*page = w->i / 8 * 64 + 24 + w->i % 8;
		return w->i++ < n / 64 * 8;
	case TENSOR_ENDS:
		*page = tensor_start(n, w->i + 1) - 1;
		return w->i++ < TENSOR_COUNT;
	case TENSORS:
		return next_tensors(w, page);
	}
	return false;
}

/*
 * The limits. "max" is never looser than the better of what stock 7.3, the
 * restart patch proposed for it and a first trial of this module reach, and
 * never tighter than the goal. Rows marked CASE_LATER need a detector that is
 * still to come: until then they may not read more than stock does.
 */
const struct mmcase mmcases[] = {
	{ .name = "forward", .what = "whole file forward",
	  .threads = 1, .file_mib = 1024,
	  .walk = WHOLE,
	  .flags = CASE_STOCK_MAJFLT | CASE_STOCK_MINFLT | CASE_STOCK_MIB,
	  .goal = { 1, 1024 }, .max = { 1, 1024 } },
	{ .name = "sparse-forward",
	  .what = "2000 pages 1 MiB apart, then 64 MiB forward",
	  .threads = 1, .file_mib = 1024,
	  .prepare = SPARSE, .walk = RUN,
	  .goal = { 2, 64 }, .max = { 2, 66 } },
	{ .name = "sparse-forward-seq",
	  .what = "the same, MADV_SEQUENTIAL before the walk",
	  .threads = 1, .file_mib = 1024, .hint = HINT_SEQUENTIAL,
	  .prepare = SPARSE, .walk = RUN,
	  .goal = { 2, 64 }, .max = { 3, 66 } },
	{ .name = "sparse-regions",
	  .what = "sparse pass, then 32 regions of 2 MiB in turn",
	  .threads = 1, .file_mib = 1024,
	  .prepare = SPARSE, .walk = REGIONS,
	  .goal = { 34, 66 }, .max = { 70, 67 } },
	{ .name = "sparse-backward",
	  .what = "sparse pass, then 64 MiB backward, no hint",
	  .threads = 1, .file_mib = 1024,
	  .prepare = SPARSE, .walk = RUN_BACK,
	  .goal = { 2, 65 }, .max = { 3, 66 } },
	{ .name = "sparse-backward-seq",
	  .what = "sparse pass, then 64 MiB backward, MADV_SEQUENTIAL",
	  .threads = 1, .file_mib = 1024, .hint = HINT_SEQUENTIAL,
	  .prepare = SPARSE, .walk = RUN_BACK,
	  .goal = { 2, 65 }, .max = { 3, 66 } },
	{ .name = "backward-seq",
	  .what = "2 GiB backward, MADV_SEQUENTIAL",
	  .threads = 1, .file_mib = 2048, .hint = HINT_SEQUENTIAL,
	  .walk = WHOLE_BACK,
	  .goal = { 2, 1024 }, .max = { 16, 1025 } },
	{ .name = "backward-huge",
	  .what = "2 GiB backward, MADV_HUGEPAGE",
	  .threads = 1, .file_mib = 2048, .hint = HINT_HUGEPAGE,
	  .walk = WHOLE_BACK,
	  .goal = { 2, 1024 }, .max = { 16, 1025 } },
	{ .name = "threads",
	  .what = "4 threads, each 64 MiB forward in its own slice, one descriptor",
	  .threads = 4, .file_mib = 1024,
	  .walk = SLICE,
	  .goal = { 4, 257 }, .max = { 10, 257 } },
	{ .name = "sparse-threads",
	  .what = "sparse pass, then the same 4 threads",
	  .threads = 4, .file_mib = 1024,
	  .prepare = SPARSE, .walk = SLICE,
	  .goal = { 8, 257 }, .max = { 11, 257 } },
	{ .name = "threads-backward-seq",
	  .what = "the same 4 threads backward, MADV_SEQUENTIAL",
	  .threads = 4, .file_mib = 1024, .hint = HINT_SEQUENTIAL,
	  .walk = SLICE_BACK,
	  .goal = { 8, 257 }, .max = { 9, 257 } },
	{ .name = "sparse-in-turn",
	  .what = "sparse pass, then 4 streams taken in turn, page by page",
	  .threads = 1, .file_mib = 1024,
	  .prepare = SPARSE, .walk = IN_TURN,
	  .goal = { 8, 129 }, .max = { 12, 129 } },
	{ .name = "random",
	  .what = "1 % of the pages at random",
	  .threads = 1, .file_mib = 1024,
	  .walk = RANDOM,
	  .flags = CASE_STOCK_MIB | CASE_SCALES,
	  .goal = { CASE_ANY, 10.4 }, .max = { CASE_ANY, 22 } },
	{ .name = "stride-61",
	  .what = "1 % of the pages, stride 61",
	  .threads = 1, .file_mib = 1024,
	  .walk = STRIDE_61,
	  .flags = CASE_STOCK_MIB,
	  .goal = { 20, 11 }, .max = { 20, 11 } },
	{ .name = "stride-1021",
	  .what = "1 % of the pages, stride 1021",
	  .threads = 1, .file_mib = 1024,
	  .walk = STRIDE_1021,
	  .flags = CASE_STOCK_MIB | CASE_LATER,
	  .goal = { 20, 11 }, .max = { CASE_ANY, 22 } },
	{ .name = "random-runs",
	  .what = "1 % of the pages, in random runs of 4",
	  .threads = 1, .file_mib = 1024,
	  .walk = RANDOM_RUNS,
	  .flags = CASE_STOCK_MIB | CASE_SCALES,
	  .goal = { 1310, 13 }, .max = { 1310, 23 } },
	{ .name = "column",
	  .what = "8 pages of every 64, forward (one rank of a column split)",
	  .threads = 1, .file_mib = 1024,
	  .walk = COLUMN,
	  .goal = { 20, 132 }, .max = { 20, 132 } },
	{ .name = "tensors",
	  .what = "last page of each of 400 tensors, then the tensors whole, shuffled",
	  .threads = 1, .file_mib = 1024,
	  .prepare = TENSOR_ENDS, .walk = TENSORS,
	  .goal = { 400, 1026 }, .max = { 620, 1026 } },
	{ .name = "sparse-kernel",
	  .what = "sparse pass, then 64 MiB faulted in by process_vm_readv()",
	  .threads = 1, .file_mib = 1024, .map = MAP_KERNEL,
	  .prepare = SPARSE, .walk = RUN,
	  .goal = { 2, 65 }, .max = { 4, 66 } },
	{ .name = "sparse-write",
	  .what = "sparse pass, then 64 MiB of a private mapping, written",
	  .threads = 1, .file_mib = 1024, .map = MAP_WRITE,
	  .prepare = SPARSE, .walk = RUN,
	  .goal = { 2, 65 }, .max = { 2, 66 } },
	{ .name = "random-hint-verify",
	  .what = "MADV_RANDOM, then 64 MiB forward, random_hint=verify",
	  .threads = 1, .file_mib = 1024, .hint = HINT_RANDOM,
	  .prepare = SPARSE, .walk = RUN,
	  .flags = CASE_VERIFY | CASE_LATER | CASE_STOCK_MIB,
	  .goal = { 2, 65 }, .max = { CASE_ANY, 66 } },
	{ .name = "random-hint-honor",
	  .what = "MADV_RANDOM, then 64 MiB forward, random_hint=honor",
	  .threads = 1, .file_mib = 1024, .hint = HINT_RANDOM,
	  .prepare = SPARSE, .walk = RUN,
	  .flags = CASE_STOCK_MAJFLT | CASE_STOCK_MIB,
	  .goal = { CASE_ANY, 64 }, .max = { CASE_ANY, 66 } },
};
const size_t nr_mmcases = sizeof(mmcases) / sizeof(mmcases[0]);

const struct mmcase *case_find(const char *name)
{
	for (size_t i = 0; i < nr_mmcases; i++)
		if (!strcmp(mmcases[i].name, name))
			return &mmcases[i];
	return NULL;
}

const char *case_hint_name(enum case_hint hint)
{
	static const char * const names[] = {
		"none", "sequential", "random", "hugepage"
	};

	return names[hint];
}

const char *case_map_name(enum case_map map)
{
	static const char * const names[] = { "read", "write", "kernel" };

	return names[map];
}

struct case_limit case_scale(const struct mmcase *c, struct case_limit full,
			     uint64_t npages)
{
	double scale = (double)npages / CASE_FULL_PAGES;

	if (full.majflt != CASE_ANY && c->flags & CASE_SCALES)
		full.majflt = full.majflt * scale + 1;
	full.mib *= scale;
	/* what is read too much at the start and end of a stream stays */
	if (scale < 1)
		full.mib += 2 * (1 - scale);
	return full;
}

bool case_judge(const struct mmcase *c, uint64_t npages,
		const struct case_result *run, const struct case_result *stock,
		char *why, size_t size)
{
	struct case_limit max = case_scale(c, c->max, npages);
	/* limits are written in whole MiB; a file system reads its maps too */
	const double slack = 0.5;

	if (max.majflt != CASE_ANY && run->majflt > max.majflt) {
		snprintf(why, size, "%lld major faults, at most %u allowed",
			 (long long)run->majflt, max.majflt);
		return false;
	}
	if (!(c->flags & CASE_STOCK_MIB && stock) &&
	    run->mib > max.mib + slack) {
		snprintf(why, size, "%.1f MiB read, at most %.1f allowed",
			 run->mib, max.mib + slack);
		return false;
	}
	if (c->flags & CASE_STOCK_MIB && stock &&
	    run->mib > stock->mib + slack) {
		snprintf(why, size, "%.1f MiB read, %.1f without the module",
			 run->mib, stock->mib);
		return false;
	}
	if (c->flags & CASE_STOCK_MAJFLT && stock &&
	    run->majflt > stock->majflt) {
		snprintf(why, size, "%lld major faults, %lld without the module",
			 (long long)run->majflt, (long long)stock->majflt);
		return false;
	}
	if (c->flags & CASE_STOCK_MINFLT && stock && run->minflt >= 0 &&
	    run->minflt > stock->minflt * 1.1 + 16) {
		snprintf(why, size, "%lld minor faults, %lld without the module",
			 (long long)run->minflt, (long long)stock->minflt);
		return false;
	}
	if (max.majflt != CASE_ANY)
		snprintf(why, size, "%lld of at most %u major faults, %.1f MiB",
			 (long long)run->majflt, max.majflt, run->mib);
	else
		snprintf(why, size, "%lld major faults, %.1f MiB",
			 (long long)run->majflt, run->mib);
	return true;
}
