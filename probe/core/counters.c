/* Hardware and kernel counters around a batch. See counters.h.
 *
 * A PMU has few registers: two besides cycles and instructions on the smallest. So hardware events
 * are counted in passes, a pair at a time, batch by batch in turn. Each counter is an event of its
 * own, so that one that the PMU lacks does not take others with it. One that had to share its PMU register with another (time running < time enabled) is not
 * scaled up but reported as not available: a scaled count is a guess. So is one that happens in
 * the kernel where only user space may be counted: it would read 0. */
#include "core/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE(level, op, result)                                                  \
	(PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_##op << 8 |         \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

enum { EVERY_PASS = -1 };

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	int pass;
	bool in_kernel; /* happens there and nowhere else */
} events[COUNTERS_MAX] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, EVERY_PASS, false},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, EVERY_PASS, false},
	{"cache_references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 0, false},
	{"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0, false},
	{"dtlb_load_misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), 1, false},
	{"itlb_load_misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS), 1, false},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 2, false},
	{"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 2, false},
	{"l1d_load_misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS), 3, false},
	{"llc_load_misses", PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), 3, false},
	{"bus_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, 4, false},
	{"stalled_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 4, false},
	{"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, EVERY_PASS, true},
	{"cpu_migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, EVERY_PASS, true},
	{"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, EVERY_PASS, false},
	{"task_clock_ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, EVERY_PASS, false},
};

static const char not_permitted[] =
	"not permitted: kernel.perf_event_paranoid or a security policy forbids it";

static const char *reason_of(int error)
{
	switch (error) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return "this CPU or virtual machine offers no such counter";
	case EACCES:
	case EPERM:
		return not_permitted;
	case ENOSYS:
		return "the kernel has no perf_event_open";
	case EMFILE:
		return "no file descriptor left";
	default:
		return errno_name(error);
	}
}

static int open_event(uint32_t type, uint64_t config, bool user_only)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.inherit = 1,
		.exclude_kernel = user_only,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void note_pass(struct counters *c, int pass)
{
	for (int i = 0; i < c->pass_count; i++)
		if (c->passes[i] == pass)
			return;
	if (pass != EVERY_PASS)
		c->passes[c->pass_count++] = pass;
}

void counters_open(struct counters *c, const char *reason)
{
	bool user_only = false;

	memset(c, 0, sizeof(*c));
	for (int i = 0; i < COUNTERS_MAX; i++) {
		c->fd[i] = -1;
		c->na[i] = reason;
		if (reason)
			continue;
		c->fd[i] = open_event(events[i].type, events[i].config, user_only);
		if (c->fd[i] < 0 && (errno == EACCES || errno == EPERM) && !user_only) {
			user_only = true;
			c->fd[i] = open_event(events[i].type, events[i].config, user_only);
		}
		if (c->fd[i] < 0) {
			c->na[i] = reason_of(errno);
		} else if (user_only && events[i].in_kernel) {
			close(c->fd[i]);
			c->fd[i] = -1;
			c->na[i] = not_permitted;
		}
		if (c->fd[i] >= 0)
			note_pass(c, events[i].pass);
	}
	c->scope = user_only ? "user" : "user+kernel";
}

static bool is_counted(const struct counters *c, int i)
{
	return c->fd[i] >= 0 && (events[i].pass == EVERY_PASS || events[i].pass == c->pass);
}

static void all(const struct counters *c, unsigned long request)
{
	for (int i = 0; i < COUNTERS_MAX; i++)
		if (is_counted(c, i))
			ioctl(c->fd[i], (int)request, 0);
}

static bool read_count(int fd, struct count *count)
{
	return read(fd, count, sizeof(*count)) == (ssize_t)sizeof(*count);
}

/* Differences, because a reset does not reach the counts of children. */
void counters_start(struct counters *c, uint64_t index)
{
	c->pass = c->pass_count ? c->passes[index % (uint64_t)c->pass_count] : EVERY_PASS;
	for (int i = 0; i < COUNTERS_MAX; i++)
		if (is_counted(c, i) && !read_count(c->fd[i], &c->before[i]))
			memset(&c->before[i], 0, sizeof(c->before[i]));
	all(c, PERF_EVENT_IOC_ENABLE);
}

void counters_stop(const struct counters *c)
{
	all(c, PERF_EVENT_IOC_DISABLE);
}

void counters_describe(const struct counters *c, struct json *j)
{
	json_open(j, "counters", '{');
	for (int i = 0; i < COUNTERS_MAX; i++) {
		const struct count *before = &c->before[i];
		struct count now;

		if (c->fd[i] < 0)
			json_na(j, events[i].name, c->na[i]);
		else if (!is_counted(c, i))
			continue; /* in another batch */
		else if (!read_count(c->fd[i], &now))
			json_na(j, events[i].name, "the counter could not be read");
		else if (now.running - before->running < now.enabled - before->enabled)
			json_na(j, events[i].name, "shared its PMU register with other counters");
		else
			json_unsigned(j, events[i].name, now.value - before->value);
	}
	json_close(j, '}');
}

void counters_close(struct counters *c)
{
	for (int i = 0; i < COUNTERS_MAX; i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
}
