// SPDX-License-Identifier: GPL-2.0
/*
 * mmstorm - threads that fault on one file in every way, for as long as asked
 *
 *	mmstorm FILE [--threads N] [--seconds N] [--seed N]
 *
 * Each thread maps pieces of the file, of one descriptor that all share or of
 * one of its own, with this hint or that, walks them, compares every byte and
 * throws the pages out of the cache again, so that the next ones have
 * something to read. SIGTERM ends it early. Status 2: a byte was wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

#define THREADS_MAX	64
#define PIECE_PAGES	1024u

static const char *path;
static int shared_fd;
static uint64_t npages, seed;
static double until;
static volatile sig_atomic_t stop;
static size_t page_size;

struct worker {
	pthread_t thread;
	uint64_t random;
	uint64_t pieces, pages;
};

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static uint64_t pick(struct worker *w, uint64_t below)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (w->random >> 33) % below;
}

static void look(unsigned char *map, uint64_t first, uint64_t i, bool write)
{
	unsigned char *p = map + i * page_size;
	uint64_t offset = (first + i) * page_size;
	size_t skip = write ? 8 : 0, good;

	if (write)
		*(volatile unsigned char *)p = 1;
	good = pattern_check(p + skip, offset + skip, page_size - skip, seed);
	if (good + skip < page_size) {
		fflush(stdout);
		fprintf(stderr, "mmstorm: wrong byte %#x at offset %llu\n",
			p[good + skip],
			(unsigned long long)(offset + skip + good));
		_exit(2);
	}
}

static void piece(struct worker *w, int fd)
{
	static const int hints[] = {
		MADV_NORMAL, MADV_NORMAL, MADV_SEQUENTIAL, MADV_RANDOM,
		MADV_HUGEPAGE,
	};
	uint64_t n = 1 + pick(w, npages < PIECE_PAGES ? npages : PIECE_PAGES);
	uint64_t first = pick(w, npages - n + 1), i, step;
	bool write = !pick(w, 4);
	unsigned char *map;

	map = mmap(NULL, n * page_size,
		   write ? PROT_READ | PROT_WRITE : PROT_READ,
		   write ? MAP_PRIVATE : MAP_SHARED, fd,
		   (off_t)(first * page_size));
	if (map == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	/* without huge pages in the kernel there is no such hint */
	madvise(map, n * page_size, hints[pick(w, 5)]);
	switch (pick(w, 4)) {
	case 0:
		for (i = 0; i < n; i++)
			look(map, first, i, write);
		break;
	case 1:
		for (i = n; i--; )
			look(map, first, i, write);
		break;
	case 2:
		step = 2 + pick(w, 40);
		for (i = 0; i < n; i += step)
			look(map, first, i, write);
		break;
	default:
		for (i = 0; i < 32; i++)
			look(map, first, pick(w, n), write);
	}
	munmap(map, n * page_size);
	posix_fadvise(fd, (off_t)(first * page_size),
		      (off_t)(n * page_size), POSIX_FADV_DONTNEED);
	w->pieces++;
	w->pages += n;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!stop && now() < until) {
		int fd = shared_fd;

		if (!pick(w, 3)) {
			fd = open(path, O_RDONLY);
			if (fd < 0)
				die("%s: %s", path, strerror(errno));
		}
		for (int i = 0; i < 4; i++)
			piece(w, fd);
		if (fd != shared_fd)
			close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS_MAX] = { 0 }, sum = { 0 };
	unsigned long threads = 4, seconds = 10;
	double start = now();
	struct rusage ru;
	struct stat st;

	page_size = sysconf(_SC_PAGESIZE);
	for (int i = 1; i < argc; i++) {
		const char *o = argv[i], *value = argv[i + 1];

		if (strncmp(o, "--", 2)) {
			path = o;
			continue;
		}
		if (!value)
			die("%s: no value", o);
		i++;
		if (!strcmp(o, "--threads"))
			threads = option_number(o, value);
		else if (!strcmp(o, "--seconds"))
			seconds = option_number(o, value);
		else if (!strcmp(o, "--seed"))
			seed = option_number(o, value);
		else
			die("no such option: %s", o);
	}
	if (!path || !threads || threads > THREADS_MAX)
		die("usage: mmstorm FILE [--threads N] [--seconds N]");
	shared_fd = open(path, O_RDONLY);
	if (shared_fd < 0 || fstat(shared_fd, &st))
		die("%s: %s", path, strerror(errno));
	npages = st.st_size / page_size;
	if (!npages)
		die("%s: less than a page", path);
	signal(SIGTERM, on_term);
	until = start + seconds;
	for (unsigned long t = 0; t < threads; t++) {
		workers[t].random = t + 1;
		if (pthread_create(&workers[t].thread, NULL, work, &workers[t]))
			die("cannot start a thread");
	}
	for (unsigned long t = 0; t < threads; t++) {
		pthread_join(workers[t].thread, NULL);
		sum.pieces += workers[t].pieces;
		sum.pages += workers[t].pages;
	}
	getrusage(RUSAGE_SELF, &ru);
	printf("storm threads=%lu seconds=%.1f pieces=%llu pages=%llu majflt=%ld minflt=%ld bytes_ok=1\n",
	       threads, now() - start, (unsigned long long)sum.pieces,
	       (unsigned long long)sum.pages, ru.ru_majflt, ru.ru_minflt);
	return 0;
}
