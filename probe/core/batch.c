/* The sampling protocol: pin, set up, warm, calibrate once, freeze, measure batch by batch.
 * See batch.h; the reasons are those of docs/explanation/method.md. */
#include "core/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/counters.h"
#include "core/evidence.h"
#include "core/files.h"
#include "core/host.h"
#include "core/quota.h"

const struct param common_params[] = {
	{"cpu", PARAM_INTEGER, "auto", 0, 1023, NULL,
	 "CPU to measure on; auto: the fastest, of equals the highest-numbered"},
	{"batches", PARAM_INTEGER, "21", 1, 100000, NULL, "batches to measure in this process"},
	{"batch_ms", PARAM_INTEGER, "5", 1, 10000, NULL,
	 "a batch lasts at least this long in milliseconds, and at least 1000 timer steps"},
	{"warm_ms", PARAM_INTEGER, "2000", 0, 60000, NULL,
	 "longest time in milliseconds to keep the CPU busy until its clock is steady; 0: measure "
	 "at once"},
	{"counters", PARAM_CHOICE, "auto", 0, 0, "auto on off",
	 "perf counters around each batch, of all its processes, a few hardware counters at a time "
	 "in turn; auto: on unless counting would slow the benchmark"},
	{"paced", PARAM_INTEGER, "0", 0, 1, NULL,
	 "1: wait for a newline on standard input after each sample"},
	{"marker", PARAM_TEXT, "", 0, 200, NULL,
	 "file that takes a line at the begin and the end of each batch: the trace_marker of a trace "
	 "that is being recorded; empty: none"},
	{0},
};

double value_ns_per_iteration(const struct run *run)
{
	return (double)run->elapsed_ns / (double)run->iterations;
}

void figures_describe(const struct figure *figures, struct json *j)
{
	json_open(j, "figures", '[');
	for (const struct figure *f = figures; f && f->key; f++) {
		json_open(j, NULL, '{');
		json_string(j, "key", f->key);
		json_string(j, "unit", f->unit);
		json_string(j, "better", f->better);
		json_string(j, "pool", f->pool);
		json_string(j, "summary", f->summary);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void run_caveat(struct run *run, const char *sentence)
{
	if (!sentence)
		return;
	for (int i = 0; i < run->caveat_count; i++)
		if (strcmp(run->caveats[i], sentence) == 0)
			return;
	if (run->caveat_count == CAVEATS_MAX)
		abort();
	run->caveats[run->caveat_count++] = sentence;
}

/* Times a batch of n iterations, without the time that it waited for the CPU where `alone`: the
 * turns of a neighbour are longer than a batch, and one that is frozen too short for them falls
 * between two, as do all others of its process. */
static int time_batch(struct run *run, uint64_t n, bool alone, uint64_t *ns)
{
	int64_t before = alone ? evidence_wait_ns() : -1;
	int status = run->benchmark->batch(run, n);
	int64_t waited = before < 0 ? 0 : evidence_wait_ns() - before;

	*ns = run->elapsed_ns;
	if (waited > 0 && (uint64_t)waited < *ns) /* else much of it was beside what is timed */
		*ns -= (uint64_t)waited;
	return status;
}

/* One that seems long enough to decide by is timed again, and the shorter time counts: first
 * touches and interrupts lengthen a try. */
static int try_batch(struct run *run, uint64_t n, bool alone, uint64_t decisive_ns, uint64_t *ns)
{
	uint64_t again;
	int status = time_batch(run, n, alone, ns);

	if (status || *ns < decisive_ns)
		return status;
	status = time_batch(run, n, alone, &again);
	if (again < *ns)
		*ns = again;
	return status;
}

/* A quota takes the CPU away for the rest of each of its periods. Batches shorter than a period
 * would mostly fall between two such gaps, and their median would not know of the quota. Under a
 * short period the gaps are farther apart than it, as they begin at a tick or the end of a slice
 * of 5 ms only (kernel/sched/fair.c). */
enum { TICKS_AND_SLICES_NS = 100000000 };

static uint64_t least_under_quota(struct run *run)
{
	struct quota quota;

	if (!quota_read(&quota) || quota.cpus >= (double)sysconf(_SC_NPROCESSORS_ONLN))
		return 0;
	run_caveat(run, "a CPU quota is in force: batches last longer than its periods, so that "
			"the value holds the time that the quota takes");
	return 2 * quota.period_ns + TICKS_AND_SLICES_NS;
}

/* Doubles until a batch is nearly long enough, then scales. From here on the size is frozen: a
 * batch that is resized while measuring (lmbench) never converges when the rate is bimodal. */
static int calibrate(struct run *run)
{
	uint64_t wanted = arg_number(&run->args, "batch_ms") * 1000000u;
	uint64_t floor = clock_timer()->resolution_ns * 1000u;
	uint64_t n = 1;
	enum { TRIES = 4 };

	uint64_t least = least_under_quota(run);
	const struct benchmark *b = run->benchmark;
	/* Otherwise it waits for what it measures, or its batches hold what a quota takes. */
	bool alone = !least && !b->switches && !b->blocks && !b->bystander;
	if (run->exact_iterations) {
		int status = run->benchmark->batch(run, 1); /* for the first touches */
		run->iterations = run->exact_iterations;
		return status;
	}
	if (wanted < floor)
		wanted = floor;
	if (wanted < least)
		wanted = least;
	for (int tries = 0; tries < TRIES;) {
		uint64_t ns;
		if (run->most_iterations && n >= run->most_iterations) {
			n = run->most_iterations; /* counts bytes to a cap, say: not even tried out */
			break;
		}
		int status = try_batch(run, n, alone, wanted / 4, &ns);
		if (status)
			return status;
		if (ns >= wanted)
			break;
		if (ns < wanted / 4) {
			n *= 2;
			continue;
		}
		n = (uint64_t)((double)n * 1.05 * (double)wanted / (double)ns) + 1;
		tries++;
	}
	run->iterations = run->most_iterations && n > run->most_iterations ? run->most_iterations : n;
	return 0;
}

static void send_begin(struct run *run, struct json *j, const struct counters *counters)
{
	const struct benchmark *b = run->benchmark;
	double hz = clock_cpu_hz();

	json_begin(j, "begin");
	json_string(j, "benchmark", b->id);
	args_describe(&run->args, j, "params");
	json_string(j, "unit", run->unit ? run->unit : b->unit);
	json_string(j, "better", b->better);
	json_string(j, "counted", run->counted ? run->counted : b->counted);
	json_unsigned(j, "iterations", run->iterations);
	json_unsigned(j, "batches", arg_number(&run->args, "batches"));
	if (run->place.mode)
		json_string(j, "place", run->place.mode);
	if (run->place.cpu >= 0)
		json_signed(j, "cpu", run->place.cpu);
	else
		json_na(j, "cpu", "not pinned");
	if (run->place.partner >= 0)
		json_signed(j, "partner_cpu", run->place.partner);
	else
		json_na(j, "partner_cpu", run->place.mode ? "not pinned" : "one process only");
	if (hz > 0)
		json_number(j, "clock_hz", hz);
	else
		json_na(j, "clock_hz", "instructions take no fixed time here (emulation?)");
	json_string(j, "counters_scope", counters->scope);
	figures_describe(b->figures, j);
	if (b->describe)
		b->describe(run, j);
	json_open(j, "caveats", '[');
	for (int i = 0; i < run->caveat_count; i++)
		json_string(j, NULL, run->caveats[i]);
	json_close(j, ']');
}

/* Waits for the host to have the sample. End of input means that nobody waits for more. */
static bool acknowledged(void)
{
	char c;

	while (file_read_byte(STDIN_FILENO, &c) > 0)
		if (c == '\n')
			return true;
	return false;
}

/* Outside of what is timed and of its evidence. Not held open: a trace whose marker is in use could
 * not be put away. One that has ended meanwhile takes no line. */
static void mark(const struct run *run, const char *what, uint64_t index)
{
	const char *path = arg_text(&run->args, "marker");
	char line[96];
	int fd, length;

	if (!path[0])
		return;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	length = snprintf(line, sizeof(line), "benchvise: %s %s batch %llu\n", what,
			  run->benchmark->id, (unsigned long long)index);
	if (fd < 0)
		return;
	while (write(fd, line, (size_t)length) < 0 && errno == EINTR)
		continue;
	close(fd);
}

static int measure_batch(struct run *run, struct json *j, struct counters *counters,
			 uint64_t index)
{
	const struct benchmark *b = run->benchmark;
	struct sample_flags kind = {.pinned = run->place.cpu >= 0,
				    .loads_others = b->loads_others || run->loads_others,
				    .bystander = b->bystander,
				    .switches = b->switches,
				    .faults = b->faults,
				    .blocks = b->blocks};
	struct evidence before, after;

	/* While a sample was stored the CPU may have slept and its clock gone down. */
	clock_warm(run->place.cpu, (unsigned)arg_number(&run->args, "warm_ms"));
	mark(run, "begin", index);
	evidence_before(&before, run->place.cpu, run->place.partner);
	counters_start(counters, index);
	int status = b->batch(run, run->iterations);
	counters_stop(counters);
	evidence_after(&after, run->place.cpu, run->place.partner);
	mark(run, "end", index);
	if (status)
		return status;

	json_begin(j, "sample");
	json_unsigned(j, "index", index);
	json_number(j, "value", b->value(run));
	json_unsigned(j, "start_ns", before.time_ns);
	json_unsigned(j, "elapsed_ns", run->elapsed_ns);
	json_unsigned(j, "iterations", run->iterations);
	evidence_describe(&before, &after, run->elapsed_ns, kind, j);
	counters_describe(counters, j);
	json_open(j, "detail", '{');
	if (b->detail)
		b->detail(run, j);
	json_close(j, '}');
	return json_send(j) < 0 ? 1 : 0;
}

static const char *why_no_counters(const struct run *run)
{
	if (arg_is(&run->args, "counters", "off"))
		return "switched off";
	if (arg_is(&run->args, "counters", "auto") &&
	    (run->benchmark->switches || run->benchmark->blocks))
		return "off by default here, as counting would add to each context switch: ask "
		       "with counters=on";
	if (arg_is(&run->args, "counters", "auto") && run->benchmark->faults)
		return "off by default here, as counting would add to each page fault: ask with "
		       "counters=on";
	return NULL;
}

static int measure(struct run *run, struct json *j, struct counters *counters)
{
	uint64_t batches = arg_number(&run->args, "batches");
	bool paced = arg_number(&run->args, "paced") != 0;
	int status;

	clock_warm(run->place.cpu, (unsigned)arg_number(&run->args, "warm_ms"));
	status = calibrate(run);
	if (status)
		return status;
	send_begin(run, j, counters);
	if (json_send(j) < 0)
		return 1;
	for (uint64_t i = 0; i < batches && status == 0; i++) {
		status = measure_batch(run, j, counters, i);
		if (status == 0 && paced && !acknowledged())
			status = json_error(1, EPIPE, "%s: standard input ended before sample %llu "
					    "was acknowledged: the host went away",
					    run->benchmark->id, (unsigned long long)i);
	}
	if (status)
		return status;
	json_begin(j, "end");
	json_unsigned(j, "batches", batches);
	return json_send(j) < 0 ? 1 : 0;
}

/* NULL: the benchmark has one end only. */
static const char *place_mode(const struct benchmark *b, const struct args *args)
{
	for (const struct param *p = b->params; p && p->name; p++)
		if (strcmp(p->name, "place") == 0)
			return arg_text(args, "place");
	return NULL;
}

static int set_up_and_measure(struct run *run, struct json *j)
{
	const struct benchmark *b = run->benchmark;
	struct counters counters;
	int status;

	host_describe(j, run->place.cpu);
	if (json_send(j) < 0)
		return 1;
	/* before setup, which may fork: only children of a counted process are counted too */
	counters_open(&counters, why_no_counters(run));
	status = b->setup(run);
	if (status == 0)
		status = measure(run, j, &counters);
	if (b->teardown)
		b->teardown(run);
	counters_close(&counters);
	return status;
}

int batch_run(const struct benchmark *benchmark, int argc, char *const argv[])
{
	struct run run = {.benchmark = benchmark};
	struct json j = {0};
	int status;

	args_begin(&run.args, common_params, benchmark->params);
	for (const struct initial *i = benchmark->initials; i && i->name; i++)
		args_default(&run.args, i->name, i->value);
	status = args_parse(&run.args, benchmark->id, argc, argv);
	if (status == 0)
		status = place_choose(&run.place, benchmark->id, arg_number(&run.args, "cpu"),
				      place_mode(benchmark, &run.args));
	if (status == 0)
		status = set_up_and_measure(&run, &j);
	free(j.text);
	return status;
}
