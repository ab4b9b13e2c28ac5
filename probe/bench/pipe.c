/* pipe.latency. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/pingpong.h"
#include "core/clock.h"

static bool read_all(int fd, char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = read(fd, data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

/* A message of at most PIPE_BUF bytes goes in whole. */
static bool write_message(int fd, const char *data, size_t size)
{
	ssize_t n;

	do
		n = write(fd, data, size);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

static void answer(struct partner *p, void *context)
{
	struct pingpong *pp = context;

	for (uint64_t i = 0; read_all(p->to[0], pp->data, pp->message); i++) {
		if (pp->unpinned && i % LOOK_EVERY == 0)
			partner_note_self(p);
		if (!write_message(p->from[1], pp->data, pp->message))
			return;
	}
}

int pingpong_setup(struct run *run, size_t message)
{
	struct pingpong *p = calloc(1, sizeof(*p));

	run->state = p;
	if (!p)
		return json_error(1, ENOMEM, "%s: no memory", run->benchmark->id);
	p->message = message;
	p->unpinned = run->place.cpu < 0;
	return partner_start(&p->partner, run, answer, p);
}

static int partner_lost(const struct run *run)
{
	return json_error(1, EPIPE, "%s: the other process went away: it was killed, or its CPU "
				    "was taken away", run->benchmark->id);
}

int pingpong_batch(struct run *run, uint64_t iterations)
{
	struct pingpong *p = run->state;
	int to = p->partner.to[1], from = p->partner.from[0];
	uint64_t begin = clock_ns();

	for (uint64_t i = 0; i < iterations; i++) {
		if (!write_message(to, p->data, p->message) || !read_all(from, p->data, p->message))
			return partner_lost(run);
		if (p->unpinned && i % LOOK_EVERY == 0)
			partner_look(&p->partner);
	}
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

int pingpong_overhead(struct run *run, uint64_t iterations, double *ns)
{
	struct pingpong *p = run->state;
	enum { PARTS = 4 };
	uint64_t part = iterations / PARTS + 1;
	bool all_well = true;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return json_error(1, errno, "%s: cannot make a pipe", run->benchmark->id);
	*ns = INFINITY;
	for (int i = 0; i < PARTS && all_well; i++) {
		uint64_t begin = clock_ns();
		for (uint64_t k = 0; k < part && all_well; k++)
			all_well = write_message(ends[1], p->data, p->message) &&
				   read_all(ends[0], p->data, p->message);
		*ns = fmin(*ns, (double)(clock_ns() - begin) / (double)part);
	}
	close(ends[0]);
	close(ends[1]);
	return all_well ? 0 : json_error(1, EIO, "%s: a pipe failed", run->benchmark->id);
}

void pingpong_detail(const struct run *run, struct json *j)
{
	struct pingpong *p = run->state;

	partner_describe(&p->partner, j);
}

void pingpong_teardown(struct run *run)
{
	struct pingpong *p = run->state;

	if (p)
		partner_stop(&p->partner);
	free(p);
}

static int setup_latency(struct run *run)
{
	return pingpong_setup(run, (size_t)arg_number(&run->args, "message"));
}

static const struct param latency_params[] = {
	{"message", PARAM_SIZE, "4", 1, MESSAGE_MAX, NULL, "bytes sent each way"},
	{"place", PARAM_CHOICE, "same", 0, 0, place_choices, place_summary},
	{0},
};

const struct benchmark pipe_latency = {
	.id = "pipe.latency",
	.summary = "how long a message takes through a pipe to another process and back",
	.unit = "ns",
	.better = "lower",
	.counted = "a round trip: two writes, two reads, two switches or wake-ups",
	.method = "two processes and two pipes; each reads before it writes",
	.pitfalls = "placement: unpinned, the value is bimodal, up to ten times apart; on "
		    "different CPUs it contains leaving an idle state, which depends on cpuidle",
	.not_measured = "the switch alone (os.context_switch); messages that queue; sockets, which "
			"take about twice as long",
	.reference = "perf bench sched pipe pinned to one CPU, lat_pipe pinned: within 5 %",
	.params = latency_params,
	.switches = true,
	.setup = setup_latency,
	.batch = pingpong_batch,
	.value = value_ns_per_iteration,
	.detail = pingpong_detail,
	.teardown = pingpong_teardown,
};
