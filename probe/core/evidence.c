/* What may have disturbed a batch. See evidence.h. */
#include "core/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files.h"

/* The second field of schedstat. A kernel that does not keep the account may still have the file,
 * all zero. */
int64_t evidence_wait_ns(void)
{
	char text[128];
	unsigned long long ran, waited;

	if (file_read("/proc/self/schedstat", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2 || ran == 0)
		return -1;
	return (int64_t)waited;
}

static int64_t read_migrations(void)
{
	static char text[8192];
	char *at;

	if (file_read("/proc/self/sched", text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, "nr_migrations");
	at = at ? strchr(at, ':') : NULL;
	return at ? strtoll(at + 1, NULL, 10) : -1;
}

/* proc(5): user nice system idle iowait irq softirq steal, in ticks. */
void evidence_parse_load(struct evidence *e, char *text, int own, int partner)
{
	char *rest;

	e->has_load = false;
	e->steal_ticks = e->busy_ticks = 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long t[8] = {0};
		int cpu;

		/* "cpu " sums all CPUs, and "cpu%d" would take its first figure for a number */
		if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9')
			continue;
		if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &t[0],
			   &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 5)
			continue;
		e->has_load = true;
		e->steal_ticks += t[7];
		if (cpu != own && cpu != partner)
			e->busy_ticks += t[0] + t[1] + t[2] + t[5] + t[6];
	}
}

static void read_load(struct evidence *e, int own, int partner)
{
	static char text[65536];

	if (file_read("/proc/stat", text, sizeof(text)) < 0)
		text[0] = '\0';
	evidence_parse_load(e, text, own, partner);
}

static void read_process(struct evidence *e)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	e->voluntary_switches = usage.ru_nvcsw;
	e->involuntary_switches = usage.ru_nivcsw;
	e->minor_faults = usage.ru_minflt;
	e->major_faults = usage.ru_majflt;
	e->cpu = sched_getcpu();
}

void evidence_before(struct evidence *e, int own, int partner)
{
	read_load(e, own, partner);
	e->wait_ns = evidence_wait_ns();
	e->migrations = read_migrations();
	e->clock_hz = clock_cpu_hz();
	e->time_ns = clock_ns();
	read_process(e);
}

void evidence_after(struct evidence *e, int own, int partner)
{
	read_process(e);
	e->time_ns = clock_ns();
	e->clock_hz = clock_cpu_hz();
	e->wait_ns = evidence_wait_ns();
	e->migrations = read_migrations();
	read_load(e, own, partner);
}

/* The thermal zone of the CPU: by type, else the first. */
int evidence_temperature(int64_t *millidegrees)
{
	static char path[288];
	static bool searched;

	if (!searched) {
		DIR *dir = opendir("/sys/class/thermal");
		struct dirent *entry;
		searched = true;
		while (dir && (entry = readdir(dir))) {
			char type[64], name[320];
			if (strncmp(entry->d_name, "thermal_zone", 12) != 0)
				continue;
			snprintf(name, sizeof(name), "/sys/class/thermal/%s/type", entry->d_name);
			bool is_cpu = file_read(name, type, sizeof(type)) > 0 &&
				      (strstr(type, "cpu") || strstr(type, "soc") ||
				       strstr(type, "x86_pkg"));
			if (is_cpu || path[0] == '\0')
				snprintf(path, sizeof(path), "/sys/class/thermal/%.200s/temp",
					 entry->d_name);
			if (is_cpu)
				break;
		}
		if (dir)
			closedir(dir);
	}
	return path[0] ? file_number(path, millidegrees) : -ENOENT;
}

static void describe_temperature(struct json *j)
{
	int64_t millidegrees;

	if (evidence_temperature(&millidegrees) == 0)
		json_signed(j, "temperature_mc", millidegrees);
	else
		json_na(j, "temperature_mc", "no thermal zone");
}

static void describe_clock(struct json *j, const char *key, double hz)
{
	if (hz > 0)
		json_number(j, key, hz);
	else
		json_na(j, key, "instructions take no fixed time here (emulation?)");
}

static void describe_difference(struct json *j, const char *key, int64_t before, int64_t after,
				const char *source)
{
	if (before >= 0 && after >= before)
		json_signed(j, key, after - before);
	else
		json_na(j, key, source);
}

void evidence_describe(const struct evidence *before, const struct evidence *after,
		       uint64_t elapsed_ns, struct sample_flags kind, struct json *j)
{
	long involuntary = after->involuntary_switches - before->involuntary_switches;
	long faults = after->minor_faults - before->minor_faults;
	long major = after->major_faults - before->major_faults;
	int64_t waited = after->wait_ns - before->wait_ns;
	bool load = before->has_load && after->has_load;
	uint64_t steal = after->steal_ticks - before->steal_ticks;
	uint64_t busy = after->busy_ticks - before->busy_ticks;
	uint64_t window = after->time_ns - before->time_ns;
	long ticks = sysconf(_SC_CLK_TCK);
	bool moved = after->cpu != before->cpu ||
		     (before->migrations >= 0 && after->migrations > before->migrations);

	json_signed(j, "cpu", after->cpu);
	describe_clock(j, "clock_before_hz", before->clock_hz);
	describe_clock(j, "clock_after_hz", after->clock_hz);
	describe_difference(j, "migrations", before->migrations, after->migrations,
			    "no /proc/self/sched");
	json_signed(j, "voluntary_switches",
		    after->voluntary_switches - before->voluntary_switches);
	json_signed(j, "involuntary_switches", involuntary);
	json_signed(j, "minor_faults", faults);
	json_signed(j, "major_faults", major);
	describe_difference(j, "wait_ns", before->wait_ns, after->wait_ns,
			    "no /proc/self/schedstat");
	json_unsigned(j, "window_ns", window);
	if (load)
		json_unsigned(j, "steal_ticks", steal);
	else
		json_na(j, "steal_ticks", "no /proc/stat");
	if (load && kind.pinned && !kind.loads_others)
		json_unsigned(j, "other_busy_ticks", busy);
	else
		json_na(j, "other_busy_ticks",
			!load ? "no /proc/stat"
			      : kind.pinned ? "the benchmark loads other CPUs itself"
					    : "not pinned: own load cannot be told apart");
	json_signed(j, "ticks_per_second", ticks);
	describe_temperature(j);

	json_open(j, "flags", '[');
	if (involuntary > 0 && !kind.switches && !kind.blocks && !kind.bystander)
		json_string(j, NULL, "preempted");
	if (waited > (int64_t)(elapsed_ns / 100) && before->wait_ns >= 0 && !kind.switches &&
	    !kind.bystander)
		json_string(j, NULL, "waited");
	if (moved && kind.pinned)
		json_string(j, NULL, "migrated");
	if (((faults > 8 && !kind.faults) || major > 0) && !kind.bystander)
		json_string(j, NULL, "faulted");
	if (load && steal > 0)
		json_string(j, NULL, "stolen");
	if (load && kind.pinned && !kind.loads_others &&
	    (double)busy / (double)ticks > 0.3 * (double)window / 1e9)
		json_string(j, NULL, "neighbour");
	if (before->clock_hz > 0 && after->clock_hz > 0 &&
	    fabs(after->clock_hz / before->clock_hz - 1) > 0.03)
		json_string(j, NULL, "clock");
	json_close(j, ']');
}
