/* os.context_switch_grid: switches by number and size of processes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/ring.h"
#include "core/buffer.h"
#include "core/clock.h"

struct grid {
	struct ring ring;
	double overhead_ns;
	const char *not_dropped; /* why the page cache was left alone, NULL: it was dropped */
};

/* Clean pages only, so what is dirty is written first. Nothing is lost, but all that runs beside
 * has to read its files again. */
static const char *drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return errno == ENOENT ? "no /proc/sys/vm/drop_caches"
				       : "not permitted: only root may write "
					 "/proc/sys/vm/drop_caches";
	sync();
	done = write(fd, "3", 1) == 1;
	close(fd);
	return done ? NULL : "the kernel refused to drop its caches";
}

static int check_memory(const struct run *run, const struct ring *r)
{
	/* stacks, page tables and the like of a process, seen to be less */
	enum { EACH = 128 << 10 };
	int64_t available = memory_available();

	if (available < 0 ||
	    r->processes * ((uint64_t)r->size + EACH) < (uint64_t)available / 10 * 9)
		return 0;
	return json_error(77, ENOMEM, "%s: %u processes of size=%s need more memory than can be "
				      "had: choose fewer, or a smaller size", run->benchmark->id,
			  r->processes, arg_text(&run->args, "size"));
}

static int setup_grid(struct run *run)
{
	struct grid *g = calloc(1, sizeof(*g));
	unsigned started;
	int status, error;

	run->state = g;
	if (!g)
		return json_error(1, ENOMEM, "%s: no memory", run->benchmark->id);
	g->ring.out = g->ring.in = -1;
	g->ring.processes = (unsigned)arg_number(&run->args, "processes");
	g->ring.size = (size_t)arg_number(&run->args, "size");
	g->ring.random = arg_is(&run->args, "order", "random");
	if (g->ring.random && g->ring.size % RING_LINE)
		return json_error(2, EINVAL, "%s: size=%s is not a multiple of %d, the line that "
					     "order=random goes by", run->benchmark->id,
				  arg_text(&run->args, "size"), RING_LINE);
	status = check_memory(run, &g->ring);
	if (status)
		return status;
	run->place.partner = run->place.cpu; /* that is where all of them are */
	g->not_dropped = arg_is(&run->args, "drop", "no") ? "not asked for: drop=no"
							  : drop_caches();
	error = ring_start(&g->ring, &started);
	if (error == 0)
		return 0;
	return json_error(77, -error, "%s: the ring does not run, with %u of %u processes started: "
				      "raise the limits on processes and open files (ulimit -u, "
				      "-n), free memory, or choose fewer", run->benchmark->id,
			  started, g->ring.processes);
}

static double switch_ns(const struct grid *g, uint64_t elapsed_ns, uint64_t rounds)
{
	return (double)elapsed_ns / ((double)rounds * g->ring.processes) - g->overhead_ns;
}

static int batch_grid(struct run *run, uint64_t iterations)
{
	struct grid *g = run->state;
	/* a quarter as many passes as are timed, but so many that no timer's step shows */
	uint64_t passes = iterations * g->ring.processes / 16;
	enum { TRIES = 4, LEAST_PASSES = 32 };

	if (passes < LEAST_PASSES)
		passes = LEAST_PASSES;
	for (int i = 0; i < TRIES; i++) {
		uint64_t begin = clock_ns();
		if (!ring_pass(&g->ring, iterations))
			return json_error(1, EPIPE, "%s: the token was lost: a process of the ring "
						    "was killed", run->benchmark->id);
		run->elapsed_ns = clock_ns() - begin;
		g->overhead_ns = ring_overhead(&g->ring, passes);
		if (g->overhead_ns < 0)
			return json_error(77, errno, "%s: cannot make a pipe: raise the limit on "
						     "open files (ulimit -n)", run->benchmark->id);
		if (switch_ns(g, run->elapsed_ns, iterations) > 0)
			break;
	}
	double ns = switch_ns(g, run->elapsed_ns, iterations);
	if (ns <= 0)
		return json_error(77, 0, "%s: no switch can be told at size=%s: handing on the "
					 "token takes no longer through %u processes than in one. "
					 "Choose a smaller size", run->benchmark->id,
				  arg_text(&run->args, "size"), g->ring.processes);
	/* only calibration comes before the caveats of the series; its long tries are sound */
	if (run->iterations == 0 && run->elapsed_ns > 1000000 && ns < g->overhead_ns / 3)
		run_caveat(run, "a small difference of large numbers: more than three quarters of "
				"the time were the pipe and the reading of memory that is in the "
				"cache, and were subtracted (detail.overhead_ns)");
	return 0;
}

static double value_grid(const struct run *run)
{
	return switch_ns(run->state, run->elapsed_ns, run->iterations);
}

static void describe_grid(const struct run *run, struct json *j)
{
	const struct grid *g = run->state;

	if (g->not_dropped)
		json_na(j, "dropped", g->not_dropped);
	else
		json_string(j, "dropped", "page cache, dentries and inodes");
}

static void detail_grid(const struct run *run, struct json *j)
{
	const struct grid *g = run->state;

	json_number(j, "overhead_ns", g->overhead_ns);
}

static void teardown_grid(struct run *run)
{
	struct grid *g = run->state;

	if (g)
		ring_stop(&g->ring);
	free(g);
}

static const struct param grid_params[] = {
	{"processes", PARAM_INTEGER, "2", 2, RING_MAX, NULL, "processes in the ring"},
	{"size", PARAM_SIZE, "0", 0, 16 << 20, NULL,
	 "bytes that each process reads whenever it comes to run"},
	{"order", PARAM_CHOICE, "sequential", 0, 0, "sequential random",
	 "sequential: every word in order, as lat_ctx; random: a chain of pointers through every "
	 "line of 64 bytes, which no prefetcher foresees"},
	{"drop", PARAM_CHOICE, "no", 0, 0, "no auto",
	 "auto: write and drop the page cache, dentries and inodes of the whole system first, where "
	 "root may (begin.dropped says whether it was done); that slows what runs beside until its "
	 "files are read again"},
	{0},
};

static const struct initial grid_initials[] = {
	{"batches", "11"},
	{NULL, NULL},
};

static const struct figure grid_figures[] = {
	{"overhead_ns", "ns", "lower", "median",
	 "subtracted from each switch: the pipe, and the reading of the memory from the cache"},
	{NULL, NULL, NULL, NULL, NULL},
};

const struct benchmark os_context_switch_grid = {
	.id = "os.context_switch_grid",
	.summary = "how long a switch takes when several processes have to refill the caches",
	.unit = "ns",
	.better = "lower",
	.counted = "a switch with the refilling of caches and TLB, without the pipe and the "
		   "reading itself",
	.method = "a ring of processes on one CPU hands a token on through pipes; whoever has it "
		  "goes through its own memory, written by itself, in base pages. A pass, less "
		  "what the same pipe and the same reading take in one process with warm caches "
		  "(the quickest of four measurements after each batch). The token counts its "
		  "passes, and the count is checked",
	.pitfalls = "a knee shows where processes x size passes the size of a cache, less what "
		    "kernel, stacks and pipes need of it; prefetching hides much or all of the "
		    "refill when the memory is read in order (order=random shows it); where a single process does not fit a cache, "
		    "that cache's misses are in what is subtracted; physical pages are another "
		    "draw in each process of the benchmark, so look at several",
	.not_measured = "switches between CPUs (os.context_switch with another place); writing, "
			"which would have to write back as well; the CPU's caches are not flushed: "
			"drop is about the kernel's caches of files",
	.reference = "lat_ctx -s SIZE PROCESSES, pinned: within 20 %",
	.params = grid_params,
	.initials = grid_initials,
	.figures = grid_figures,
	.switches = true,
	.setup = setup_grid,
	.batch = batch_grid,
	.value = value_grid,
	.describe = describe_grid,
	.detail = detail_grid,
	.teardown = teardown_grid,
};
