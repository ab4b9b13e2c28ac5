/* cpu.clock and cpu.sustained: the clock that CPUs really run at, idle neighbours or none. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "core/clock.h"
#include "core/evidence.h"
#include "core/files.h"
#include "core/team.h"

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* An interrupt lengthens one chain of one reading, and its time is not the clock's. Sorts them. */
static double median(double *readings, int count)
{
	qsort(readings, (size_t)count, sizeof(*readings), ascending);
	return readings[count / 2];
}

static double chain_hz(const struct chain_time *time)
{
	return time->cycles / ((double)time->long_ns - (double)time->short_ns) * 1e9;
}

static int check_clock(const struct run *run)
{
	enum { TRIES = 20 };

	for (int i = 0; i < TRIES; i++)
		if (clock_cpu_hz() > 0)
			return 0;
	return json_error(77, 0, "%s: instructions take no fixed time here, so there is no clock "
				 "to be told (emulation?)", run->benchmark->id);
}

static void describe_limit(struct json *j, const char *key, const char *file, int cpu)
{
	int64_t khz;

	if (file_numberf(&khz, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file) == 0)
		json_signed(j, key, khz * 1000);
	else
		json_na(j, key, "no cpufreq for this CPU");
}

/* What the system says of the clock that is measured. */
static void describe_clock(const struct run *run, struct json *j)
{
	describe_limit(j, "advertised_hz", "cpuinfo_max_freq", run->place.cpu);
	describe_limit(j, "limit_hz", "scaling_max_freq", run->place.cpu);
}

/* --- cpu.clock -------------------------------------------------------------------------------- */

/* Readings of a batch; a batch of more rounds puts several into each. */
enum { READINGS = 512 };

struct readings {
	double hz[READINGS];
	double median;
};

static int setup_clock(struct run *run)
{
	run->state = calloc(1, sizeof(struct readings));
	if (!run->state)
		return json_error(1, ENOMEM, "cpu.clock: no memory");
	return check_clock(run);
}

static int batch_clock(struct run *run, uint64_t iterations)
{
	struct readings *r = run->state;
	uint64_t each = (iterations + READINGS - 1) / READINGS;
	int count = 0;

	run->elapsed_ns = 0;
	for (uint64_t left = iterations; left > 0;) {
		struct chain_time time = {0};
		uint64_t rounds = left < each ? left : each;
		clock_chain(rounds, &time);
		r->hz[count++] = chain_hz(&time);
		run->elapsed_ns += time.short_ns + time.long_ns;
		left -= rounds;
	}
	r->median = median(r->hz, count);
	return 0;
}

static double value_clock(const struct run *run)
{
	const struct readings *r = run->state;

	return r->median;
}

static void teardown_clock(struct run *run)
{
	free(run->state);
}

const struct benchmark cpu_clock = {
	.id = "cpu.clock",
	.summary = "the clock that the CPU really runs at, whatever it advertises",
	.unit = "Hz",
	.better = "higher",
	.counted = "cycles of a chain of dependent one-cycle instructions",
	.method = "two loops of 64 and 320 dependent XORs, each timed; the difference of their "
		  "times holds 256 cycles a turn and cancels loop and timer; the median of the "
		  "batch's readings, so that interrupts do not count as a slower clock. cpu=each "
		  "measures every CPU",
	.pitfalls = "a governor that ramps up (the CPU is kept busy until its clock is steady); "
		    "heat (each sample of every benchmark carries the clock before and after); on "
		    "an emulated CPU the value is the speed of the emulator",
	.not_measured = "how much work a cycle does; the clocks of memory, bus or other CPUs; what "
			"is lost to interrupts and to a hypervisor; the clock that is left when all "
			"CPUs work (cpu.sustained)",
	.reference = "mhz (W. Tarreau): within 1 %",
	.setup = setup_clock,
	.batch = batch_clock,
	.value = value_clock,
	.describe = describe_clock,
	.teardown = teardown_clock,
};

/* --- cpu.sustained ---------------------------------------------------------------------------- */

/* Integers and vectors of doubles, which every architecture computes with the widest units that it
 * always has: eight chains of each at once, so that those units are never idle, and chaotic ones
 * (the logistic map, a generator of random numbers), so that their bits never settle. */
typedef double lanes __attribute__((vector_size(16)));

enum { CHAINS = 8, ROUNDS = 20000 };

struct chains {
	lanes x[CHAINS];
	uint64_t n[CHAINS];
};

struct load {
	struct chains chains;
	double hz[READINGS];
	int count;
	double median;
};

struct sustained {
	struct team team;
	struct load *loads; /* one a member */
	uint64_t slices;
	uint64_t every; /* slices from one reading to the next */
	_Atomic bool over;
	int64_t throttled; /* events in the last batch; -1: not known */
};

static void work(struct load *l)
{
	struct chains c = l->chains; /* a copy of which the compiler makes registers */

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < CHAINS; i++) {
			c.x[i] = 3.9 * c.x[i] * (1 - c.x[i]);
			c.n[i] = (c.n[i] * 6364136223846793005u) ^ (c.n[i] >> 29);
		}
	l->chains = c;
}

/* A reading of which the short chain was interrupted is none: the long one has five times the
 * steps. */
static void read_clock(struct load *l)
{
	struct chain_time time = {0};

	clock_chain(1, &time);
	if (l->count < READINGS && time.long_ns > 3 * time.short_ns)
		l->hz[l->count++] = chain_hz(&time);
}

/* The first member works off its slices, the others keep their CPUs busy until it has. */
static void load(int member, void *context)
{
	enum { LEAST = 5, TRIES = 50 };
	struct sustained *s = context;
	struct load *l = &s->loads[member];
	bool over = false;

	l->count = 0;
	for (uint64_t i = 0; !over; i++) {
		work(l);
		if (i % s->every == 0)
			read_clock(l);
		over = member ? atomic_load(&s->over) : i + 1 >= s->slices;
	}
	if (member == 0)
		atomic_store(&s->over, true);
	for (int i = 0; i < TRIES && l->count < LEAST; i++) /* of a short batch */
		read_clock(l);
}

/* How often the CPUs were slowed down because they were hot, since boot (Intel). */
static int64_t throttle_events(const struct sustained *s)
{
	int64_t sum = -1, n;

	for (int i = 0; i < s->team.count; i++)
		if (file_numberf(&n, "/sys/devices/system/cpu/cpu%d/thermal_throttle/"
				 "core_throttle_count", s->team.members[i].cpu) == 0)
			sum = (sum < 0 ? 0 : sum) + n;
	return sum;
}

/* By how many steps all CPU coolers hold the clocks down now (boards with a device tree). */
static int64_t cooling_steps(void)
{
	DIR *dir = opendir("/sys/class/thermal");
	struct dirent *entry;
	int64_t sum = -1, n;

	while (dir && (entry = readdir(dir))) {
		char path[320], type[64];
		if (strncmp(entry->d_name, "cooling_device", 14) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/class/thermal/%s/type", entry->d_name);
		if (file_read(path, type, sizeof(type)) < 0 ||
		    (!strstr(type, "cpu") && !strstr(type, "Processor")))
			continue; /* a fan that turns is no throttling */
		if (file_numberf(&n, "/sys/class/thermal/%s/cur_state", entry->d_name) == 0)
			sum = (sum < 0 ? 0 : sum) + n;
	}
	if (dir)
		closedir(dir);
	return sum;
}

static int setup_sustained(struct run *run)
{
	struct sustained *s = calloc(1, sizeof(*s));
	int status;

	run->state = s;
	if (!s)
		return json_error(1, ENOMEM, "cpu.sustained: no memory");
	status = check_clock(run); /* also before threads begin: sizes the chains once */
	if (status == 0)
		status = team_start(&s->team, run, arg_number(&run->args, "threads"));
	if (status)
		return status;
	s->loads = calloc((size_t)s->team.count, sizeof(*s->loads));
	if (!s->loads)
		return json_error(1, ENOMEM, "cpu.sustained: no memory");
	for (int i = 0; i < s->team.count; i++)
		for (int k = 0; k < CHAINS; k++) {
			s->loads[i].chains.n[k] = (uint64_t)(i + k + 1) * 0x9e3779b97f4a7c15u;
			s->loads[i].chains.x[k] = (lanes){0.1 + 0.1 * k, 0.15 + 0.1 * k};
		}
	return 0;
}

static int batch_sustained(struct run *run, uint64_t iterations)
{
	enum { ABOUT = READINGS / 4 }; /* readings of the first: a faster CPU takes more */
	struct sustained *s = run->state;
	int64_t before = throttle_events(s);

	s->slices = iterations;
	s->every = iterations / ABOUT + 1;
	atomic_store(&s->over, false);
	team_do(&s->team, load, s);
	run->elapsed_ns = team_ns(&s->team);
	s->throttled = before < 0 ? -1 : throttle_events(s) - before;
	for (int i = 0; i < s->team.count; i++) {
		if (s->loads[i].count == 0)
			return json_error(1, 0, "cpu.sustained: no clock could be told of CPU %d: "
						"other work disturbs every reading",
					  s->team.members[i].cpu);
		s->loads[i].median = median(s->loads[i].hz, s->loads[i].count);
	}
	return 0;
}

static double value_sustained(const struct run *run)
{
	const struct sustained *s = run->state;
	double sum = 0;

	for (int i = 0; i < s->team.count; i++)
		sum += s->loads[i].median;
	return sum / s->team.count;
}

static void describe_sustained(const struct run *run, struct json *j)
{
	const struct sustained *s = run->state;

	describe_clock(run, j);
	json_signed(j, "threads", s->team.count);
}

static void describe_count(struct json *j, const char *key, int64_t n, const char *reason)
{
	if (n >= 0)
		json_signed(j, key, n);
	else
		json_na(j, key, reason);
}

static void detail_sustained(const struct run *run, struct json *j)
{
	const struct sustained *s = run->state;
	int lowest = 0, highest = 0;
	int64_t millidegrees;

	for (int i = 1; i < s->team.count; i++) {
		if (s->loads[i].median < s->loads[lowest].median)
			lowest = i;
		if (s->loads[i].median > s->loads[highest].median)
			highest = i;
	}
	json_number(j, "lowest_hz", s->loads[lowest].median);
	json_signed(j, "lowest_cpu", s->team.members[lowest].cpu);
	json_number(j, "highest_hz", s->loads[highest].median);
	if (evidence_temperature(&millidegrees) == 0)
		json_number(j, "temperature", (double)millidegrees / 1000);
	else
		json_na(j, "temperature", "no thermal zone");
	describe_count(j, "throttle_events", s->throttled, "no thermal_throttle in sysfs");
	describe_count(j, "cooling_steps", cooling_steps(), "no cooling device for a CPU in sysfs");
}

static void teardown_sustained(struct run *run)
{
	struct sustained *s = run->state;

	if (!s)
		return;
	team_stop(&s->team);
	free(s->loads);
	free(s);
}

static const struct param sustained_params[] = {
	{"threads", PARAM_INTEGER, "auto", 1, 1024, NULL,
	 "CPUs under load, the measured one and then the fastest; auto: all that the process may "
	 "use"},
	{0},
};

/* Half a minute, in steps that a governor and a heat sink can follow; what comes before the first
 * batch must neither heat nor cool. */
static const struct initial sustained_initials[] = {
	{"batches", "30"},
	{"batch_ms", "1000"},
	{"warm_ms", "0"},
	{0},
};

static const struct figure sustained_figures[] = {
	{"lowest_hz", "Hz", "higher", "min", "clock of the slowest CPU (detail.lowest_cpu)"},
	{"highest_hz", "Hz", "higher", "max", "clock of the fastest CPU"},
	{"temperature", "degC", "lower", "max", "of the CPU's thermal zone, at the batch's end"},
	{"throttle_events", "events", "lower", "sum", "times that hardware slowed a hot CPU down"},
	{"cooling_steps", "steps", "lower", "max",
	 "by how many steps the kernel held the CPUs' clocks down, at the batch's end"},
	{0},
};

const struct benchmark cpu_sustained = {
	.id = "cpu.sustained",
	.summary = "the clock that the CPUs keep up while all of them work, and for how long",
	.unit = "Hz",
	.better = "higher",
	.counted = "cycles, the mean of all CPUs under load",
	.method = "a thread on each CPU computes with integers and vectors without pause and now and "
		  "then times the chains of cpu.clock between two slices of work; of each CPU the "
		  "median of a batch's readings counts. A batch lasts a second, so the samples in "
		  "order are the clock over time: a drift is heat, a power limit, or a fan",
	.pitfalls = "half a minute (batches=30) shows a power limit; a heat sink takes ten minutes "
		    "(--batches 600 --processes 1); between processes the board cools down, and "
		    "other series of a suite run then; a board that is hot already begins low; in "
		    "a closed case it is another value",
	.not_measured = "the hottest load there is: of vectors, only those that the architecture "
			"always has; work done in a cycle; throttling of memory or GPU",
	.reference = "mhz (W. Tarreau) on all CPUs at once: within 2 %",
	.params = sustained_params,
	.initials = sustained_initials,
	.figures = sustained_figures,
	.loads_others = true,
	.setup = setup_sustained,
	.batch = batch_sustained,
	.value = value_sustained,
	.describe = describe_sustained,
	.detail = detail_sustained,
	.teardown = teardown_sustained,
};
