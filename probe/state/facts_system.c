/* The machine, its timers, and what a process inherits there. See facts.h. */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/attributes.h"
#include "core/environment.h"
#include "core/clock.h"
#include "state/facts.h"

extern char **environ;

static uint64_t nanoseconds(clockid_t clock, bool resolution)
{
	struct timespec t = {0};

	if (resolution)
		clock_getres(clock, &t);
	else
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fact_time(struct json *j)
{
	fact_begin(j, "time", NULL);
	json_open(j, "value", '{');
	json_unsigned(j, "monotonic_ns", nanoseconds(CLOCK_MONOTONIC, false));
	json_unsigned(j, "realtime_ns", nanoseconds(CLOCK_REALTIME, false));
	json_unsigned(j, "boottime_ns", nanoseconds(CLOCK_BOOTTIME, false));
	json_close(j, '}');
	fact_send(j);
}

static void fact_uname(struct json *j)
{
	struct utsname name;

	uname(&name);
	fact_begin(j, "uname", NULL);
	json_open(j, "value", '{');
	json_string(j, "sysname", name.sysname);
	json_string(j, "release", name.release);
	json_string(j, "version", name.version);
	json_string(j, "machine", name.machine);
	json_close(j, '}');
	fact_send(j);
}

static void hex(struct json *j, const char *key, unsigned long value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%lx", value);
	json_string(j, key, text);
}

static void fact_auxv(struct json *j)
{
	const char *platform = (const char *)getauxval(AT_PLATFORM);

	fact_begin(j, "auxv", NULL);
	json_open(j, "value", '{');
	hex(j, "hwcap", getauxval(AT_HWCAP));
	hex(j, "hwcap2", getauxval(AT_HWCAP2));
	if (platform)
		json_string(j, "platform", platform);
	json_close(j, '}');
	fact_send(j);
}

/* The coarse clock advances once a tick, so its resolution is the tick. */
static void fact_timers(struct json *j)
{
	int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);

	fact_begin(j, "timers", NULL);
	json_open(j, "value", '{');
	json_unsigned(j, "resolution_ns", nanoseconds(CLOCK_MONOTONIC, true));
	json_unsigned(j, "tick_ns", nanoseconds(CLOCK_MONOTONIC_COARSE, true));
	if (slack >= 0)
		json_signed(j, "slack_ns", slack);
	else
		json_na(j, "slack_ns", errno_name(errno));
	json_close(j, '}');
	fact_send(j);
}

/* Of several tries the shortest, which no interrupt lengthened; in nanoseconds. */
static double cost_of(bool system_call)
{
	enum { TRIES = 8, CALLS = 250 };
	struct timespec t;
	double best = 1e18;

	for (int i = 0; i < TRIES; i++) {
		uint64_t begin = clock_ns();
		for (int n = 0; n < CALLS; n++) {
			if (system_call)
				syscall(SYS_getppid);
			else
				clock_gettime(CLOCK_MONOTONIC, &t);
		}
		double cost = (double)(clock_ns() - begin) / CALLS;
		best = cost < best ? cost : best;
	}
	return best;
}

/* Where the clock source cannot be read in user space, the vDSO makes the system call: reading the
 * time then costs at least as much as the cheapest call. */
static void fact_clock_cost(struct json *j)
{
	double cost = cost_of(false);
	double call = cost_of(true);

	fact_begin(j, "clock_cost", NULL);
	json_open(j, "value", '{');
	json_number(j, "clock_gettime_ns", cost);
	json_number(j, "system_call_ns", call);
	json_close(j, '}');
	fact_send(j);
	fact_begin(j, "vdso", NULL);
	json_string(j, "value", getauxval(AT_SYSINFO_EHDR) == 0 ? "none"
				: cost < 0.75 * call ? "in use" : "calls the kernel");
	fact_send(j);
}

static void limits(struct json *j, const char *key, bool hard)
{
	json_open(j, key, '{');
	for (int i = 0; i < LIMIT_KINDS; i++) {
		const char *name = limit_kinds[i].name;
		struct rlimit limit;
		if (getrlimit(limit_kinds[i].resource, &limit) < 0) {
			json_na(j, name, errno_name(errno));
			continue;
		}
		rlim_t value = hard ? limit.rlim_max : limit.rlim_cur;
		if (value == RLIM_INFINITY)
			json_string(j, name, "unlimited");
		else
			json_unsigned(j, name, value);
	}
	json_close(j, '}');
}

static void fact_process(struct json *j)
{
	struct sched_param param = {0};
	long io = syscall(SYS_ioprio_get, 1 /* a process */, 0);

	syscall(SYS_sched_getparam, 0, &param);
	fact_begin(j, "process", NULL);
	json_open(j, "value", '{');
	json_signed(j, "uid", (int64_t)geteuid());
	json_signed(j, "policy", syscall(SYS_sched_getscheduler, 0)); /* musl refuses to */
	json_signed(j, "priority", param.sched_priority);
	json_signed(j, "nice", getpriority(PRIO_PROCESS, 0));
	if (io >= 0) {
		json_signed(j, "io_class", io >> 13);
		json_signed(j, "io_level", io & 0x1fff);
	} else {
		json_na(j, "io_class", errno_name(errno));
	}
	json_signed(j, "mdwe", prctl(66 /* PR_GET_MDWE, since Linux 6.3 */, 0, 0, 0, 0));
	limits(j, "limits", false);
	limits(j, "hard_limits", true);
	json_close(j, '}');
	fact_send(j);
}

static void fact_hypervisor(struct json *j)
{
#if defined(__x86_64__)
	unsigned regs[4];
	char vendor[13] = "";

	__cpuid(1, regs[0], regs[1], regs[2], regs[3]);
	if (regs[2] >> 31) {
		__cpuid(0x40000000, regs[0], regs[1], regs[2], regs[3]);
		memcpy(vendor, &regs[1], 12);
	}
	fact_begin(j, "hypervisor", NULL);
	json_string(j, "value", regs[2] >> 31 || vendor[0] ? vendor : "none");
	fact_send(j);
#else
	fact_na(j, "hypervisor", NULL, 0, "this architecture has no instruction that tells");
#endif
}

static void fact_perf(struct json *j)
{
	static const struct {
		const char *name;
		uint64_t config;
	} events[] = {
		{"cycles", PERF_COUNT_HW_CPU_CYCLES},
		{"instructions", PERF_COUNT_HW_INSTRUCTIONS},
		{"cache misses", PERF_COUNT_HW_CACHE_MISSES},
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_HARDWARE,
			.size = sizeof(attr),
			.config = events[i].config,
			.disabled = 1,
			.exclude_kernel = 1,
			.exclude_hv = 1,
		};
		int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0) {
			fact_na(j, "perf", events[i].name, errno, "cannot be counted");
			continue;
		}
		close(fd);
		fact_begin(j, "perf", events[i].name);
		json_string(j, "value", "can be counted");
		fact_send(j);
	}
}

static void fact_environment(struct json *j)
{
	fact_begin(j, "environment", NULL);
	json_open(j, "value", '{');
	for (char **v = environ; v && *v; v++)
		if (!environment_is_of_session(*v))
			environment_describe(j, *v);
	json_close(j, '}');
	fact_send(j);
}

void facts_system(struct json *j)
{
	int persona = personality(0xffffffff);

	fact_time(j);
	fact_uname(j);
	fact_begin(j, "personality", NULL);
	hex(j, "value", (unsigned)persona);
	fact_send(j);
	fact_begin(j, "page_size", NULL);
	json_signed(j, "value", sysconf(_SC_PAGESIZE));
	fact_send(j);
	fact_auxv(j);
	fact_timers(j);
	fact_clock_cost(j);
	fact_process(j);
	fact_hypervisor(j);
	fact_perf(j);
	fact_environment(j);
}

/* On an idle CPU the governor has to notice the load: both the first and the best reading tell
 * something. */
static void fact_one_clock(struct json *j, int cpu, uint64_t window_ns)
{
	char subject[16];
	uint64_t begin = clock_ns();
	double first = clock_cpu_hz();
	double best = first;

	snprintf(subject, sizeof(subject), "cpu%d", cpu);
	while (best > 0 && clock_ns() - begin < window_ns) {
		double now = clock_cpu_hz();
		best = now > best ? now : best;
	}
	if (best <= 0) {
		fact_na(j, "cpu_clock", subject, 0, "no clock can be told on this CPU");
		return;
	}
	fact_begin(j, "cpu_clock", subject);
	json_open(j, "value", '{');
	json_number(j, "first_hz", first);
	json_number(j, "best_hz", best);
	json_close(j, '}');
	fact_send(j);
}

void facts_cpu_clock(struct json *j)
{
	enum { TOTAL_NS = 300000000, EACH_NS = 20000000 };
	uint64_t begin = clock_work_ns();
	cpu_set_t allowed, one;
	uint64_t window;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0) {
		fact_na(j, "cpu_clock", NULL, errno, "the CPUs are not known");
		return;
	}
	window = TOTAL_NS / (uint64_t)CPU_COUNT(&allowed);
	window = window > EACH_NS ? EACH_NS : window;
	for (int cpu = 0; cpu < CPU_SETSIZE && clock_work_ns() - begin < TOTAL_NS; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) == 0)
			fact_one_clock(j, cpu, window);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
}
