// SPDX-License-Identifier: GPL-2.0
/*
 * mmerr - what a program sees when its mapped file fails under it
 *
 *	mmerr scan FILE ORDER [--pages N]	cold; ORDER: forward, backward, random
 *	mmerr sector FILE PAGE			where on its disk the page lies
 *	mmerr truncate FILE			cut it while it is read
 *
 * "scan" touches every page, survives SIGBUS, compares what can be read, and
 * prints the pages that could not: "sigbus=12-15,40". Status 2: a byte was
 * wrong. "truncate" writes FILE anew, several times, and holds each access to
 * what is allowed; it prints a line for each part.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

#define TRUNCATE_PAGES	8192ul		/* 32 MiB of 4 KiB */

static size_t page_size;

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t armed;
static __thread void *volatile fault_address;
static __thread volatile int fault_code;

static void on_bus(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!armed) {
		signal(number, SIG_DFL);
		return;
	}
	fault_address = info->si_addr;
	fault_code = info->si_code;
	siglongjmp(back, 1);
}

static void catch_bus(void)
{
	struct sigaction action = {
		.sa_sigaction = on_bus,
		.sa_flags = SA_SIGINFO,
	};

	sigaction(SIGBUS, &action, NULL);
}

/* one byte; false: SIGBUS, as it has to be for this address */
static bool touch(unsigned char *p)
{
	if (sigsetjmp(back, 1)) {
		armed = 0;
		if (fault_address != p || fault_code != BUS_ADRERR)
			die("SIGBUS with address %p and code %d, not %p and %d",
			    fault_address, fault_code, (void *)p, BUS_ADRERR);
		return false;
	}
	armed = 1;
	(void)*(volatile unsigned char *)p;
	armed = 0;
	return true;
}

/* The page is copied out, as it may go away while it is looked at. */
static bool fetch(unsigned char *to, unsigned char *p)
{
	if (!touch(p))
		return false;
	if (sigsetjmp(back, 1)) {
		armed = 0;
		return false;
	}
	armed = 1;
	memcpy(to, p, page_size);
	armed = 0;
	return true;
}

static uint64_t position(const char *order, uint64_t i, uint64_t n)
{
	if (!strcmp(order, "forward"))
		return i;
	if (!strcmp(order, "backward"))
		return n - 1 - i;
	if (!strcmp(order, "random"))	/* n is even, the factor is prime */
		return (i * 5003 + 17) % n;
	die("no such order: %s", order);
}

static int scan(const char *path, const char *order, uint64_t n)
{
	unsigned char *map, *copy, *lost;
	uint64_t count = 0, good;
	const char *comma = "";
	struct stat st;
	size_t len;
	int fd;

	drop_caches();
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	len = S_ISBLK(st.st_mode) ? (size_t)lseek(fd, 0, SEEK_END)
				  : (size_t)st.st_size;
	if (!n || n > len / page_size)
		n = len / page_size;
	map = map_file(fd, n * page_size, PROT_READ, MAP_SHARED);
	copy = malloc(page_size);
	lost = calloc(n, 1);
	if (!copy || !lost)
		die("out of memory");
	for (uint64_t i = 0; i < n; i++) {
		uint64_t page = position(order, i, n);

		if (!fetch(copy, map + page * page_size)) {
			lost[page] = 1;
			count++;
			continue;
		}
		good = pattern_check(copy, page * page_size, page_size, 0);
		if (good < page_size) {
			fprintf(stderr, "mmerr: wrong byte at offset %llu\n",
				(unsigned long long)(page * page_size + good));
			return 2;
		}
	}
	printf("order=%s pages=%llu lost=%llu sigbus=", order,
	       (unsigned long long)n, (unsigned long long)count);
	for (uint64_t i = 0, end; i < n; i = end + 1) {
		for (end = i; end < n && lost[end]; end++)
			;
		if (end == i)
			continue;
		printf("%s%llu", comma, (unsigned long long)i);
		if (end > i + 1)
			printf("-%llu", (unsigned long long)end - 1);
		comma = ",";
	}
	puts("");
	return 0;
}

static int sector(const char *path, uint64_t page)
{
	struct {
		struct fiemap head;
		struct fiemap_extent extent;
	} map = {
		.head = {
			.fm_start = page * page_size,
			.fm_length = page_size,
			.fm_flags = FIEMAP_FLAG_SYNC,
			.fm_extent_count = 1,
		},
	};
	int fd = open(path, O_RDONLY);

	if (fd < 0 || ioctl(fd, FS_IOC_FIEMAP, &map))
		die("%s: %s", path, strerror(errno));
	if (!map.head.fm_mapped_extents)
		die("%s: no block for page %llu", path,
		    (unsigned long long)page);
	printf("%llu\n", (unsigned long long)
	       (map.extent.fe_physical +
		(page * page_size - map.extent.fe_logical)) / 512);
	return 0;
}

/* ---- truncation ---- */

static int fresh(const char *path, unsigned char **map)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	pattern_write(fd, 0, TRUNCATE_PAGES * page_size, 0);
	if (fsync(fd))
		die("%s: %s", path, strerror(errno));
	close(fd);
	drop_caches();
	fd = open(path, O_RDWR);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	*map = map_file(fd, TRUNCATE_PAGES * page_size, PROT_READ, MAP_SHARED);
	return fd;
}

static bool zeros(const unsigned char *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

/* A copy made during a cut may have zeros anywhere, but no other bytes. */
static bool own_or_zero(const unsigned char *p, uint64_t page)
{
	unsigned char want[65536];

	pattern_fill(want, page * page_size, page_size, 0);
	for (size_t i = 0; i < page_size; i++)
		if (p[i] && p[i] != want[i])
			return false;
	return true;
}

/* walk some of it, cut it, walk all of it */
static void cut(const char *path, const char *order)
{
	const uint64_t n = TRUNCATE_PAGES, size = n / 2 * page_size + 1000;
	unsigned char *map, *copy = malloc(page_size);
	uint64_t lost = 0, page, whole = size / page_size;
	int fd = fresh(path, &map);

	for (uint64_t i = 0; i < n / 8; i++)
		if (!touch(map + position(order, i, n) * page_size))
			die("%s: SIGBUS before the cut", order);
	if (!copy || ftruncate(fd, size))
		die("ftruncate: %s", strerror(errno));
	for (uint64_t i = 0; i < n; i++) {
		size_t part = page_size;

		page = position(order, i, n);
		if (!fetch(copy, map + page * page_size)) {
			if (page <= whole)
				die("%s: SIGBUS at page %llu of %llu", order,
				    (unsigned long long)page,
				    (unsigned long long)whole);
			lost++;
			continue;
		}
		if (page > whole)
			die("%s: page %llu is beyond the end and was read",
			    order, (unsigned long long)page);
		if (page == whole)
			part = size % page_size;
		if (pattern_check(copy, page * page_size, part, 0) < part ||
		    !zeros(copy + part, page_size - part))
			die("%s: wrong byte in page %llu", order,
			    (unsigned long long)page);
	}
	printf("cut order=%s pages=%llu sigbus=%llu bytes_ok=1\n", order,
	       (unsigned long long)n, (unsigned long long)lost);
	munmap(map, n * page_size);
	close(fd);
	free(copy);
}

struct cutter {
	int fd;
	bool done;
};

/* down to a fourth in 200 steps, up again, down, up: holes read as zeros */
static void *keep_cutting(void *arg)
{
	struct cutter *c = arg;
	const uint64_t n = TRUNCATE_PAGES;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 200; i++) {
			uint64_t size = (n - n * 3 / 4 * i / 200) * page_size;

			if (ftruncate(c->fd, size - (i % 3) * 700))
				die("ftruncate: %s", strerror(errno));
			usleep(1000);
		}
		if (ftruncate(c->fd, n * page_size))
			die("ftruncate: %s", strerror(errno));
	}
	__atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Walk while it is cut. A page holds its own bytes or zeros; below a fourth
 * there is no SIGBUS and no zero.
 */
static void race(const char *path, const char *order)
{
	const uint64_t n = TRUNCATE_PAGES;
	unsigned char *map, *copy = malloc(page_size);
	struct cutter cutter = { .fd = fresh(path, &map) };
	uint64_t lost = 0, passes = 0;
	pthread_t thread;
	bool last;

	if (!copy || pthread_create(&thread, NULL, keep_cutting, &cutter))
		die("cannot start a thread");
	do {
		last = __atomic_load_n(&cutter.done, __ATOMIC_ACQUIRE);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t page = position(order, i, n);
			size_t good;

			if (!fetch(copy, map + page * page_size)) {
				if (page < n / 4 - 1)
					die("%s: SIGBUS at page %llu", order,
					    (unsigned long long)page);
				if (last)
					die("%s: SIGBUS after the last cut",
					    order);
				lost++;
				continue;
			}
			good = pattern_check(copy, page * page_size,
					     page_size, 0);
			if (!own_or_zero(copy, page))
				die("%s: wrong byte in page %llu", order,
				    (unsigned long long)page);
			if (good < page_size && page < n / 4 - 1)
				die("%s: zeros in page %llu", order,
				    (unsigned long long)page);
		}
		/* or there is nothing to read the second time */
		madvise(map, n * page_size, MADV_DONTNEED);
		posix_fadvise(cutter.fd, 0, 0, POSIX_FADV_DONTNEED);
		passes++;
	} while (!last);
	pthread_join(thread, NULL);
	printf("race order=%s passes=%llu sigbus=%llu bytes_ok=1\n", order,
	       (unsigned long long)passes, (unsigned long long)lost);
	munmap(map, n * page_size);
	close(cutter.fd);
	free(copy);
}

static int truncations(const char *path)
{
	static const char * const orders[] = { "forward", "backward", "random" };

	for (int i = 0; i < 3; i++)
		cut(path, orders[i]);
	for (int i = 0; i < 3; i++)
		race(path, orders[i]);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t pages = 0;

	page_size = sysconf(_SC_PAGESIZE);
	catch_bus();
	if (argc == 6 && !strcmp(argv[4], "--pages")) {
		pages = option_number("--pages", argv[5]);
		argc = 4;
	}
	if (argc == 4 && !strcmp(argv[1], "scan"))
		return scan(argv[2], argv[3], pages);
	if (argc == 4 && !strcmp(argv[1], "sector"))
		return sector(argv[2], option_number("PAGE", argv[3]));
	if (argc == 3 && !strcmp(argv[1], "truncate"))
		return truncations(argv[2]);
	die("usage: mmerr scan FILE ORDER [--pages N] | sector FILE PAGE | truncate FILE");
}
