/* Where the ends of a benchmark run. See place.h. */
#include "core/place.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/files.h"

#define CPU_PATH "/sys/devices/system/cpu/cpu%d/" /* for a printf format */

const char place_choices[] = "same sibling core cluster free";
const char place_summary[] =
	"where the other end runs: on the same CPU, on its SMT sibling, on another core of the "
	"cluster, in another cluster, or free (not pinned: the scheduler decides)";

static const cpu_set_t *allowed_at_start(void)
{
	static cpu_set_t allowed;
	static bool known;

	if (!known) {
		CPU_ZERO(&allowed);
		if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
			CPU_SET(0, &allowed);
		known = true;
	}
	return &allowed;
}

static int64_t speed(int cpu)
{
	int64_t number;

	/* Capacity knows big from LITTLE at equal clocks; frequency is the next best. */
	if (file_numberf(&number, CPU_PATH "cpu_capacity", cpu) == 0)
		return number;
	if (file_numberf(&number, CPU_PATH "cpufreq/cpuinfo_max_freq", cpu) == 0)
		return number;
	return 0;
}

static int fastest(void)
{
	const cpu_set_t *allowed = allowed_at_start();
	int best = -1;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && (best < 0 || speed(cpu) >= speed(best)))
			best = cpu;
	return best < 0 ? 0 : best;
}

struct membership {
	int cpu;
	bool found;
};

static void is_member(int cpu, void *context)
{
	struct membership *m = context;

	m->found = m->found || cpu == m->cpu;
}

static bool is_sibling(int cpu, int other)
{
	char path[128], list[256];
	struct membership m = {.cpu = other};

	snprintf(path, sizeof(path), CPU_PATH "topology/thread_siblings_list", cpu);
	if (file_read(path, list, sizeof(list)) < 0)
		return false;
	for_each_cpu(list, is_member, &m);
	return m.found;
}

static bool differs(const char *file, int cpu, int other)
{
	int64_t a, b;

	return file_numberf(&a, CPU_PATH "%s", cpu, file) == 0 &&
	       file_numberf(&b, CPU_PATH "%s", other, file) == 0 && a != b;
}

struct others {
	int cpu;
	bool found;
};

static void is_other_core(int cpu, void *context)
{
	struct others *o = context;

	o->found = o->found || (cpu != o->cpu && !is_sibling(o->cpu, cpu));
}

/* On x86 each core whose second-level cache is its own is a "cluster" to the kernel: one that holds
 * nothing else is none. */
static bool has_cluster(int cpu)
{
	char path[128], list[256];
	struct others o = {.cpu = cpu};

	snprintf(path, sizeof(path), CPU_PATH "topology/cluster_cpus_list", cpu);
	if (file_read(path, list, sizeof(list)) < 0)
		return false;
	for_each_cpu(list, is_other_core, &o);
	return o.found;
}

static bool same_cluster(int cpu, int other)
{
	if (differs("topology/physical_package_id", cpu, other) ||
	    differs("cpu_capacity", cpu, other))
		return false;
	return !differs("topology/cluster_id", cpu, other) ||
	       (!has_cluster(cpu) && !has_cluster(other));
}

int place_related(int cpu, const char *mode)
{
	const cpu_set_t *allowed = allowed_at_start();

	if (strcmp(mode, "same") == 0)
		return cpu;
	for (int other = CPU_SETSIZE - 1; other >= 0; other--) {
		if (other == cpu || !CPU_ISSET(other, allowed))
			continue;
		bool sibling = is_sibling(cpu, other);
		bool cluster = same_cluster(cpu, other);
		if (strcmp(mode, "sibling") == 0 ? sibling
		    : strcmp(mode, "core") == 0 ? cluster && !sibling
						: !cluster && !sibling)
			return other;
	}
	return -1;
}

int place_choose(struct place *place, const char *who, uint64_t cpu, const char *mode)
{
	bool free = mode && strcmp(mode, "free") == 0;
	int error;

	*place = (struct place){.mode = mode, .cpu = -1, .partner = -1};
	if (free && cpu != AUTO)
		return json_error(2, EINVAL, "%s: cpu=%llu contradicts place=free, which leaves "
					     "that to the scheduler",
				  who, (unsigned long long)cpu);
	if (!free)
		place->cpu = cpu == AUTO ? fastest() : (int)cpu;
	error = place_pin(place->cpu);
	if (error)
		return json_error(cpu == AUTO ? 77 : 2, -error,
				  "%s: CPU %d cannot be used: it is absent, offline or outside "
				  "this process's cpuset (see cpus_online and cpus_allowed)",
				  who, place->cpu);
	if (free || !mode)
		return 0;
	place->partner = place_related(place->cpu, mode);
	if (place->partner >= 0)
		return 0;
	return json_error(77, ENODEV, "%s: place=%s is not possible here: CPU %d has no %s among "
				      "the CPUs that this process may use", who, mode, place->cpu,
			  strcmp(mode, "sibling") == 0 ? "SMT sibling"
			  : strcmp(mode, "core") == 0 ? "other core in its cluster"
						      : "other cluster");
}

int place_pin(int cpu)
{
	cpu_set_t set = *allowed_at_start();

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
	}
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? -errno : 0;
}

int place_list(int first, int *cpus)
{
	int count = 1;

	cpus[0] = first;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		int at = count;
		if (cpu == first || !CPU_ISSET(cpu, allowed_at_start()))
			continue;
		for (; at > 1 && speed(cpus[at - 1]) < speed(cpu); at--)
			cpus[at] = cpus[at - 1];
		cpus[at] = cpu;
		count++;
	}
	return count;
}

bool place_allowed(int cpu)
{
	return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed_at_start());
}

void place_describe_allowed(struct json *j)
{
	json_open(j, "cpus_allowed", '[');
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed_at_start()))
			json_signed(j, NULL, cpu);
	json_close(j, ']');
}

/* sysfs writes cache sizes as "32K"; a board that says "32M" or plain bytes is understood too. */
static uint64_t cache_bytes(const char *text)
{
	unsigned long long n = 0;
	char unit = 0;

	sscanf(text, "%llu%c", &n, &unit);
	return unit == 'K' ? n << 10 : unit == 'M' ? n << 20 : n;
}

void place_describe_caches(struct json *j, int cpu)
{
	char path[160], text[64];

	json_open(j, "caches", '[');
	for (int index = 0; index < 16; index++) {
		int64_t level, line;
		const char *base = CPU_PATH "cache/index%d/%s";

		if (file_numberf(&level, CPU_PATH "cache/index%d/level", cpu, index) < 0)
			break;
		json_open(j, NULL, '{');
		json_signed(j, "level", level);
		snprintf(path, sizeof(path), base, cpu, index, "type");
		if (file_read(path, text, sizeof(text)) > 0)
			json_string(j, "type", text);
		snprintf(path, sizeof(path), base, cpu, index, "size");
		if (file_read(path, text, sizeof(text)) > 0)
			json_unsigned(j, "size", cache_bytes(text));
		if (file_numberf(&line, CPU_PATH "cache/index%d/coherency_line_size", cpu,
				 index) == 0)
			json_signed(j, "line", line);
		snprintf(path, sizeof(path), base, cpu, index, "shared_cpu_list");
		if (file_read(path, text, sizeof(text)) > 0)
			json_string(j, "shared_by", text);
		json_close(j, '}');
	}
	json_close(j, ']');
}
