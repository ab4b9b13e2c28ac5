/* The state of a process, by what the kernel shows of it in /proc. See state.h. */
#include "follow/state.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/attributes.h"
#include "core/environment.h"
#include "core/files.h"
#include "core/json.h"

enum { PROCESSES_MAX = 64, MAPPED_MAX = 200, MOUNTS_MAX = 200, SPACES_MAX = 16, CONFINED_MAX = 24, CONFINED_BYTES = 400, TEXT_BYTES = 1 << 17 };

static char text[TEXT_BYTES]; /* of the file that is being read */

static void path_of(char path[64], pid_t pid, const char *name)
{
	snprintf(path, 64, "/proc/%ld/%s", (long)pid, name);
}

static bool read_file(pid_t pid, const char *name)
{
	char path[64];

	path_of(path, pid, name);
	return file_read(path, text, sizeof(text)) > 0;
}

/* The value of a line `Name:\tvalue` of what was read, up to the end of the line. */
static bool line_of(const char *name, char *value, size_t size)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) != 0 || line[length] != ':')
			continue;
		line += length + 1;
		line += strspn(line, " \t");
		snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
		return true;
	}
	return false;
}

static void add_environment(struct json *j, pid_t pid)
{
	char path[64];
	ssize_t n = 0, part;
	int fd;

	path_of(path, pid, "environ");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* file_read() ends at no zero byte, but cuts white space */
	while (fd >= 0 && (part = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += part;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	json_open(j, "environment", '{');
	for (const char *variable = text; variable < text + n; variable += strlen(variable) + 1)
		environment_describe(j, variable);
	json_close(j, '}');
}

static void write_limit(char value[24], rlim_t limit)
{
	if (limit == RLIM_INFINITY)
		snprintf(value, 24, "unlimited");
	else
		snprintf(value, 24, "%llu", (unsigned long long)limit);
}

static void add_limits(struct json *j, pid_t pid)
{
	json_open(j, "limits", '{');
	for (int i = 0; i < LIMIT_KINDS; i++) {
		char soft[24], hard[24], both[50];
		struct rlimit limit;
		if (prlimit(pid, limit_kinds[i].resource, NULL, &limit) < 0)
			continue;
		write_limit(soft, limit.rlim_cur);
		write_limit(hard, limit.rlim_max);
		snprintf(both, sizeof(both), "%s:%s", soft, hard);
		json_string(j, limit_kinds[i].name, both);
	}
	json_close(j, '}');
}

static void add_file(struct json *j, pid_t pid, const char *key, const char *name)
{
	char path[64], value[64];

	path_of(path, pid, name);
	if (file_read(path, value, sizeof(value)) >= 0)
		json_string(j, key, value);
}

static void add_status(struct json *j, const char *key, const char *name)
{
	char value[256];

	if (line_of(name, value, sizeof(value)))
		json_string(j, key, value);
}

static void add_scheduling(struct json *j, pid_t pid)
{
	struct sched_param param = {0};
	long io = syscall(SYS_ioprio_get, 1 /* a process */, pid);

	syscall(SYS_sched_getparam, pid, &param);
	json_open(j, "scheduling", '{');
	json_signed(j, "policy", syscall(SYS_sched_getscheduler, pid)); /* musl refuses to */
	json_signed(j, "priority", param.sched_priority);
	json_signed(j, "nice", getpriority(PRIO_PROCESS, (id_t)pid));
	if (io >= 0)
		json_signed(j, "io", io);
	add_file(j, pid, "timer_slack", "timerslack_ns");
	add_file(j, pid, "personality", "personality");
	add_file(j, pid, "oom_score_adj", "oom_score_adj");
	if (read_file(pid, "status")) {
		add_status(j, "cpus", "Cpus_allowed_list");
		add_status(j, "memory_nodes", "Mems_allowed_list");
		add_status(j, "thp", "THP_enabled");
		add_status(j, "seccomp", "Seccomp");
		add_status(j, "capabilities", "CapEff");
	}
	json_close(j, '}');
}

/* The lines of a file as members of an array. */
static void add_lines(struct json *j, pid_t pid, const char *key, const char *name)
{
	json_open(j, key, '[');
	if (read_file(pid, name))
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			json_string(j, NULL, line);
	json_close(j, ']');
}

/* Returns whether the process's mounts were described before. */
static bool add_namespaces(struct json *j, pid_t pid)
{
	static const char *const kinds[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};
	static char seen[SPACES_MAX][32];
	static int count;
	bool before = false;

	json_open(j, "namespaces", '{');
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char path[64], name[16], link[32];
		ssize_t n;
		snprintf(name, sizeof(name), "ns/%s", kinds[i]);
		path_of(path, pid, name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		json_string(j, kinds[i], link);
		if (strcmp(kinds[i], "mnt") != 0)
			continue;
		for (int k = 0; k < count; k++)
			before = before || strcmp(seen[k], link) == 0;
		if (!before && count < SPACES_MAX)
			memcpy(seen[count++], link, sizeof(link));
	}
	json_close(j, '}');
	return before;
}

/* `36 35 98:0 /root /point options shared:1 - ext4 /dev/sda1 rw`: without numbers and propagation,
 * which differ in every namespace. */
static void add_mount(struct json *j, char *line)
{
	char *fields[6], *end = strstr(line, " - "), value[1024];

	if (!end)
		return;
	*end = '\0';
	for (int i = 0; i < 6; i++) {
		fields[i] = strsep(&line, " ");
		if (!fields[i])
			return;
	}
	snprintf(value, sizeof(value), "%s %s %s %s", fields[4], fields[3], fields[5], end + 3);
	json_string(j, NULL, value);
}

static void add_mounts(struct json *j, pid_t pid)
{
	int count = 0;

	json_open(j, "mounts", '[');
	if (read_file(pid, "mountinfo"))
		for (char *rest = text, *line; count < MOUNTS_MAX && (line = strsep(&rest, "\n"));
		     count++)
			add_mount(j, line);
	json_close(j, ']');
}

/* Each file that is mapped, once: lines of one file follow each other. */
static void add_mapped(struct json *j, pid_t pid)
{
	const char *last = "";
	int count = 0;

	json_open(j, "mapped", '[');
	if (read_file(pid, "maps"))
		for (char *line = strtok(text, "\n"); line && count < MAPPED_MAX;
		     line = strtok(NULL, "\n")) {
			const char *path = strchr(line, '/');
			if (!path || strcmp(path, last) == 0)
				continue;
			json_string(j, NULL, path);
			last = path;
			count++;
		}
	json_close(j, ']');
}

static bool is_main_thread(pid_t tid)
{
	char value[24];

	return read_file(tid, "status") && line_of("Tgid", value, sizeof(value)) &&
	       strtol(value, NULL, 10) == tid;
}

int state_send(pid_t tid)
{
	static int count;
	struct json j = {0};
	char path[64], program[PATH_MAX];
	ssize_t n;
	int lost;

	if (count == PROCESSES_MAX || !is_main_thread(tid))
		return 0;
	path_of(path, tid, "exe");
	n = readlink(path, program, sizeof(program) - 1);
	if (n <= 0)
		return 0; /* its memory is gone already */
	program[n] = '\0';
	count++;
	json_begin(&j, "process");
	json_string(&j, "program", program);
	add_environment(&j, tid);
	add_limits(&j, tid);
	add_scheduling(&j, tid);
	add_lines(&j, tid, "cgroups", "cgroup");
	if (!add_namespaces(&j, tid))
		add_mounts(&j, tid);
	add_mapped(&j, tid);
	lost = json_send(&j);
	free(j.text);
	return lost;
}

static const char *const confined_by[] = {"Seccomp", "Seccomp_filters", "NoNewPrivs",
					  "CapEff", "CapBnd", "CapAmb"};

static bool was_sent(const char *described)
{
	static char sent[CONFINED_MAX][CONFINED_BYTES];
	static int count;

	for (int i = 0; i < count; i++)
		if (strcmp(sent[i], described) == 0)
			return true;
	if (count == CONFINED_MAX)
		return true;
	strcpy(sent[count++], described);
	return false;
}

int confinement_send(pid_t tid)
{
	enum { COUNT = sizeof(confined_by) / sizeof(confined_by[0]) };
	char values[COUNT][24] = {{0}}, label[200] = "", path[64], program[PATH_MAX];
	char described[CONFINED_BYTES];
	struct json j = {0};
	ssize_t n;
	int lost;

	if (!is_main_thread(tid)) /* it reads what the lines are taken from */
		return 0;
	for (int i = 0; i < COUNT; i++)
		line_of(confined_by[i], values[i], sizeof(values[i]));
	path_of(path, tid, "attr/current");
	if (file_read(path, label, sizeof(label)) < 0)
		label[0] = '\0';
	snprintf(described, sizeof(described), "%s,%s,%s,%s,%s,%s,%s", values[0], values[1], values[2],
		 values[3], values[4], values[5], label);
	if (was_sent(described))
		return 0;
	path_of(path, tid, "exe");
	n = readlink(path, program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	json_begin(&j, "confinement");
	json_string(&j, "program", program);
	json_open(&j, "values", '{');
	for (int i = 0; i < COUNT; i++)
		if (values[i][0])
			json_string(&j, confined_by[i], values[i]);
	if (label[0])
		json_string(&j, "profile", label);
	json_close(&j, '}');
	lost = json_send(&j);
	free(j.text);
	return lost;
}
