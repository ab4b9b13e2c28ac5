/* os.context_switch. */
#include "bench/benchmarks.h"
#include "bench/pingpong.h"

static int setup_switch(struct run *run)
{
	if (run->place.partner != run->place.cpu)
		run_caveat(run, "not a context switch: the two processes are on different CPUs, so "
				"this is the time of a wake-up across CPUs");
	else if (run->place.cpu < 0)
		run_caveat(run, "the two processes are not pinned: on one CPU this is a context "
				"switch, on two a wake-up (detail.same_cpu tells the share)");
	return pingpong_setup(run, 1);
}

static int batch_switch(struct run *run, uint64_t iterations)
{
	struct pingpong *p = run->state;
	int status = pingpong_batch(run, iterations);

	if (status)
		return status;
	/* A quarter as many writes and reads in one process tell what the pipe alone costs. */
	return pingpong_overhead(run, iterations / 4 + 1, &p->overhead_ns);
}

static double value_switch(const struct run *run)
{
	const struct pingpong *p = run->state;

	/* A round trip holds two switches and two passes through a pipe. */
	return value_ns_per_iteration(run) / 2 - p->overhead_ns;
}

static void detail_switch(const struct run *run, struct json *j)
{
	const struct pingpong *p = run->state;

	json_number(j, "pipe_ns", p->overhead_ns);
	pingpong_detail(run, j);
}

static const struct param switch_params[] = {
	{"place", PARAM_CHOICE, "same", 0, 0, place_choices, place_summary},
	{0},
};

const struct benchmark os_context_switch = {
	.id = "os.context_switch",
	.summary = "how long the kernel takes from one process to the other",
	.unit = "ns",
	.better = "lower",
	.counted = "a switch, without the pipe that causes it",
	.method = "two processes wake each other with one byte through two pipes; half a round "
		  "trip, less what a write and a read of such a byte cost in one process (the "
		  "quickest of four measurements after each batch)",
	.pitfalls = "placement is the largest error of all: unpinned, the value is bimodal, up to "
		    "ten times apart; on two CPUs it is a wake-up and not a switch; waking the "
		    "sleeper is part of it",
	.not_measured = "refilling the caches of a large process (lat_ctx -s 16 and more); "
			"switches between threads of one process; switches under load",
	.reference = "lat_ctx -s 0 2 pinned: within 20 %",
	.params = switch_params,
	.switches = true,
	.setup = setup_switch,
	.batch = batch_switch,
	.value = value_switch,
	.detail = detail_switch,
	.teardown = pingpong_teardown,
};
