/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stats.h - counts for each CPU, shown as /sys/module/mmapra/stats/NAME
 */
#ifndef MMAPRA_STATS_H
#define MMAPRA_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>
#include "mmapra.h"

#define MMAPRA_STAT_MEMBER(name)	u64 name;

/**
 * struct mmapra_stats - see MMAPRA_STATS for what each counts
 */
struct mmapra_stats {
	MMAPRA_STATS(MMAPRA_STAT_MEMBER)
};

DECLARE_PER_CPU(struct mmapra_stats, mmapra_stats);

/* Count an event; from any context, without a shared cache line. */
#define stats_inc(name)		this_cpu_inc(mmapra_stats.name)
#define stats_add(name, n)	this_cpu_add(mmapra_stats.name, n)

/**
 * stats_init() - create the directory; may sleep
 *
 * Return: 0 or a negative errno
 */
int stats_init(void);

/**
 * stats_exit() - remove the directory; may sleep
 */
void stats_exit(void);

#endif
