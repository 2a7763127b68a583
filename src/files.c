// SPDX-License-Identifier: GPL-2.0
/*
 * files.c - which open file has which streams
 *
 * Locking: a set's lock is taken to choose a victim and to write a key where
 * there was none; inside it the entry's lock, under which keys are cleared as
 * well.  Whoever holds an entry's lock and sees its own key there owns the
 * entry.  The closing of a file clears its key (see fault.c) before the
 * memory of struct file can become another file's.
 */
#include <linux/cache.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "files.h"

struct openfiles_table openfiles __read_mostly;

static raw_spinlock_t *set_locks;

static unsigned int nr_entries(void)
{
	return FILES_WAYS << openfiles.set_bits;
}

static const struct file **key_of(const struct file_entry *entry)
{
	return &openfiles.keys[entry - openfiles.entries];
}

/* The entry's lock is held. */
static void clear_entry(struct file_entry *entry)
{
	WRITE_ONCE(*key_of(entry), NULL);
	engine_init(&entry->engine);
}

static struct file_entry *lock_if_ours(struct file_entry *entry,
				       const struct file *file)
{
	if (!entry)
		return NULL;
	raw_spin_lock(&entry->lock);
	if (*key_of(entry) == file)
		return entry;
	raw_spin_unlock(&entry->lock);
	return NULL;
}

static struct file_entry *make_entry(const struct file *file)
{
	unsigned int i, set = hash_ptr(file, openfiles.set_bits);
	unsigned int at = set * FILES_WAYS, victim = at;
	struct file_entry *entry;

	raw_spin_lock(&set_locks[set]);
	/* Another thread of the same file may have been first. */
	entry = lock_if_ours(openfiles_peek(file), file);
	if (entry)
		goto out;
	for (i = at; i < at + FILES_WAYS; i++) {
		if (!READ_ONCE(openfiles.keys[i])) {
			victim = i;
			break;
		}
		if (time_before(READ_ONCE(openfiles.entries[i].used),
				READ_ONCE(openfiles.entries[victim].used)))
			victim = i;
	}
	entry = &openfiles.entries[victim];
	raw_spin_lock(&entry->lock);
	clear_entry(entry);
	WRITE_ONCE(*key_of(entry), file);
out:
	raw_spin_unlock(&set_locks[set]);
	return entry;
}

struct file_entry *openfiles_lock(const struct file *file, bool make)
{
	struct file_entry *entry = lock_if_ours(openfiles_peek(file), file);

	if (!entry && make)
		entry = make_entry(file);
	if (entry)
		WRITE_ONCE(entry->used, jiffies);
	return entry;
}

void openfiles_unlock(struct file_entry *entry)
{
	raw_spin_unlock(&entry->lock);
}

void openfiles_forget(const struct file *file)
{
	struct file_entry *entry = lock_if_ours(openfiles_peek(file), file);

	if (entry) {
		clear_entry(entry);
		raw_spin_unlock(&entry->lock);
	}
}

void openfiles_forget_all(void)
{
	unsigned int i;

	for (i = 0; i < nr_entries(); i++) {
		struct file_entry *entry = &openfiles.entries[i];

		raw_spin_lock(&entry->lock);
		clear_entry(entry);
		raw_spin_unlock(&entry->lock);
		cond_resched();
	}
}

void openfiles_count(unsigned int *nr_files, unsigned int *nr_streams)
{
	unsigned int i;

	*nr_files = 0;
	*nr_streams = 0;
	for (i = 0; i < nr_entries(); i++) {
		if (!READ_ONCE(openfiles.keys[i]))
			continue;
		++*nr_files;
		*nr_streams += engine_streams_in_use(&openfiles.entries[i].engine);
	}
}

int openfiles_init(unsigned int nr)
{
	unsigned int i;

	/* hash_ptr() cannot do with zero bits */
	openfiles.set_bits = max(order_base_2(DIV_ROUND_UP(nr, FILES_WAYS)), 1);
	openfiles.keys = kvcalloc(nr_entries(), sizeof(*openfiles.keys), GFP_KERNEL);
	set_locks = kvcalloc(1U << openfiles.set_bits, sizeof(*set_locks),
			     GFP_KERNEL);
	/* vmalloc() aligns entries to their cache lines, kmalloc() may not */
	openfiles.entries =
		vzalloc(array_size(nr_entries(), sizeof(*openfiles.entries)));
	if (!openfiles.keys || !set_locks || !openfiles.entries) {
		openfiles_exit();
		return -ENOMEM;
	}
	for (i = 0; i < 1U << openfiles.set_bits; i++)
		raw_spin_lock_init(&set_locks[i]);
	for (i = 0; i < nr_entries(); i++)
		raw_spin_lock_init(&openfiles.entries[i].lock);
	return 0;
}

size_t openfiles_size(unsigned int *nr)
{
	*nr = nr_entries();
	return *nr * (sizeof(*openfiles.keys) + sizeof(*openfiles.entries)) +
	       (sizeof(*set_locks) << openfiles.set_bits);
}

void openfiles_exit(void)
{
	vfree(openfiles.entries);
	kvfree(set_locks);
	kvfree(openfiles.keys);
}
