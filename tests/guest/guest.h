/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest.h - what the programs that run in a guest have in common: the contents
 * of test files, mappings, and what a phase cost
 */
#ifndef MMAPRA_TESTS_GUEST_H
#define MMAPRA_TESTS_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MIB		(1024.0 * 1024.0)

__attribute__((noreturn, format(printf, 1, 2)))
void die(const char *fmt, ...);

/* Options are pairs, "--name value"; what stands alone is an argument. */
unsigned long option_number(const char *name, const char *value);

/*
 * Every 8-byte word of a test file holds a number found nowhere else in it,
 * made from its offset; so a page that came from the wrong place shows. The
 * seed tells files apart.
 */
void pattern_fill(void *buf, uint64_t offset, size_t len, uint64_t seed);
/* Length of what is right at the start of @buf: @len if all of it is. */
size_t pattern_check(const void *buf, uint64_t offset, size_t len,
		     uint64_t seed);
void pattern_write(int fd, uint64_t offset, uint64_t len, uint64_t seed);

/* A mapping that starts where a huge page can. */
void *map_file(int fd, size_t len, int prot, int flags);

/* fsync() has to be done before; needs root */
void drop_caches(void);
/* pages of the mapping in the page cache */
uint64_t pages_cached(void *map, size_t len);

struct counters {
	double seconds;
	double cpu;			/* seconds, of this process */
	int64_t majflt, minflt;		/* of this process */
	int64_t nvcsw;			/* times it went to sleep */
	int64_t pgmajfault;		/* of the system */
	double mib;			/* read from all disks: pgpgin */
	double disk_mib;		/* read from the file's disk; < 0: unknown */
	int64_t disk_reads;
	char disk[64];			/* its stat file */
};

/* @fd: to find the disk, for the first call */
void counters_open(struct counters *c, int fd);
void counters_read(struct counters *c);
/* what happened from @from to @to */
void counters_print(const struct counters *from, const struct counters *to);
/* the same, added up */
void counters_add(struct counters *to, const struct counters *end,
		  const struct counters *start);

double now(void);

#endif
