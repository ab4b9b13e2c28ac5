/* memory.copy, memory.fill, memory.read: bandwidth with known instructions and known pages. */
#include "bench/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/kernels.h"
#include "core/clock.h"

static const char not_a_bandwidth[] =
	"not a bandwidth: the source was never written, so every page of it is the one shared zero "
	"page and is read from the cache";

static size_t memory_size(const struct run *run)
{
	return (size_t)arg_number(&run->args, "size") / 4096 * 4096;
}

int memory_check_room(const char *id, uint64_t bytes)
{
	int64_t available = memory_available();

	if (available < 0 || bytes <= (uint64_t)available / 10 * 9)
		return 0;
	return json_error(77, ENOMEM, "%s: needs %llu MiB, but only %lld MiB are available: choose "
				      "a smaller size", id, (unsigned long long)(bytes >> 20),
			  (long long)(available >> 20));
}

static int reserve(struct run *run, struct buffer *b, size_t size)
{
	int error = buffer_map(b, size, arg_text(&run->args, "pages"));

	if (error == 0)
		return 0;
	return json_error(77, -error, "%s: the system refuses a buffer of %zu bytes: choose a "
				      "smaller size", run->benchmark->id, size);
}

int memory_setup_buffers(struct run *run, struct memory *m, bool has_source, bool has_target)
{
	size_t size = memory_size(run);
	bool untouched = has_source && arg_is(&run->args, "source", "untouched");
	uint64_t footprint = buffer_footprint(size, arg_text(&run->args, "pages"));
	int status = memory_check_room(run->benchmark->id, footprint * (has_source + has_target));

	if (status == 0 && has_source)
		status = reserve(run, &m->source, size);
	if (status == 0 && has_target)
		status = reserve(run, &m->target, size);
	if (status)
		return status;
	if (has_target)
		memset(m->target.data, 1, size);
	if (has_source && arg_is(&run->args, "source", "random"))
		buffer_write_random(&m->source);
	if (has_source && arg_is(&run->args, "source", "zero"))
		buffer_write_zero(&m->source);
	if (untouched)
		run_caveat(run, not_a_bandwidth);
	if (arg_is(&run->args, "pages", "huge")) {
		if (has_target)
			run_caveat(run, buffer_huge_caveat(&m->target));
		if (has_source && !untouched) /* the huge zero page does not show */
			run_caveat(run, buffer_huge_caveat(&m->source));
	}
	return 0;
}

double memory_value(const struct run *run)
{
	double bytes = (double)memory_size(run) * (double)run->iterations;

	return bytes / (double)run->elapsed_ns * 1e9;
}

void memory_describe_buffers(const struct run *run, struct json *j)
{
	const struct memory *m = run->state;

	json_open(j, "memory", '[');
	if (m->source.data)
		buffer_describe(&m->source, "source", j);
	if (m->target.data)
		buffer_describe(&m->target, "target", j);
	json_close(j, ']');
}

void memory_observe(const struct run *run, struct json *j)
{
	if (arg_is(&run->args, "observe", "pages"))
		pages_describe_own(j);
}

void memory_teardown(struct run *run)
{
	struct memory *m = run->state;

	if (!m)
		return;
	buffer_unmap(&m->source);
	buffer_unmap(&m->target);
	free(m);
}

static int setup(struct run *run, enum kernel_loop loop)
{
	struct memory *m = calloc(1, sizeof(*m));
	const char *why = "";

	run->state = m;
	if (!m)
		return json_error(1, ENOMEM, "%s: no memory", run->benchmark->id);
	m->kernel = kernel_find(arg_text(&run->args, "kernel"), loop, &why);
	if (!m->kernel)
		return json_error(77, ENODEV, "%s: kernel=%s is not possible here: %s (kernel=auto "
					      "takes what is)",
				  run->benchmark->id, arg_text(&run->args, "kernel"), why);
	return memory_setup_buffers(run, m, loop != KERNEL_FILL, loop != KERNEL_READ);
}

static int setup_copy(struct run *run)
{
	return setup(run, KERNEL_COPY);
}

static int setup_fill(struct run *run)
{
	return setup(run, KERNEL_FILL);
}

static int setup_read(struct run *run)
{
	return setup(run, KERNEL_READ);
}

static int batch_copy(struct run *run, uint64_t iterations)
{
	struct memory *m = run->state;
	uint64_t begin = clock_ns();

	for (uint64_t i = 0; i < iterations; i++)
		m->kernel->copy(m->target.data, m->source.data, m->source.size);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static int batch_fill(struct run *run, uint64_t iterations)
{
	struct memory *m = run->state;
	uint64_t begin = clock_ns();

	for (uint64_t i = 0; i < iterations; i++)
		m->kernel->fill(m->target.data, m->target.size);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static int batch_read(struct run *run, uint64_t iterations)
{
	struct memory *m = run->state;
	uint64_t begin = clock_ns();

	for (uint64_t i = 0; i < iterations; i++)
		m->kernel->read(m->source.data, m->source.size);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static void describe(const struct run *run, struct json *j)
{
	const struct memory *m = run->state;

	json_string(j, "kernel", m->kernel->name);
	memory_describe_buffers(run, j);
}

#define SIZE_PARAM                                                                       \
	{"size", PARAM_SIZE, "64M", 4096, 1ull << 30, NULL,                              \
	 "bytes in each buffer (a multiple of 4K is used)"}
#define KERNEL_PARAM                                                                     \
	{"kernel", PARAM_CHOICE, "auto", 0, 0, kernel_choices, kernel_summary}
#define PAGES_PARAM                                                                      \
	{"pages", PARAM_CHOICE, "default", 0, 0, pages_choices, pages_summary}

static const struct param copy_params[] = {
	SIZE_PARAM, SOURCE_PARAM, PAGES_PARAM, KERNEL_PARAM, OBSERVE_PARAM("this process"), {0},
};
static const struct param fill_params[] = {SIZE_PARAM, PAGES_PARAM, KERNEL_PARAM, {0}};

const struct benchmark memory_copy = {
	.id = "memory.copy",
	.summary = "how fast one CPU copies memory, by the size of the buffers",
	.unit = "B/s",
	.better = "higher",
	.counted = "copied",
	.method = "copies a whole buffer to another with known instructions (no C library), over "
		  "and over; both are initialised, the source with random bytes",
	.pitfalls = "an unwritten source is one shared zero page, of 4 KiB or a huge one, read from "
		    "a cache: it overstates the rate up to three times, with either kind of page "
		    "(source=untouched shows it, and is no bandwidth); buffers that fit a cache measure the "
		    "cache (compare sizes); huge pages change it (begin.memory tells what was "
		    "granted); a busy neighbour can halve it (samples are flagged)",
	.not_measured = "the board's own memcpy (memory.libc_copy); bytes on the memory bus: a "
			"copied byte is read once, written once, and with ordinary stores its line "
			"is read a second time",
	.reference = "beyond the caches within 5 %: STREAM copy, which counts read plus written bytes, "
		"twice this value; perf bench mem memcpy (5.9 or later, GiB/s printed as GB/s) "
		"with the same instructions (-f x86-64-movsb is kernel=movsb); what calls the C "
		"library's memcpy compares with memory.libc_copy",
	.params = copy_params,
	.setup = setup_copy,
	.batch = batch_copy,
	.value = memory_value,
	.describe = describe,
	.detail = memory_observe,
	.teardown = memory_teardown,
};

const struct benchmark memory_fill = {
	.id = "memory.fill",
	.summary = "how fast one CPU writes memory, by the size of the buffer",
	.unit = "B/s",
	.better = "higher",
	.counted = "written",
	.method = "stores a constant to every byte of an initialised buffer",
	.pitfalls = "a buffer that fits a cache measures the cache (compare sizes); kernels that "
		    "need not read a line before they write it (nt, zva, movsb) reach another "
		    "rate than ordinary stores, up to twice as high",
	.not_measured = "page faults of fresh memory; the board's own memset; bytes on the memory "
			"bus: ordinary stores read each line before they write it",
	.reference = "beyond the caches within 10 %: bw_mem fwr; perf bench mem memset with the same "
		"instructions (-f x86-64-stosb is kernel=movsb)",
	.params = fill_params,
	.setup = setup_fill,
	.batch = batch_fill,
	.value = memory_value,
	.describe = describe,
	.teardown = memory_teardown,
};

const struct benchmark memory_read = {
	.id = "memory.read",
	.summary = "how fast one CPU reads memory, by the size of the buffer",
	.unit = "B/s",
	.better = "higher",
	.counted = "read",
	.method = "loads every byte of a written buffer into registers, in order",
	.pitfalls = "an unwritten source is the shared zero page (source=untouched shows it); a "
		    "buffer that fits a cache measures the cache (compare sizes); a busy neighbour "
		    "can halve it (samples are flagged)",
	.not_measured = "latency (memory.latency): the prefetcher sees this pattern coming; "
			"reading while writing (memory.copy)",
	.reference = "a loop that adds up all words, by a compiler that uses the same vectors: within "
		"10 %; bw_mem frd adds them one by one, which is its limit where memory is "
		"faster; bw_mem rd reads one word in four and counts all four",
	.params = copy_params,
	.setup = setup_read,
	.batch = batch_read,
	.value = memory_value,
	.describe = describe,
	.detail = memory_observe,
	.teardown = memory_teardown,
};
