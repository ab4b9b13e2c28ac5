/* memory.line: how far a cache line reaches. */
#include <errno.h>
#include <stdlib.h>

#include "bench/benchmarks.h"
#include "bench/chase.h"
#include "bench/memory.h"
#include "core/clock.h"

/* Room for the largest offset, and so far apart that no prefetcher takes two visits for one. */
enum { STRIDE = 2048, VISITS = CHASE_LOADS / 2 };

static int prepare(struct chase *c, size_t size, size_t offset, const char *pages)
{
	int error = buffer_map(&c->buffer, size, pages);

	if (error)
		return error;
	buffer_write_zero(&c->buffer);
	error = chase_link(c, STRIDE, size);
	if (error)
		return error;
	chase_split(c, STRIDE, offset);
	chase_walk(c, size / STRIDE / VISITS + 1);
	return 0;
}

static int setup(struct run *run)
{
	const char *pages = arg_text(&run->args, "pages");
	size_t size = (size_t)arg_number(&run->args, "size") / 4096 * 4096;
	size_t offset = (size_t)arg_number(&run->args, "offset");
	struct chase *c;
	int status, error;

	if (offset % 8)
		return json_error(2, EINVAL, "memory.line: offset=%zu is no multiple of 8", offset);
	status = memory_check_room("memory.line", buffer_footprint(size, pages) +
							  chase_link_footprint(size, STRIDE, size));
	if (status)
		return status;
	c = calloc(1, sizeof(*c));
	run->state = c;
	if (!c)
		return json_error(1, ENOMEM, "memory.line: no memory");
	error = prepare(c, size, offset, pages);
	if (error)
		return json_error(77, -error, "memory.line: the system refuses %zu bytes: choose a "
					      "smaller size", size);
	if (arg_is(&run->args, "pages", "huge"))
		run_caveat(run, buffer_huge_caveat(&c->buffer));
	return 0;
}

static int batch(struct run *run, uint64_t iterations)
{
	struct chase *c = run->state;
	uint64_t begin = clock_ns();

	chase_walk(c, iterations);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static double value(const struct run *run)
{
	return value_ns_per_iteration(run) / VISITS;
}

static void describe(const struct run *run, struct json *j)
{
	const struct chase *c = run->state;

	json_open(j, "memory", '[');
	buffer_describe(&c->buffer, "chain", j);
	json_close(j, ']');
}

static void teardown(struct run *run)
{
	struct chase *c = run->state;

	if (c)
		buffer_unmap(&c->buffer);
	free(c);
}

static const struct param params[] = {
	{"offset", PARAM_SIZE, "64", 8, 1024, NULL,
	 "bytes from the first load of a visit to the second, a multiple of 8"},
	{"size", PARAM_SIZE, "64M", 64 << 10, 1ull << 30, NULL,
	 "bytes that the visits are scattered over (a multiple of 4K is used)"},
	{"pages", PARAM_CHOICE, "default", 0, 0, pages_choices, pages_summary},
	{0},
};

const struct benchmark memory_line = {
	.id = "memory.line",
	.summary = "what a second load costs that lies a little further: the size of a cache line",
	.unit = "ns",
	.better = "lower",
	.counted = "a visit: a load from a far place, and one `offset` bytes away from it",
	.method = "visits places 2 KiB apart in random order; the first load gives the address of "
		  "the second, the second that of the next place; which of the two comes first is "
		  "random too, or the prefetcher would learn it. While both are in one line the "
		  "second is nearly free; the offset at which a visit gets dearer is the line's "
		  "size. Measure all offsets: offset=8..1024",
	.pitfalls = "some CPUs fetch the neighbouring line too, in pairs of 128 bytes: then the "
		    "step at the line's end is small and a second follows at 128; the second level "
		    "may have longer lines than the first; with base pages each visit may add a "
		    "TLB miss, alike for all offsets (pages=huge has few)",
	.not_measured = "what a load costs (memory.latency); lines that two CPUs write in turn "
			"(false sharing)",
	.reference = "lmbench's line: the same step; sysfs: coherency_line_size, equal",
	.params = params,
	.setup = setup,
	.batch = batch,
	.value = value,
	.describe = describe,
	.teardown = teardown,
};
