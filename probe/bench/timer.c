/* timer.wakeup and timer.clock. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/conditions.h"
#include "core/clock.h"
#include "core/histogram.h"
#include "core/partner.h"
#include "core/vdso.h"

/* --- timer.wakeup ---------------------------------------------------------------------------- */

struct wakeup {
	struct conditions conditions;
	struct histogram late;
	uint64_t interval_ns;
	uint64_t missed;
};

static int setup_wakeup(struct run *run)
{
	struct wakeup *w = calloc(1, sizeof(*w));

	run->state = w;
	if (!w)
		return json_error(1, ENOMEM, "timer.wakeup: no memory");
	w->interval_ns = arg_number(&run->args, "interval_us") * 1000;
	/* so that each process measures as many, however late the first tries were */
	run->exact_iterations = arg_number(&run->args, "batch_ms") * 1000000 / w->interval_ns;
	if (run->exact_iterations == 0)
		run->exact_iterations = 1;
	histogram_clear(&w->late);
	return conditions_setup(&w->conditions, run);
}

/* The schedule stands before the batch begins and does not wait for the sleeper: a wake-up that
 * overruns the next ones makes those late too, by as much as they truly are. A sleeper that skips
 * them, as cyclictest's does, hides the very time in which it was not served. */
static int sleep_by_schedule(struct wakeup *w, uint64_t iterations)
{
	uint64_t now = clock_ns();
	uint64_t due = now + w->interval_ns;

	for (uint64_t i = 0; i < iterations; i++, due += w->interval_ns) {
		struct timespec at = {
			.tv_sec = (time_t)(due / 1000000000u),
			.tv_nsec = (long)(due % 1000000000u),
		};
		int error;

		w->missed += now >= due;
		do
			error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		while (error == EINTR);
		if (error)
			return error;
		now = clock_ns();
		histogram_record(&w->late, now > due ? now - due : 0);
	}
	return 0;
}

static int batch_wakeup(struct run *run, uint64_t iterations)
{
	struct wakeup *w = run->state;
	int error, status = conditions_enter(&w->conditions, run);

	if (status)
		return status;
	histogram_clear(&w->late);
	w->missed = 0;
	uint64_t begin = clock_ns();
	error = sleep_by_schedule(w, iterations);
	run->elapsed_ns = clock_ns() - begin;
	conditions_leave(&w->conditions, run);
	if (error)
		return json_error(77, error, "timer.wakeup: clock_nanosleep does not work here");
	return 0;
}

static double value_wakeup(const struct run *run)
{
	const struct wakeup *w = run->state;

	return histogram_percentile(&w->late, 50);
}

static void describe_wakeup(const struct run *run, struct json *j)
{
	const struct wakeup *w = run->state;

	conditions_describe(&w->conditions, run, j);
}

static void detail_wakeup(const struct run *run, struct json *j)
{
	const struct wakeup *w = run->state;

	json_number(j, "p90", histogram_percentile(&w->late, 90));
	json_number(j, "p99", histogram_percentile(&w->late, 99));
	json_unsigned(j, "max", w->late.max);
	json_unsigned(j, "missed", w->missed);
	conditions_detail(&w->conditions, j);
	histogram_describe(&w->late, j, "histogram");
}

static void teardown_wakeup(struct run *run)
{
	struct wakeup *w = run->state;

	if (w)
		conditions_undo(&w->conditions);
	free(w);
}

static const struct param wakeup_params[] = {
	{"interval_us", PARAM_INTEGER, "1000", 10, 1000000, NULL,
	 "microseconds from one wake-up to the next: longer ones let the CPU sleep deeper"},
	CONDITION_PARAMS,
	{0},
};

/* Warming would end the sleep whose end is measured: the clock of a CPU that mostly sleeps is part
 * of the answer. */
static const struct initial wakeup_initials[] = {{"batch_ms", "200"}, {"warm_ms", "0"}, {0}};

static const struct figure wakeup_figures[] = {
	{"p90", "ns", "lower", "median", "nine of ten wake-ups of a batch are no later"},
	{"p99", "ns", "lower", "median", "99 of 100 wake-ups of a batch are no later"},
	{"max", "ns", "lower", "max", "the latest wake-up of all: it grows with the time measured"},
	{"missed", "", "", "sum",
	 "periods that had passed before their sleep began; each counts with its true lateness"},
	STOLEN_FIGURE,
	{0},
};

const struct benchmark timer_wakeup = {
	.id = "timer.wakeup",
	.summary = "how late a sleeping thread runs after its timer is due",
	.unit = "ns",
	.better = "lower",
	.counted = "a wake-up: from the time asked for to the first look at the clock; the median "
		   "of a batch",
	.method = "clock_nanosleep to absolute times of CLOCK_MONOTONIC, one interval_us after the "
		  "other, on one pinned CPU, with memory locked where that is allowed; every "
		  "wake-up goes into a histogram (detail.histogram), and those of all batches make "
		  "p99.9 and p99.99; the schedule never waits, so a wake-up that overruns others "
		  "makes these late, too",
	.pitfalls = "policy=other has a timer slack of 50 us, which is most of its value "
		    "(slack_ns=1 takes it away); deep idle states add their exit time "
		    "(dma_latency=zero removes it, and hides what an idle board does); in a virtual "
		    "machine the tail is the host's (see stolen_ns); the maximum grows with the "
		    "duration, so compare equal durations",
	.not_measured = "the time from an external event to a program (gpio.response); hard "
			"guarantees: what was not seen in this time may still happen; timers of "
			"other clocks, signals and timerfd",
	.reference = "cyclictest -a CPU -t1 -i 1000 -h 1000 -q: p50 within 10 % with its policy, its "
		"priority (-p) and its dma_latency=zero (--default-system: leave); the maximum in "
		"order of magnitude only",
	.params = wakeup_params,
	.initials = wakeup_initials,
	.figures = wakeup_figures,
	.switches = true,
	.setup = setup_wakeup,
	.batch = batch_wakeup,
	.value = value_wakeup,
	.describe = describe_wakeup,
	.detail = detail_wakeup,
	.teardown = teardown_wakeup,
};

/* --- timer.clock ----------------------------------------------------------------------------- */

/* What the kernel fills in: two 64-bit words, or two of 32 bits of an old 32-bit kernel. */
union reading {
	struct {
		int64_t seconds, ns;
	} wide;
	struct {
		int32_t seconds, ns;
	} narrow;
};

struct reader {
	clockid_t clock;
	int (*vdso)(clockid_t, union reading *); /* NULL: by system call */
	long call;
	bool narrow;
	bool by_kernel; /* the vDSO makes a system call itself */
	bool unknown;   /* which of the two */
	uint64_t step_ns;
};

static int read_clock(const struct reader *r, union reading *now)
{
	return r->vdso ? r->vdso(r->clock, now) : (int)syscall(r->call, r->clock, now);
}

static uint64_t read_ns(const struct reader *r)
{
	union reading now = {0};

	read_clock(r, &now);
	if (r->narrow)
		return (uint64_t)now.narrow.seconds * 1000000000u + (uint64_t)now.narrow.ns;
	return (uint64_t)now.wide.seconds * 1000000000u + (uint64_t)now.wide.ns;
}

static void find_vdso(struct reader *r)
{
	static const char *const names[] = {"__vdso_clock_gettime64", "__kernel_clock_gettime",
					    "__vdso_clock_gettime"};
	void *function = NULL;

	for (size_t i = 0; i < 3 && !function; i++) {
		function = vdso_function(names[i]);
		r->narrow = sizeof(long) == 4 && i > 0;
	}
	memcpy(&r->vdso, &function, sizeof(r->vdso));
}

static void find_call(struct reader *r)
{
	union reading now;

	r->vdso = NULL;
	r->narrow = false;
#ifdef SYS_clock_gettime64
	r->call = SYS_clock_gettime64; /* since Linux 5.1 */
	if (read_clock(r, &now) == 0 || errno != ENOSYS)
		return;
#endif
#ifdef SYS_clock_gettime32
	r->call = SYS_clock_gettime32;
	r->narrow = true;
#else
	r->call = SYS_clock_gettime;
	r->narrow = sizeof(long) == 4;
#endif
	(void)now;
}

/* Whether the vDSO answers by itself: in a process whose system calls all fail, but for its end. */
static void find_who_answers(struct reader *r)
{
	enum { ITSELF, KERNEL, UNKNOWN };
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(*rules), .filter = rules};
	int status = 0;
	pid_t pid = partner_fork();

	if (pid == 0) {
		union reading now;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
			_exit(UNKNOWN);
		syscall(SYS_exit, r->vdso(r->clock, &now) == 0 ? ITSELF : KERNEL);
	}
	r->unknown = pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		     WEXITSTATUS(status) == UNKNOWN;
	r->by_kernel = !r->unknown && WEXITSTATUS(status) == KERNEL;
}

static int setup_clock(struct run *run)
{
	static const struct {
		const char *name;
		clockid_t id;
	} clocks[] = {
		{"monotonic", CLOCK_MONOTONIC},
		{"raw", CLOCK_MONOTONIC_RAW},
		{"realtime", CLOCK_REALTIME},
		{"coarse", CLOCK_MONOTONIC_COARSE},
	};
	struct reader *r = calloc(1, sizeof(*r));
	union reading now;

	run->state = r;
	if (!r)
		return json_error(1, ENOMEM, "timer.clock: no memory");
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (arg_is(&run->args, "clock", clocks[i].name))
			r->clock = clocks[i].id;
	if (!arg_is(&run->args, "via", "call"))
		find_vdso(r);
	if (!r->vdso && arg_is(&run->args, "via", "vdso"))
		return json_error(77, ENOSYS, "timer.clock: this kernel gives programs no vDSO "
					      "that reads clocks: via=call is the only way here");
	if (r->vdso)
		find_who_answers(r);
	else
		find_call(r);
	if (read_clock(r, &now) != 0)
		return json_error(77, errno, "timer.clock: this kernel has no clock=%s",
				  arg_text(&run->args, "clock"));
	if (r->by_kernel)
		run_caveat(run, "the vDSO hands this clock on to the kernel here: each reading is "
				"a system call (its clock source cannot be read by programs)");
	return 0;
}

/* The smallest step seen, apart from the reading that is timed. A coarse clock moves once in some
 * milliseconds, and by more than one tick when this process did not run meanwhile. What was read
 * last is later than the end of the wait: whoever did not run until then has seen no step yet. */
static uint64_t smallest_step(const struct reader *r)
{
	enum { READS = 500, STEPS = 4, LONGEST_NS = 50000000 };
	uint64_t begin = clock_ns();
	uint64_t last = read_ns(r);
	uint64_t step = 0;
	int steps = 0;
	bool enough = false;

	for (int i = 1; !enough; i++) {
		enough = i >= READS && (steps >= STEPS || clock_ns() - begin >= LONGEST_NS);
		uint64_t now = read_ns(r);
		if (now > last && (step == 0 || now - last < step))
			step = now - last;
		steps += now > last;
		last = now;
	}
	return step;
}

static int batch_clock(struct run *run, uint64_t iterations)
{
	struct reader *r = run->state;
	union reading now;
	uint64_t begin = clock_ns();

	if (r->vdso)
		for (uint64_t n = iterations; n; n--)
			r->vdso(r->clock, &now);
	else
		for (uint64_t n = iterations; n; n--)
			syscall(r->call, r->clock, &now);
	run->elapsed_ns = clock_ns() - begin;
	r->step_ns = smallest_step(r);
	return 0;
}

static void describe_clock(const struct run *run, struct json *j)
{
	const struct reader *r = run->state;

	if (r->unknown)
		json_na(j, "answered_by", "cannot be told here: no seccomp");
	else
		json_string(j, "answered_by", r->vdso && !r->by_kernel ? "vdso" : "kernel");
}

static void detail_clock(const struct run *run, struct json *j)
{
	const struct reader *r = run->state;

	if (r->step_ns)
		json_unsigned(j, "step_ns", r->step_ns);
	else
		json_na(j, "step_ns", "the clock did not move in 50 ms");
}

static void teardown_clock(struct run *run)
{
	free(run->state);
}

static const struct param clock_params[] = {
	{"clock", PARAM_CHOICE, "monotonic", 0, 0, "monotonic raw realtime coarse",
	 "CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME or CLOCK_MONOTONIC_COARSE"},
	{"via", PARAM_CHOICE, "auto", 0, 0, "auto vdso call",
	 "vdso: the code that the kernel maps into programs for this; call: the system call; auto: "
	 "the vDSO where there is one, as C libraries do"},
	{0},
};

static const struct figure clock_figures[] = {
	{"step_ns", "ns", "lower", "min", "smallest step between two readings; it cannot be below what a reading takes"},
	{0},
};

const struct benchmark timer_clock = {
	.id = "timer.clock",
	.summary = "what it costs a program to read the time",
	.unit = "ns",
	.better = "lower",
	.counted = "a reading (clock_gettime)",
	.method = "the function of the vDSO, found in memory without the C library, or the system "
		  "call by its number, over and over; whether the vDSO answers by itself is tried "
		  "in a process whose system calls all fail (answered_by)",
	.pitfalls = "a clock source that programs cannot read (hpet, acpi_pm, jiffies, most of "
		    "early ARM) makes each reading a system call, ten times dearer, and every "
		    "time stamp in a program with it; ARMv6 has no vDSO for this",
	.not_measured = "how true the clock is; what a C library adds; timers (timer.wakeup)",
	.reference = "a loop of the C library's clock_gettime: within 10 %; perf trace -s shows the calls "
		"of a program that lacks the vDSO",
	.params = clock_params,
	.figures = clock_figures,
	.setup = setup_clock,
	.batch = batch_clock,
	.value = value_ns_per_iteration,
	.describe = describe_clock,
	.detail = detail_clock,
	.teardown = teardown_clock,
};
