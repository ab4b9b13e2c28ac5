/* memory.latency: the time that one load takes to bring its data. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "bench/benchmarks.h"
#include "bench/chase.h"
#include "bench/memory.h"
#include "core/clock.h"

/* Maps, writes and links the chain, and walks it once around, so that the caches hold what such a
 * walk leaves in them. */
static int prepare(struct chase *c, size_t size, size_t stride, size_t group, const char *pages)
{
	int error = buffer_map(&c->buffer, size, pages);

	if (error)
		return error;
	buffer_write_zero(&c->buffer);
	error = chase_link(c, stride, group);
	if (error == 0)
		chase_walk(c, size / stride / CHASE_LOADS + 1);
	return error;
}

static int setup(struct run *run)
{
	const char *id = run->benchmark->id;
	const char *pages = arg_text(&run->args, "pages");
	size_t stride = (size_t)arg_number(&run->args, "stride");
	size_t asked = (size_t)arg_number(&run->args, "size");
	bool local = arg_is(&run->args, "order", "local") && asked > CHASE_GROUP;
	size_t unit = local ? CHASE_GROUP : 4096;
	size_t size = asked / unit * unit;
	size_t group = local ? CHASE_GROUP : size;
	struct chase *c;
	int status, error;

	if (stride & (stride - 1))
		return json_error(2, EINVAL, "%s: stride=%zu is not a power of two", id, stride);
	status = memory_check_room(id, buffer_footprint(size, pages) +
					       chase_link_footprint(size, stride, group));
	if (status)
		return status;
	c = calloc(1, sizeof(*c));
	run->state = c;
	if (!c)
		return json_error(1, ENOMEM, "%s: no memory", id);
	error = prepare(c, size, stride, group, pages);
	if (error)
		return json_error(77, -error, "%s: the system refuses %zu bytes: choose a smaller "
					      "size", id, size);
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
	return value_ns_per_iteration(run) / CHASE_LOADS;
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
	{"size", PARAM_SIZE, "64M", 4096, 1ull << 30, NULL,
	 "bytes that the chain runs through (a multiple of 4K is used, of 256K with order=local)"},
	{"stride", PARAM_SIZE, "64", 16, 4096, NULL,
	 "bytes between nodes, a power of two: the cache line's size; below it lines are met "
	 "several times, above it some of the cache's sets stay empty"},
	{"order", PARAM_CHOICE, "random", 0, 0, "random local",
	 "random over the whole buffer, or over 256 KiB at a time, so that few loads miss the TLB"},
	{"pages", PARAM_CHOICE, "default", 0, 0, pages_choices, pages_summary},
	{0},
};

const struct benchmark memory_latency = {
	.id = "memory.latency",
	.summary = "how long one load takes, by the size of what it is loaded from",
	.unit = "ns",
	.better = "lower",
	.counted = "a load that depends on the one before",
	.method = "follows pointers along one random cycle through every line of a written buffer, "
		  "after one whole turn to warm up; batches go on where the last one stopped",
	.pitfalls = "a constant stride is foreseen by the prefetcher (ten times too low); with "
		    "base pages a large buffer adds TLB misses to the value (order=local and "
		    "pages=huge have few); a size near that of a cache gives a mixture of two "
		    "levels",
	.not_measured = "loads that overlap, which real programs have; latency while others use "
			"the memory; bandwidth (memory.read)",
	.reference = "multichase -a: within 5 % (order=local or pages=huge); lat_mem_rd -t: within 30 %; "
		"tinymembench prints what is added to the first-level cache, so less than this",
	.params = params,
	.setup = setup,
	.batch = batch,
	.value = value,
	.describe = describe,
	.teardown = teardown,
};
