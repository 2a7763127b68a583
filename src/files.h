/* SPDX-License-Identifier: GPL-2.0 */
/*
 * files.h - which open file has which streams
 *
 * A fixed table, allocated at load.  An open file gets an entry with its first
 * miss and loses it when it is closed or when its set is full and it missed
 * least recently.  A pointer to struct file serves as key and is never
 * followed.
 */
#ifndef MMAPRA_FILES_H
#define MMAPRA_FILES_H

#include <linux/hash.h>
#include <linux/spinlock.h>
#include "engine.h"

#define FILES_WAYS	8	/* keys of a set fill one cache line of 64 bytes */

/**
 * struct file_entry - state of one open file
 * @lock:	serialises the engine's calls and changes of the key; held for
 *		the time of one decision, never across I/O; taken on misses and
 *		in zones only
 * @used:	jiffies of the last decision
 * @engine:	the streams; zones are read without the lock
 */
struct file_entry {
	raw_spinlock_t lock;
	unsigned long used;
	struct engine_file engine ____cacheline_aligned;
} ____cacheline_aligned;

/**
 * struct openfiles_table - the table
 * @keys:	open files, in sets of FILES_WAYS
 * @entries:	their states, index for index
 * @set_bits:	log2 of the number of sets
 */
struct openfiles_table {
	const struct file **keys;
	struct file_entry *entries;
	unsigned int set_bits;
};

extern struct openfiles_table openfiles;

/**
 * openfiles_peek() - find the entry of an open file
 * @file:	the open file
 *
 * One look at one cache line, no lock.  The entry may become another file's
 * at any time: what is read from it is a hint.  Entries live until
 * openfiles_exit().
 *
 * Return: the entry or NULL
 */
static inline struct file_entry *openfiles_peek(const struct file *file)
{
	unsigned int i, at = hash_ptr(file, openfiles.set_bits) * FILES_WAYS;

	for (i = at; i < at + FILES_WAYS; i++)
		if (READ_ONCE(openfiles.keys[i]) == file)
			return &openfiles.entries[i];
	return NULL;
}

/**
 * openfiles_lock() - find or make the entry of an open file, and lock it
 * @file:	the open file; the caller holds a reference or a lock that keeps
 *		the file open
 * @make:	make one if there is none
 *
 * Does not sleep, does not allocate.
 *
 * Return: the entry, to be given back with openfiles_unlock(), or NULL
 */
struct file_entry *openfiles_lock(const struct file *file, bool make);

/**
 * openfiles_unlock() - unlock an entry
 * @entry:	from openfiles_lock()
 */
void openfiles_unlock(struct file_entry *entry);

/**
 * openfiles_forget() - drop the entry of an open file, if it has one
 * @file:	the open file
 *
 * Does not sleep; costs openfiles_peek() for a file without an entry.
 */
void openfiles_forget(const struct file *file);

/**
 * openfiles_forget_all() - drop all entries; may sleep
 */
void openfiles_forget_all(void);

/**
 * openfiles_count() - count entries and the streams in them, roughly; may sleep
 * @nr_files:	set to the number of entries in use
 * @nr_streams:	set to the number of streams in them
 */
void openfiles_count(unsigned int *nr_files, unsigned int *nr_streams);

/**
 * openfiles_init() - allocate the table; may sleep
 * @nr:		open files to remember, rounded up to a power of two
 *
 * Return: 0 or -ENOMEM
 */
int openfiles_init(unsigned int nr);

/**
 * openfiles_size() - memory that the table takes
 * @nr:		set to the number of open files that it holds
 *
 * Return: bytes
 */
size_t openfiles_size(unsigned int *nr);

/**
 * openfiles_exit() - free the table; no one may look at it any more
 */
void openfiles_exit(void);

#endif
