/* memory.tlb: what it costs to translate an address. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/chase.h"
#include "bench/memory.h"
#include "core/clock.h"

struct tlb {
	struct chase base, huge;
	double base_ns, huge_ns; /* a load of the last batch */
};

static int prepare(struct chase *c, size_t span, size_t page, const char *pages)
{
	int error = buffer_map(&c->buffer, span, pages);

	if (error)
		return error;
	buffer_write_zero(&c->buffer);
	error = chase_link(c, page, span);
	if (error)
		return error;
	chase_scatter(c, page);
	chase_walk(c, span / page / CHASE_LOADS + 1);
	return 0;
}

/* Without huge pages there is nothing to compare with, whoever withholds them. */
static int check_huge(const struct chase *c)
{
	int64_t granted = buffer_huge_bytes(&c->buffer);

	if (granted < 0)
		return json_error(77, (int)-granted, "memory.tlb: this kernel does not tell whether "
						     "huge pages were granted");
	if (granted < (int64_t)c->buffer.size)
		return json_error(77, ENOMEM,
				  "memory.tlb: needs huge pages for %zu bytes, and %lld were granted: "
				  "see /sys/kernel/mm/transparent_hugepage/enabled, or choose a "
				  "smaller span", c->buffer.size, (long long)granted);
	return 0;
}

static int setup(struct run *run)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t span = (size_t)arg_number(&run->args, "span") / page * page;
	struct tlb *t;
	int status, error;

	status = memory_check_room("memory.tlb", buffer_footprint(span, "4k") +
							 buffer_footprint(span, "huge") +
							 chase_link_footprint(span, page, span));
	if (status)
		return status;
	t = calloc(1, sizeof(*t));
	run->state = t;
	if (!t)
		return json_error(1, ENOMEM, "memory.tlb: no memory");
	error = prepare(&t->base, span, page, "4k");
	if (error == 0)
		error = prepare(&t->huge, span, page, "huge");
	if (error)
		return json_error(77, -error, "memory.tlb: the system refuses %zu bytes: choose a "
					      "smaller span", span);
	return check_huge(&t->huge);
}

/* Keeps in *ns what a load took, if that is less than before. */
static void time_walk(struct chase *c, uint64_t iterations, double *ns)
{
	uint64_t begin = clock_ns();

	chase_walk(c, iterations);
	*ns = fmin(*ns, (double)(clock_ns() - begin) / (double)iterations / CHASE_LOADS);
}

/* The two in turns, so that a clock or a neighbour that changes meanwhile does so for both, and of
 * each the quickest: an interrupt in one of them would pass for a translation. */
static int batch(struct run *run, uint64_t iterations)
{
	struct tlb *t = run->state;
	enum { TURNS = 4 };
	uint64_t part = iterations / TURNS + 1;
	uint64_t begin = clock_ns();

	t->base_ns = t->huge_ns = INFINITY;
	for (int turn = 0; turn < TURNS; turn++) {
		time_walk(&t->base, part, &t->base_ns);
		time_walk(&t->huge, part, &t->huge_ns);
	}
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static double value(const struct run *run)
{
	const struct tlb *t = run->state;

	return t->base_ns - t->huge_ns;
}

static void describe(const struct run *run, struct json *j)
{
	const struct tlb *t = run->state;

	json_open(j, "memory", '[');
	buffer_describe(&t->base.buffer, "base pages", j);
	buffer_describe(&t->huge.buffer, "huge pages", j);
	json_close(j, ']');
}

static void detail(const struct run *run, struct json *j)
{
	const struct tlb *t = run->state;

	json_number(j, "base_ns", t->base_ns);
	json_number(j, "huge_ns", t->huge_ns);
}

static void teardown(struct run *run)
{
	struct tlb *t = run->state;

	if (t) {
		buffer_unmap(&t->base.buffer);
		buffer_unmap(&t->huge.buffer);
	}
	free(t);
}

static const struct param params[] = {
	{"span", PARAM_SIZE, "64M", 64 << 10, 1ull << 30, NULL,
	 "bytes whose pages are visited, once with base and once with huge pages"},
	{0},
};

static const struct figure figures[] = {
	{"base_ns", "ns", "lower", "median", "a load with base pages"},
	{"huge_ns", "ns", "lower", "median", "the same load with huge pages"},
	{0},
};

const struct benchmark memory_tlb = {
	.id = "memory.tlb",
	.summary = "what translating an address adds to a load that touches a page of its own",
	.unit = "ns",
	.better = "lower",
	.counted = "a dependent load with base pages, less the same with huge pages",
	.method = "follows pointers from page to page in random order, one load each, at a line in "
		  "the page that is as good as random; in two buffers of one process, with base "
		  "pages (4 KiB as a rule) and with huge pages, in turns, of which the quickest of "
		  "four counts; the difference is what the TLB's misses cost. Measure several spans: span=256K..256M",
	.pitfalls = "where the first-level TLB reaches over the span there is nothing to see, and the "
		    "value is noise around zero; page tables that fit the cache are walked fast, "
		    "so the cost grows with the span; lines of huge pages lie evenly in the sets of "
		    "a cache, those of base pages do not always, which the difference contains",
	.not_measured = "translations that overlap, as independent loads have; faults; the TLB of "
			"instructions",
	.reference = "multichase -s 4160 -T SPAN: within 20 % of base_ns, with -H of huge_ns; the "
		"difference of two processes varies with the physical pages that each is given; "
		"tinymembench prints such a pair, too; memory.latency with pages=4k and "
		"pages=huge visits every line",
	.params = params,
	.figures = figures,
	.setup = setup,
	.batch = batch,
	.value = value,
	.describe = describe,
	.detail = detail,
	.teardown = teardown,
};
