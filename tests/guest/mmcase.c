// SPDX-License-Identifier: GPL-2.0
/*
 * mmcase - plays the cases of ../cases.c on a real file, cold, and says what
 * they cost
 *
 *	mmcase list
 *	mmcase write FILE MIB [--seed N]
 *	mmcase run CASE FILE [options]
 *	mmcase judge CASE FILE-MIB STOCK-LINE LINE [--goal yes]
 *
 * "run" prints one line of key=value. Exit status: 1 the run failed, 2 a byte
 * was wrong. "judge" compares two such lines, without and with the module,
 * with the limits of the case: status 1 and a reason if one was passed; "-"
 * stands for a line that there is not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../cases.h"
#include "guest.h"

enum compare { COMPARE_ALL, COMPARE_TOUCH };

static struct {
	enum compare compare;
	unsigned long wait_us;		/* 0: waits are not timed */
	uint64_t seed;
	uint64_t corrupt;		/* expect a wrong byte here */
	bool warm;			/* leave the cache as it is */
	const char *hint;		/* instead of the case's own */
} opt = { .corrupt = UINT64_MAX };

static size_t page_size;

struct reader {
	pthread_t thread;
	const struct mmcase *c;
	enum case_phase phase;
	unsigned int number;
	unsigned char *map;
	uint64_t npages;
	uint64_t touches;
	uint64_t compared;		/* bytes */
	uint64_t waits;
	double wait_seconds;		/* of all waits */
};

static void wrong(const struct reader *r, uint64_t offset, unsigned char got)
{
	fflush(stdout);
	fprintf(stderr,
		"mmcase: %s: wrong byte %#x at offset %llu (page %llu)\n",
		r->c->name, got, (unsigned long long)offset,
		(unsigned long long)(offset / page_size));
	_exit(2);
}

static void compare(struct reader *r, const unsigned char *p, uint64_t page,
		    size_t skip)
{
	uint64_t offset = page * page_size;
	size_t good;

	good = pattern_check(p + skip, offset + skip, page_size - skip,
			     opt.seed) + skip;
	/* the negative control: this byte is held to be another one */
	if (opt.corrupt / page_size == page && good > opt.corrupt % page_size)
		good = opt.corrupt % page_size;
	if (good < page_size)
		wrong(r, offset + good, p[good]);
	r->compared += page_size - skip;
}

/* A batch of pages in a row, as a DMA engine or a debugger asks for them. */
static void read_by_kernel(struct reader *r, uint64_t page, size_t n,
			   unsigned char *buf)
{
	struct iovec to = { buf, n * page_size };
	struct iovec from = { r->map + page * page_size, n * page_size };
	ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	if (got != (ssize_t)(n * page_size))
		die("process_vm_readv: %s", got < 0 ? strerror(errno) : "short");
	if (opt.compare == COMPARE_ALL)
		for (size_t i = 0; i < n; i++)
			compare(r, buf + i * page_size, page + i, 0);
}

static void walk_by_kernel(struct reader *r, struct case_walk *w)
{
	const size_t batch = 64;
	unsigned char *buf = aligned_alloc(page_size, batch * page_size);
	uint64_t page, first = 0;
	size_t n = 0;

	if (!buf)
		die("out of memory");
	while (case_walk_next(w, &page)) {
		if (n && (page != first + n || n == batch)) {
			read_by_kernel(r, first, n, buf);
			n = 0;
		}
		if (!n)
			first = page;
		n++;
		r->touches++;
	}
	if (n)
		read_by_kernel(r, first, n, buf);
	free(buf);
}

static void *walk(void *arg)
{
	struct reader *r = arg;
	bool write = r->c->map == MAP_WRITE && r->phase == CASE_WALK;
	struct case_walk w;
	double start = 0, took;
	uint64_t page;

	case_walk_start(&w, r->c, r->npages, r->phase, r->number);
	if (r->c->map == MAP_KERNEL && r->phase == CASE_WALK) {
		walk_by_kernel(r, &w);
		return NULL;
	}
	while (case_walk_next(&w, &page)) {
		volatile unsigned char *p = r->map + page * page_size;

		if (opt.wait_us)
			start = now();
		if (write)
			*p = 1;		/* the rest is compared */
		else
			(void)*p;
		if (opt.wait_us) {
			took = now() - start;
			if (took * 1e6 >= opt.wait_us) {
				r->waits++;
				r->wait_seconds += took;
			}
		}
		r->touches++;
		if (opt.compare == COMPARE_ALL)
			compare(r, (unsigned char *)p, page, write);
	}
	return NULL;
}

static void play(struct reader *readers, enum case_phase phase,
		 unsigned int threads)
{
	int err;

	for (unsigned int t = 0; t < threads; t++)
		readers[t].phase = phase;
	if (threads == 1 || phase == CASE_PREPARE) {
		walk(&readers[0]);
		return;
	}
	for (unsigned int t = 0; t < threads; t++) {
		err = pthread_create(&readers[t].thread, NULL, walk,
				     &readers[t]);
		if (err)
			die("pthread_create: %s", strerror(err));
	}
	for (unsigned int t = 0; t < threads; t++)
		pthread_join(readers[t].thread, NULL);
}

static void advise(const struct mmcase *c, void *map, size_t len)
{
	static const int advice[] = {
		[HINT_SEQUENTIAL] = MADV_SEQUENTIAL,
		[HINT_RANDOM] = MADV_RANDOM,
		[HINT_HUGEPAGE] = MADV_HUGEPAGE,
	};
	enum case_hint hint = c->hint;

	if (opt.hint) {
		for (hint = HINT_NONE; hint <= HINT_HUGEPAGE; hint++)
			if (!strcmp(case_hint_name(hint), opt.hint))
				break;
		if (hint > HINT_HUGEPAGE)
			die("no such hint: %s", opt.hint);
	}
	if (hint != HINT_NONE && madvise(map, len, advice[hint]))
		die("madvise: %s", strerror(errno));
}

static int run(const char *name, const char *path)
{
	const struct mmcase *c = case_find(name);
	struct reader readers[CASE_THREADS] = { 0 };
	struct reader sum = { 0 };
	struct counters from, to;
	uint64_t before, prepared, after, npages;
	struct stat st;
	unsigned char *map;
	size_t len;
	int fd;

	if (!c)
		die("no such case: %s", name);
	if (!opt.warm)
		drop_caches();
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	len = S_ISBLK(st.st_mode) ? (size_t)lseek(fd, 0, SEEK_END)
				  : (size_t)st.st_size;
	npages = len / page_size;
	len = npages * page_size;
	if (npages * page_size / 4096 < CASE_MIN_PAGES)
		die("%s: smaller than 64 MiB", path);
	if (c->map == MAP_WRITE)
		map = map_file(fd, len, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	else
		map = map_file(fd, len, PROT_READ, MAP_SHARED);
	for (unsigned int t = 0; t < c->threads; t++) {
		readers[t].c = c;
		readers[t].number = t;
		readers[t].map = map;
		readers[t].npages = npages;
	}
	before = pages_cached(map, len);
	if (!opt.warm && before)
		die("%s: %llu pages are cached after dropping the cache", path,
		    (unsigned long long)before);
	play(readers, CASE_PREPARE, 1);
	advise(c, map, len);
	prepared = pages_cached(map, len);
	readers[0].touches = readers[0].compared = readers[0].waits = 0;
	readers[0].wait_seconds = 0;

	counters_open(&from, fd);
	to = from;
	counters_read(&from);
	from.seconds = now();
	play(readers, CASE_WALK, c->threads);
	counters_read(&to);
	after = pages_cached(map, len);

	for (unsigned int t = 0; t < c->threads; t++) {
		sum.touches += readers[t].touches;
		sum.compared += readers[t].compared;
		sum.waits += readers[t].waits;
		sum.wait_seconds += readers[t].wait_seconds;
	}
	printf("case=%s", c->name);
	counters_print(&from, &to);
	if (opt.wait_us)
		printf(" waits=%llu wait_seconds=%.3f",
		       (unsigned long long)sum.waits, sum.wait_seconds);
	printf(" cached_mib=%.2f touches=%llu compared_mib=%.2f bytes_ok=1\n",
	       (int64_t)(after - prepared) * (page_size / MIB),
	       (unsigned long long)sum.touches, sum.compared / MIB);
	munmap(map, len);
	close(fd);
	return 0;
}

/* the value of key=... in a line, or -1 */
static double field(const char *line, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = line; p; p = strchr(p, ' ')) {
		p += *p == ' ';
		if (!strncmp(p, key, len) && p[len] == '=')
			return strtod(p + len + 1, NULL);
	}
	return -1;
}

static struct case_result result(const char *line)
{
	struct case_result r = {
		.majflt = field(line, "majflt"),
		.minflt = field(line, "minflt"),
		.mib = field(line, "mib"),
	};

	if (r.majflt < 0 || r.mib < 0 || field(line, "bytes_ok") != 1)
		die("not the line of a run: %s", line);
	return r;
}

static int judge(const char *name, unsigned long mib, const char *stock_line,
		 const char *line, bool goal)
{
	const struct mmcase *found = case_find(name);
	struct case_result stock, r;
	struct mmcase c;
	char why[200];
	bool good;

	if (!found)
		die("no such case: %s", name);
	c = *found;
	if (goal)
		c.max = c.goal;
	r = result(line);
	if (strcmp(stock_line, "-"))
		stock = result(stock_line);
	good = case_judge(&c, mib * 256, &r,
			  strcmp(stock_line, "-") ? &stock : NULL, why,
			  sizeof(why));
	puts(why);
	return !good;
}

static int list(void)
{
	for (size_t i = 0; i < nr_mmcases; i++) {
		const struct mmcase *c = &mmcases[i];

		printf("%s\t%u\t%s\t%s\t%s%s\t%s\n", c->name, c->file_mib,
		       case_hint_name(c->hint), case_map_name(c->map),
		       c->flags & CASE_VERIFY ? "verify" : "honor",
		       c->flags & CASE_LATER ? ",later" : "", c->what);
	}
	return 0;
}

static int write_file(const char *path, unsigned long mib)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	double start = now();

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	pattern_write(fd, 0, (uint64_t)mib << 20, opt.seed);
	if (fsync(fd) || close(fd))
		die("%s: %s", path, strerror(errno));
	printf("wrote=%s mib=%lu seconds=%.1f\n", path, mib, now() - start);
	return 0;
}

int main(int argc, char **argv)
{
	const char *args[5] = { 0 };
	bool goal = false;
	int n = 0;

	page_size = sysconf(_SC_PAGESIZE);
	for (int i = 1; i < argc; i++) {
		const char *o = argv[i], *value = argv[i + 1];

		if (strncmp(o, "--", 2)) {
			if (n == 5)
				die("too many arguments: %s", o);
			args[n++] = o;
			continue;
		}
		if (!value)
			die("%s: no value", o);
		i++;
		if (!strcmp(o, "--compare")) {
			if (strcmp(value, "all") && strcmp(value, "touch"))
				die("--compare: all or touch");
			opt.compare = strcmp(value, "all") ? COMPARE_TOUCH
							   : COMPARE_ALL;
		} else if (!strcmp(o, "--wait-us")) {
			opt.wait_us = option_number(o, value);
		} else if (!strcmp(o, "--seed")) {
			opt.seed = option_number(o, value);
		} else if (!strcmp(o, "--corrupt")) {
			opt.corrupt = option_number(o, value);
		} else if (!strcmp(o, "--warm")) {
			opt.warm = !strcmp(value, "yes");
		} else if (!strcmp(o, "--hint")) {
			opt.hint = value;
		} else if (!strcmp(o, "--goal")) {
			goal = !strcmp(value, "yes");
		} else {
			die("no such option: %s", o);
		}
	}
	if (n == 1 && !strcmp(args[0], "list"))
		return list();
	if (n == 3 && !strcmp(args[0], "write"))
		return write_file(args[1], option_number("MIB", args[2]));
	if (n == 3 && !strcmp(args[0], "run"))
		return run(args[1], args[2]);
	if (n == 5 && !strcmp(args[0], "judge"))
		return judge(args[1], option_number("FILE-MIB", args[2]),
			     args[3], args[4], goal);
	die("usage: mmcase list | write FILE MIB | run CASE FILE | judge CASE MIB STOCK-LINE LINE");
}
