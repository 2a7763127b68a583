// SPDX-License-Identifier: GPL-2.0
/* guest.c - see guest.h */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define HUGE_PAGE	(2ul << 20)
#define PATTERN_STEP	0x9e3779b97f4a7c15ull	/* odd: all words differ */

void die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

unsigned long option_number(const char *name, const char *value)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(value ? value : "", &end, 0);
	if (errno || !value || end == value || *end || *value == '-')
		die("%s: not a number: %s", name, value ? value : "(nothing)");
	return number;
}

static uint64_t pattern_word(uint64_t offset, uint64_t seed)
{
	return (offset / 8 + 1) * PATTERN_STEP + (seed << 17 ^ seed);
}

void pattern_fill(void *buf, uint64_t offset, size_t len, uint64_t seed)
{
	unsigned char *p = buf;
	uint64_t word;

	while (len) {
		size_t skip = offset % 8, n = 8 - skip;

		word = pattern_word(offset, seed);
		if (!skip && len >= 8) {
			for (; len >= 8; len -= 8, offset += 8, p += 8) {
				memcpy(p, &word, 8);
				word += PATTERN_STEP;
			}
			continue;
		}
		if (n > len)
			n = len;
		memcpy(p, (unsigned char *)&word + skip, n);
		p += n;
		offset += n;
		len -= n;
	}
}

/* all of it, in whole words: true if right */
static bool words_right(const unsigned char *p, size_t words, uint64_t word)
{
	uint64_t bad = 0, got;

	for (size_t i = 0; i < words; i++) {
		memcpy(&got, p + i * 8, 8);
		bad |= got ^ word;
		word += PATTERN_STEP;
	}
	return !bad;
}

size_t pattern_check(const void *buf, uint64_t offset, size_t len,
		     uint64_t seed)
{
	const unsigned char *p = buf;
	unsigned char want[64];
	size_t done = 0;

	if (!(offset % 8) && !(len % 8) &&
	    words_right(p, len / 8, pattern_word(offset, seed)))
		return len;
	while (done < len) {
		size_t n = sizeof(want);

		if (n > len - done)
			n = len - done;
		pattern_fill(want, offset + done, n, seed);
		if (memcmp(p + done, want, n)) {
			for (size_t i = 0; i < n; i++)
				if (p[done + i] != want[i])
					return done + i;
		}
		done += n;
	}
	return len;
}

void pattern_write(int fd, uint64_t offset, uint64_t len, uint64_t seed)
{
	const size_t size = 4 << 20;
	char *buf = malloc(size);
	ssize_t got;
	size_t n;

	if (!buf)
		die("out of memory");
	while (len) {
		n = len < size ? len : size;
		pattern_fill(buf, offset, n, seed);
		got = pwrite(fd, buf, n, offset);
		if (got <= 0)
			die("write: %s", got ? strerror(errno) : "disk full");
		offset += got;
		len -= got;
	}
	free(buf);
}

void *map_file(int fd, size_t len, int prot, int flags)
{
	char *area, *map;
	uintptr_t start;

	/* what is reserved too much is left reserved */
	area = mmap(NULL, len + HUGE_PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	start = ((uintptr_t)area + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	map = mmap((void *)start, len, prot, flags | MAP_FIXED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return map;
}

void drop_caches(void)
{
	int fd;

	/* the program's own pages stay: their faults are not what is counted */
	if (mlockall(MCL_CURRENT))
		die("mlockall: %s", strerror(errno));
	sync();
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
	if (fd < 0 || write(fd, "3\n", 2) != 2)
		die("drop_caches: %s", strerror(errno));
	close(fd);
}

uint64_t pages_cached(void *map, size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE), n = (len + page - 1) / page;
	unsigned char *vec = malloc(n);
	uint64_t count = 0;

	if (!vec || mincore(map, len, vec))
		die("mincore: %s", strerror(errno));
	for (size_t i = 0; i < n; i++)
		count += vec[i] & 1;
	free(vec);
	return count;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void read_small(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY);

	buf[0] = 0;
	if (fd < 0)
		return;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += n;
	buf[n < 0 ? 0 : len] = 0;
	close(fd);
}

static int64_t vmstat(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text && *text) {
		if (!strncmp(text, name, len) && text[len] == ' ')
			return strtoll(text + len, NULL, 10);
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	die("no %s in /proc/vmstat", name);
}

void counters_open(struct counters *c, int fd)
{
	struct stat st;
	dev_t dev;

	memset(c, 0, sizeof(*c));
	if (fstat(fd, &st))
		die("fstat: %s", strerror(errno));
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	snprintf(c->disk, sizeof(c->disk), "/sys/dev/block/%u:%u/stat",
		 major(dev), minor(dev));
	if (access(c->disk, R_OK))
		c->disk[0] = 0;
}

/*
 * Called twice around what is measured: the clock is read last at the start
 * and first at the end, or nearly so.
 */
void counters_read(struct counters *c)
{
	char text[16384];
	struct timespec cpu;
	struct rusage ru;

	c->seconds = now();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	c->cpu = cpu.tv_sec + cpu.tv_nsec * 1e-9;
	getrusage(RUSAGE_SELF, &ru);
	c->majflt = ru.ru_majflt;
	c->minflt = ru.ru_minflt;
	c->nvcsw = ru.ru_nvcsw;
	read_small("/proc/vmstat", text, sizeof(text));
	c->pgmajfault = vmstat(text, "pgmajfault");
	c->mib = vmstat(text, "pgpgin") / 1024.0;
	c->disk_reads = c->disk_mib = -1;
	if (c->disk[0]) {
		long long ios, merges, sectors;

		read_small(c->disk, text, sizeof(text));
		if (sscanf(text, "%lld %lld %lld", &ios, &merges,
			   &sectors) == 3) {
			c->disk_reads = ios;
			c->disk_mib = sectors / 2048.0;
		}
	}
}

void counters_add(struct counters *to, const struct counters *end,
		  const struct counters *start)
{
	memcpy(to->disk, end->disk, sizeof(to->disk));
	to->seconds += end->seconds - start->seconds;
	to->cpu += end->cpu - start->cpu;
	to->majflt += end->majflt - start->majflt;
	to->minflt += end->minflt - start->minflt;
	to->nvcsw += end->nvcsw - start->nvcsw;
	to->pgmajfault += end->pgmajfault - start->pgmajfault;
	to->mib += end->mib - start->mib;
	to->disk_mib += end->disk_mib - start->disk_mib;
	to->disk_reads += end->disk_reads - start->disk_reads;
}

void counters_print(const struct counters *from, const struct counters *to)
{
	struct counters d = { 0 };

	counters_add(&d, to, from);
	printf(" majflt=%" PRId64 " minflt=%" PRId64 " pgmajfault=%" PRId64
	       " mib=%.2f seconds=%.3f cpu=%.6f nvcsw=%" PRId64,
	       d.majflt, d.minflt, d.pgmajfault, d.mib, d.seconds, d.cpu,
	       d.nvcsw);
	if (d.disk[0])
		printf(" disk_mib=%.2f disk_reads=%" PRId64, d.disk_mib,
		       d.disk_reads);
}
