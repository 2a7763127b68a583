// SPDX-License-Identifier: GPL-2.0
/*
 * stload - writes and loads a model's weights as a safetensors file
 *
 *	stload write FILE MIB [--tensors N] [--seed N]
 *	stload load FILE [--order shuffled|file] [--seed N] [--progress yes]
 *
 * The file is what save_file() of safetensors makes of a mixture-of-experts
 * transformer: 8 bytes of header length, a JSON header, then the weights, one
 * tensor after the other in the order of their names. Their bytes are the
 * pattern of guest.h.
 *
 * "load" does what a loader does that maps the file: read and check the
 * header, look at each tensor once, at its last page, as making one view a
 * tensor of torch.UntypedStorage.from_file() does, then read each tensor whole.
 * Every byte is compared. It prints one line of key=value for both steps
 * together; touch_majflt and touch_seconds are the first step's share.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

#define HEADER_MAX	(100u << 20)	/* safetensors' own limit */
#define DIMS_MAX	8

struct tensor {
	char *name;
	char dtype[8];
	unsigned int ndims;
	uint64_t dims[DIMS_MAX];
	uint64_t begin, end;		/* from the end of the header */
};

struct tensors {
	struct tensor *t;
	size_t n, room;
};

static struct {
	uint64_t seed;
	unsigned long tensors;
	bool shuffle, progress;
} opt = { .tensors = 499, .shuffle = true };

static struct tensor *add(struct tensors *all)
{
	if (all->n == all->room) {
		all->room = all->room ? all->room * 2 : 256;
		all->t = realloc(all->t, all->room * sizeof(*all->t));
		if (!all->t)
			die("out of memory");
	}
	memset(&all->t[all->n], 0, sizeof(*all->t));
	return &all->t[all->n++];
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tensor *)a)->name,
		      ((const struct tensor *)b)->name);
}

/* ---- writing ---- */

__attribute__((format(printf, 4, 5)))
static void weight(struct tensors *all, uint64_t rows, uint64_t columns,
		   const char *fmt, ...)
{
	struct tensor *t = add(all);
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&t->name, fmt, args) < 0)
		die("out of memory");
	va_end(args);
	strcpy(t->dtype, "BF16");
	t->dims[t->ndims++] = rows;
	if (columns)
		t->dims[t->ndims++] = columns;
	t->end = rows * (columns ? columns : 1) * 2;	/* for now: its size */
}

/*
 * Layers with attention, a router and 8 experts, in the proportions of the
 * published ones; the experts' width is what fills the size asked for.
 */
static void design(struct tensors *all, uint64_t bytes)
{
	const unsigned int experts = 8, each = 7 + 3 * experts;
	uint64_t layers = opt.tensors > 3 + each ? (opt.tensors - 3) / each : 1;
	uint64_t d = 64, words = 8192, fixed, wide;

	while (d * d * 4096 < bytes * 4)
		d += 64;
	fixed = 2 * words * d + d + layers * (d * d * 5 / 2 + experts * d + 2 * d);
	if (fixed * 2 >= bytes)
		die("%lu tensors need more than that", opt.tensors);
	wide = (bytes / 2 - fixed) / (layers * 3 * experts * d);
	if (!wide)
		die("%lu tensors need more than that", opt.tensors);

	weight(all, words, d, "lm_head.weight");
	weight(all, words, d, "model.embed_tokens.weight");
	weight(all, d, 0, "model.norm.weight");
	for (unsigned int l = 0; l < layers; l++) {
		weight(all, d, 0, "model.layers.%u.input_layernorm.weight", l);
		weight(all, d, 0,
		       "model.layers.%u.post_attention_layernorm.weight", l);
		weight(all, d, d, "model.layers.%u.self_attn.q_proj.weight", l);
		weight(all, d / 4, d, "model.layers.%u.self_attn.k_proj.weight", l);
		weight(all, d / 4, d, "model.layers.%u.self_attn.v_proj.weight", l);
		weight(all, d, d, "model.layers.%u.self_attn.o_proj.weight", l);
		weight(all, experts, d, "model.layers.%u.mlp.gate.weight", l);
		for (unsigned int e = 0; e < experts; e++) {
			weight(all, wide, d,
			       "model.layers.%u.mlp.experts.%u.gate_proj.weight",
			       l, e);
			weight(all, wide, d,
			       "model.layers.%u.mlp.experts.%u.up_proj.weight",
			       l, e);
			weight(all, d, wide,
			       "model.layers.%u.mlp.experts.%u.down_proj.weight",
			       l, e);
		}
	}
}

static int write_file(const char *path, unsigned long mib)
{
	struct tensors all = { 0 };
	uint64_t offset = 0, length;
	char *header = NULL;
	size_t size = 0;
	FILE *out;
	int fd;

	design(&all, (uint64_t)mib << 20);
	qsort(all.t, all.n, sizeof(*all.t), by_name);
	out = open_memstream(&header, &size);
	if (!out)
		die("out of memory");
	fputs("{\"__metadata__\":{\"format\":\"pt\"}", out);
	for (size_t i = 0; i < all.n; i++) {
		struct tensor *t = &all.t[i];

		t->begin = offset;
		t->end += offset;
		offset = t->end;
		fprintf(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64,
			t->name, t->dtype, t->dims[0]);
		for (unsigned int d = 1; d < t->ndims; d++)
			fprintf(out, ",%" PRIu64, t->dims[d]);
		fprintf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
			t->begin, t->end);
	}
	fputc('}', out);
	fflush(out);
	while (size % 8) {
		fputc(' ', out);
		fflush(out);
	}
	fclose(out);

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	length = size;		/* x86 and arm64 are little-endian */
	if (write(fd, &length, 8) != 8 ||
	    write(fd, header, size) != (ssize_t)size)
		die("%s: %s", path, strerror(errno));
	pattern_write(fd, 8 + size, offset, opt.seed);
	if (fsync(fd) || close(fd))
		die("%s: %s", path, strerror(errno));
	printf("wrote=%s tensors=%zu header=%zu mib=%.1f\n", path, all.n,
	       size, (8 + size + offset) / MIB);
	return 0;
}

/* ---- the header: a strict reader of the part of JSON it is written in ---- */

struct json {
	const char *start, *p, *end;
};

__attribute__((noreturn))
static void bad(const struct json *j, const char *what)
{
	die("header: %s at byte %td", what, j->p - j->start + 8);
}

static void space(struct json *j)
{
	while (j->p < j->end && strchr(" \t\r\n", *j->p) && *j->p)
		j->p++;
}

static bool sign(struct json *j, char c)
{
	space(j);
	if (j->p == j->end || *j->p != c)
		return false;
	j->p++;
	return true;
}

static void expect(struct json *j, char c)
{
	char what[] = "expected ' '";

	what[10] = c;
	if (!sign(j, c))
		bad(j, what);
}

static char *string(struct json *j)
{
	const char *first;
	char *s, *to;

	expect(j, '"');
	first = j->p;
	while (j->p < j->end && *j->p != '"') {
		if ((unsigned char)*j->p < ' ')
			bad(j, "control character in a string");
		j->p += *j->p == '\\' && j->p + 1 < j->end ? 2 : 1;
	}
	if (j->p >= j->end)
		bad(j, "string without an end");
	s = malloc(j->p - first + 1);
	if (!s)
		die("out of memory");
	for (to = s; first < j->p; first++) {
		if (*first == '\\' && !strchr("\"\\/", *++first))
			bad(j, "escape that no tensor's name needs");
		*to++ = *first;
	}
	*to = 0;
	j->p++;
	return s;
}

static uint64_t number(struct json *j)
{
	uint64_t n = 0;
	const char *first;

	space(j);
	first = j->p;
	for (; j->p < j->end && *j->p >= '0' && *j->p <= '9'; j->p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *j->p - '0', &n))
			bad(j, "number too large");
	if (j->p == first || (*first == '0' && j->p > first + 1))
		bad(j, "expected a number");
	return n;
}

static unsigned int dtype_bytes(const char *dtype)
{
	static const struct { const char *name; unsigned int bytes; } known[] = {
		{ "F64", 8 }, { "I64", 8 }, { "U64", 8 }, { "F32", 4 },
		{ "I32", 4 }, { "U32", 4 }, { "F16", 2 }, { "BF16", 2 },
		{ "I16", 2 }, { "U16", 2 }, { "I8", 1 }, { "U8", 1 },
		{ "BOOL", 1 }, { "F8_E4M3", 1 }, { "F8_E5M2", 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, dtype))
			return known[i].bytes;
	return 0;
}

static void tensor(struct json *j, struct tensor *t)
{
	bool dtype = false, shape = false, offsets = false;
	uint64_t size;

	expect(j, '{');
	do {
		char *key = string(j), *value;

		expect(j, ':');
		if (!strcmp(key, "dtype") && !dtype) {
			dtype = true;
			value = string(j);
			if (!dtype_bytes(value))
				bad(j, "unknown dtype");
			strcpy(t->dtype, value);
			free(value);
		} else if (!strcmp(key, "shape") && !shape) {
			shape = true;
			expect(j, '[');
			if (!sign(j, ']')) {
				do {
					if (t->ndims == DIMS_MAX)
						bad(j, "too many dimensions");
					t->dims[t->ndims++] = number(j);
				} while (sign(j, ','));
				expect(j, ']');
			}
		} else if (!strcmp(key, "data_offsets") && !offsets) {
			offsets = true;
			expect(j, '[');
			t->begin = number(j);
			expect(j, ',');
			t->end = number(j);
			expect(j, ']');
		} else {
			bad(j, "a key that a tensor does not have, or twice");
		}
		free(key);
	} while (sign(j, ','));
	expect(j, '}');
	if (!dtype || !shape || !offsets)
		bad(j, "tensor without dtype, shape or data_offsets");
	size = dtype_bytes(t->dtype);
	for (unsigned int d = 0; d < t->ndims; d++)
		if (__builtin_mul_overflow(size, t->dims[d], &size))
			bad(j, "shape too large");
	if (t->end < t->begin || t->end - t->begin != size)
		bad(j, "data_offsets do not fit the shape");
}

static int by_offset(const void *a, const void *b)
{
	const struct tensor *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void parse(struct tensors *all, const char *text, size_t size,
		  uint64_t data_size)
{
	struct json j = { text, text, text + size };
	uint64_t offset = 0;

	if (!size || *text != '{')
		bad(&j, "no JSON object");
	expect(&j, '{');
	do {
		char *name = string(&j);

		expect(&j, ':');
		if (strcmp(name, "__metadata__")) {
			struct tensor *t = add(all);

			t->name = name;
			tensor(&j, t);
			continue;
		}
		free(name);
		expect(&j, '{');
		if (sign(&j, '}'))
			continue;
		do {
			free(string(&j));
			expect(&j, ':');
			free(string(&j));
		} while (sign(&j, ','));
		expect(&j, '}');
	} while (sign(&j, ','));
	expect(&j, '}');
	space(&j);
	if (j.p != j.end)
		bad(&j, "something after the JSON object");

	/* no byte of the data without a tensor, none with two */
	qsort(all->t, all->n, sizeof(*all->t), by_offset);
	for (size_t i = 0; i < all->n; i++) {
		if (all->t[i].begin != offset)
			die("header: hole or overlap before %s", all->t[i].name);
		offset = all->t[i].end;
	}
	if (offset != data_size)
		die("header: %" PRIu64 " bytes of data, the file has %" PRIu64,
		    offset, data_size);
}

/* ---- loading ---- */

static void read_header(int fd, uint64_t size, uint64_t *data,
			struct tensors *all)
{
	uint64_t length;
	char *text;

	if (pread(fd, &length, 8, 0) != 8)
		die("no header length");
	if (length > HEADER_MAX || length > size - 8)
		die("header length %" PRIu64 " is beyond the file", length);
	text = malloc(length);
	if (!text || pread(fd, text, length, 8) != (ssize_t)length)
		die("cannot read the header");
	*data = 8 + length;
	parse(all, text, length, size - *data);
	free(text);
}

static void progress(const char *step, size_t n, size_t of, double start)
{
	static double last;
	double t = now();

	if (!opt.progress || (n < of && t - last < 1))
		return;
	last = t;
	fprintf(stderr, "\r  %s: %zu of %zu tensors, %.1f s ", step, n, of,
		t - start);
	if (n == of)
		fputc('\n', stderr);
}

static int load(const char *path)
{
	struct tensors all = { 0 };
	struct counters from, touched, to;
	volatile const unsigned char *map;
	uint64_t data, mixed = opt.seed + 1, bytes = 0;
	size_t *order, page_size = sysconf(_SC_PAGESIZE);
	struct stat st;
	int fd;

	drop_caches();
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	counters_open(&from, fd);
	to = touched = from;
	counters_read(&from);

	read_header(fd, st.st_size, &data, &all);
	order = malloc((all.n + 1) * sizeof(*order));
	if (!order)
		die("out of memory");
	for (size_t i = 0; i < all.n; i++) {
		size_t other;

		/* inside out; the same order at each run */
		mixed = mixed * 6364136223846793005ull + 1442695040888963407ull;
		other = opt.shuffle ? (mixed >> 33) % (i + 1) : i;
		order[i] = order[other];
		order[other] = i;
	}
	map = map_file(fd, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	for (size_t i = 0; i < all.n; i++) {
		const struct tensor *t = &all.t[i];

		if (t->begin < t->end)
			(void)map[(data + t->end - 1) / page_size * page_size];
		progress("making views", i + 1, all.n, from.seconds);
	}
	counters_read(&touched);

	for (size_t i = 0; i < all.n; i++) {
		const struct tensor *t = &all.t[order[i]];
		const unsigned char *p = (unsigned char *)map + data + t->begin;
		size_t len = t->end - t->begin, good;

		good = pattern_check(p, data + t->begin, len, opt.seed);
		if (good < len) {
			fflush(stdout);
			fprintf(stderr,
				"stload: %s: wrong byte %#x at offset %" PRIu64 "\n",
				t->name, p[good], data + t->begin + good);
			return 2;
		}
		bytes += len;
		progress("reading", i + 1, all.n, from.seconds);
	}
	counters_read(&to);

	printf("case=safetensors tensors=%zu", all.n);
	counters_print(&from, &to);
	printf(" touch_majflt=%" PRId64 " touch_seconds=%.3f compared_mib=%.2f bytes_ok=1\n",
	       touched.majflt - from.majflt, touched.seconds - from.seconds,
	       bytes / MIB);
	return 0;
}

int main(int argc, char **argv)
{
	const char *args[3] = { 0 };
	int n = 0;

	for (int i = 1; i < argc; i++) {
		const char *o = argv[i], *value = argv[i + 1];

		if (strncmp(o, "--", 2)) {
			if (n == 3)
				die("too many arguments: %s", o);
			args[n++] = o;
			continue;
		}
		if (!value)
			die("%s: no value", o);
		i++;
		if (!strcmp(o, "--tensors"))
			opt.tensors = option_number(o, value);
		else if (!strcmp(o, "--seed"))
			opt.seed = option_number(o, value);
		else if (!strcmp(o, "--order"))
			opt.shuffle = !strcmp(value, "shuffled");
		else if (!strcmp(o, "--progress"))
			opt.progress = !strcmp(value, "yes");
		else
			die("no such option: %s", o);
	}
	if (n == 3 && !strcmp(args[0], "write"))
		return write_file(args[1], option_number("MIB", args[2]));
	if (n == 2 && !strcmp(args[0], "load"))
		return load(args[1]);
	die("usage: stload write FILE MIB [--tensors N] | stload load FILE [--order file]");
}
