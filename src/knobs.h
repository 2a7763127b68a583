/* SPDX-License-Identifier: GPL-2.0 */
/*
 * knobs.h - /sys/module/mmapra/parameters, checked before they take effect
 */
#ifndef MMAPRA_KNOBS_H
#define MMAPRA_KNOBS_H

#include <linux/fs.h>
#include <linux/types.h>

/**
 * struct knobs - values in effect; read with READ_ONCE(), at any time
 * @restart:		forward streams start from misses
 * @backward:		streams towards lower offsets
 * @stride:		streams with a constant step
 * @verify_random:	random_hint is "verify"
 * @streams:		streams remembered for an open file
 * @max_window_kb:	largest window in KiB, 0: the open file's own
 * @files:		open files remembered, fixed at load
 */
struct knobs {
	bool restart;
	bool backward;
	bool stride;
	bool verify_random;
	unsigned int streams;
	unsigned int max_window_kb;
	unsigned int files;
};

extern struct knobs knobs;

/**
 * knobs_manage() - are files of a type of file system managed?
 * @type:	the type
 *
 * Does not sleep.
 */
bool knobs_manage(const struct file_system_type *type);

/**
 * knobs_start() - let writes to the enabled knob take effect
 * @switch_to:	called with the new state, may sleep; returns 0 or an errno,
 *		upon which the knob keeps its value
 *
 * Calls @switch_to once with the value given at load.  May sleep.
 *
 * Return: what @switch_to returned
 */
int knobs_start(int (*switch_to)(bool on));

/**
 * knobs_stop() - switch off for good and refuse further writes; may sleep
 *
 * Return: 0, or what the function given to knobs_start() returned: not off
 */
int knobs_stop(void);

#endif
