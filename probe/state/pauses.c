/* Programs that run: /proc/loadavg/make-index holds `running`, or `paused` where all processes that
 * are called so are stopped by a signal (SIGSTOP), and go on after another (SIGCONT). That takes
 * them off the CPU and keeps all else as it is: for what no service manager can stop and start.
 *
 * Not shown, so not paused: what carries this session; what others would wait for without end, as
 * they are traced by it, or it answers the kernel for them (fanotify, FUSE, userfaultfd); threads of
 * the kernel, and process 1. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/files.h"
#include "state/services.h"
#include "state/trees.h"

enum { PROCESSES_MAX = 4096, CALLED = 64, SHORT = 15, WAITS = 50, WAIT_MS = 20, LASTING_S = 5 };

struct process {
	int pid, parent, tracer;
	unsigned long long started; /* in ticks since boot */
	char state;
	bool of_kernel;
	char name[CALLED];
};

static struct process processes[PROCESSES_MAX];
static int count;

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The name that the kernel has is cut. The whole one is that of the program, or of its script. */
static void complete_name(struct process *p, const char *arguments, size_t length)
{
	for (size_t at = 0, word = 0; at < length && word < 3; at += strlen(arguments + at) + 1, word++) {
		const char *name = last_part(arguments + at);
		if (strncmp(name, p->name, strlen(p->name)) == 0 && strlen(name) < CALLED) {
			memcpy(p->name, name, strlen(name) + 1);
			return;
		}
	}
}

static bool look_at(int pid, struct process *p)
{
	char path[48], text[2048];
	char *begin, *end;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, text, sizeof(text)) < 0)
		return false;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end || end < begin)
		return false;
	*end = '\0';
	p->pid = pid;
	p->tracer = 0;
	snprintf(p->name, sizeof(p->name), "%s", begin + 1);
	if (sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &p->state, &p->parent, &p->started) != 3)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, text, sizeof(text)) > 0 && (begin = strstr(text, "\nTracerPid:")))
		p->tracer = atoi(begin + sizeof("\nTracerPid:") - 1);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	memset(text, 0, sizeof(text));
	length = file_read(path, text, sizeof(text) - 1);
	p->of_kernel = length <= 0;
	if (strlen(p->name) == SHORT && length > 0)
		complete_name(p, text, (size_t)length);
	return p->state != 'Z' && p->state != 'X';
}

void processes_look(void)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;

	count = 0;
	while (directory && count < PROCESSES_MAX && (entry = readdir(directory))) {
		int pid = atoi(entry->d_name);
		if (pid > 0 && look_at(pid, &processes[count]))
			count++;
	}
	if (directory)
		closedir(directory);
}

static bool is_called(const struct process *p, const char *name)
{
	size_t length = strlen(p->name);

	return strcmp(p->name, name) == 0 ||
	       (length == SHORT && strlen(name) > SHORT && strncmp(p->name, name, SHORT) == 0);
}

int processes_called(const char *name)
{
	int found = 0;

	for (int i = 0; i < count; i++)
		found += is_called(&processes[i], name);
	return found;
}

static const struct process *of_pid(int pid)
{
	for (int i = 0; i < count; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	return NULL;
}

bool processes_carry_us(const char *name)
{
	int left = 64;

	if (count == 0)
		processes_look();
	for (const struct process *p = of_pid(getpid()); p && left-- > 0; p = of_pid(p->parent))
		if (p->pid != 1 && is_called(p, name))
			return true;
	return false;
}

/* Whether others wait for a process as long as it does not go on. */
static bool answers_others(const struct process *p)
{
	static const char *const kinds[] = {"fanotify", "/dev/fuse", "userfaultfd", "/dev/nbd",
					    "/dev/net/tun", "/dev/watchdog"};
	char path[64], target[128];
	DIR *directory;
	struct dirent *entry;
	bool found = false;

	for (int i = 0; i < count && !found; i++)
		found = processes[i].tracer == p->pid;
	snprintf(path, sizeof(path), "/proc/%d/fd", p->pid);
	directory = opendir(path);
	found |= !directory;
	while (directory && !found && (entry = readdir(directory))) {
		char link[320];
		ssize_t length;
		snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		length = readlink(link, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			found |= strstr(target, kinds[k]) != NULL;
	}
	if (directory)
		closedir(directory);
	return found;
}

static const char *const kept[] = {"init", "systemd", "sshd", "dropbear", "sh", "bash", "dash",
				   "ash", "sudo", "su", "login", "bvprobe"};

static bool may_be_paused(const struct process *p)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (strcmp(p->name, kept[i]) == 0)
			return false;
	return p->pid != 1 && !p->of_kernel && !strchr(p->name, '/') &&
	       strncmp(p->name, "sshd", 4) != 0 && !processes_carry_us(p->name) && !answers_others(p);
}

/* `running`, `paused`, or NULL where it is none that may be paused. */
static const char *state_of(const char *name)
{
	int found = 0, stopped = 0;

	for (int i = 0; i < count; i++) {
		if (!is_called(&processes[i], name))
			continue;
		if (!may_be_paused(&processes[i]))
			return NULL;
		found++;
		stopped += processes[i].state == 'T';
	}
	return !found ? NULL : stopped == found ? "paused" : "running";
}

/* Those that were there some seconds ago, as what a command starts comes and goes. */
static bool is_lasting(const struct process *p)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return p->started / (unsigned long)sysconf(_SC_CLK_TCK) + LASTING_S <=
	       (unsigned long long)now.tv_sec;
}

static int list(tree_report *report, void *context)
{
	int result = 0;

	processes_look();
	for (int i = 0; i < count && !result; i++) {
		char name[TREE_NAME_MAX];
		const char *state;
		bool first = true;
		for (int k = 0; k < i && first; k++)
			first = strcmp(processes[k].name, processes[i].name) != 0;
		if (!first || processes[i].of_kernel || !is_lasting(&processes[i]) ||
		    !tree_name_of(processes[i].name, name))
			continue;
		state = state_of(processes[i].name);
		if (state)
			result = report(context, name, state);
	}
	return result;
}

static int value_of(const char *name, char *value, size_t size)
{
	const char *state;

	processes_look();
	state = state_of(name);
	if (!state)
		return -ENOENT;
	snprintf(value, size, "%s", state);
	return 0;
}

static int write_state(const char *name, const char *value)
{
	bool stop = strcmp(value, "paused") == 0;
	const char *now = value;
	int error = 0;

	if (!stop && strcmp(value, "running") != 0)
		return -EINVAL;
	processes_look();
	if (!state_of(name))
		return -ENOENT;
	for (int i = 0; i < count; i++)
		if (is_called(&processes[i], name) &&
		    kill(processes[i].pid, stop ? SIGSTOP : SIGCONT) < 0 && errno != ESRCH)
			error = -errno;
	/* A thread that is in the kernel stops when it leaves it. */
	for (int wait = 0; wait < WAITS && !error; wait++) {
		processes_look();
		now = state_of(name);
		if (!now || strcmp(now, value) == 0)
			break;
		poll(NULL, 0, WAIT_MS);
	}
	return error;
}

const struct tree processes_tree = {"/proc/loadavg/", list, value_of, write_state};
