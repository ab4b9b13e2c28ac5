/* The kernel's trace files. See tracefs.h. */
#include "trace/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/files.h"
#include "core/json.h"

static const char prefix[] = "benchvise-";

enum { RELEASE_TRIES = 200, RELEASE_PAUSE_MS = 10 };

static int write_text(const char *path, const char *value)
{
	size_t length = strlen(value);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (length > 0 && write(fd, value, length) != (ssize_t)length)
		error = errno ? -errno : -EIO;
	close(fd);
	return error;
}

int tracefs_write(const struct tracefs *fs, const char *file, const char *value)
{
	char path[640];

	snprintf(path, sizeof(path), "%s/%s", fs->base, file);
	return write_text(path, value);
}

ssize_t tracefs_read(const struct tracefs *fs, const char *file, char *text, size_t size)
{
	char path[640];

	snprintf(path, sizeof(path), "%s/%s", fs->base, file);
	return file_read(path, text, size);
}

int tracefs_clock(const struct tracefs *fs, char *clock, size_t size)
{
	char text[256];
	ssize_t n = tracefs_read(fs, "trace_clock", text, sizeof(text));
	const char *at = n > 0 ? strchr(text, '[') : NULL;

	if (n < 0)
		return (int)n;
	at = at ? at + 1 : text;
	snprintf(clock, size, "%.*s", (int)strcspn(at, "] \n"), at);
	return 0;
}

/* When a process began, in ticks since boot, which tells it from a later one of the same number.
 * 0: there is no such process. */
static unsigned long long began(long pid)
{
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (file_read(path, text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

void tracefs_own_name(char *name, size_t size)
{
	snprintf(name, size, "%s%ld-%llu", prefix, (long)getpid(), began(getpid()));
}

bool tracefs_is_stale(const char *name)
{
	long pid;
	unsigned long long start;
	char rest;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 ||
	    sscanf(name + sizeof(prefix) - 1, "%ld-%llu%c", &pid, &start, &rest) != 2)
		return false;
	return began(pid) != start;
}

/* The kernel refuses to remove an instance of which something is still open, so that a recorder
 * that only seems to be gone (in a container, say) keeps its own. */
int tracefs_remove_stale(const struct tracefs *fs)
{
	char path[640];
	int removed = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/instances", fs->root);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!tracefs_is_stale(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", fs->root, entry->d_name);
		removed += rmdir(path) == 0;
	}
	if (dir)
		closedir(dir);
	return removed;
}

static bool is_tracefs(const char *path)
{
	char file[320];

	snprintf(file, sizeof(file), "%s/events/header_page", path);
	return access(file, F_OK) == 0;
}

/* In a mount namespace of our own: it goes with us, however we end, and nobody else sees it. */
static int mount_own(struct tracefs *fs)
{
	static const char *const kinds[][3] = {
		{"tracefs", "/sys/kernel/tracing", ""},
		{"debugfs", "/sys/kernel/debug", "/tracing"},
	};
	int error = ENODEV;

	fs->outer = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (mount("none", kinds[i][1], kinds[i][0], 0, NULL) < 0) {
			error = errno == ENOENT ? error : errno;
			continue;
		}
		snprintf(fs->root, sizeof(fs->root), "%s%s", kinds[i][1], kinds[i][2]);
		if (is_tracefs(fs->root)) {
			fs->mounted = true;
			return 0;
		}
	}
	return -error;
}

static int find_root(struct tracefs *fs, const char *root)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	int error;

	if (root[0]) {
		snprintf(fs->root, sizeof(fs->root), "%s", root);
		return is_tracefs(root) ? 0 : json_error(77, ENOENT, "trace: %s is no tracefs "
							 "(it has no events/header_page)", root);
	}
	if (geteuid() != 0)
		return json_error(77, EPERM, "trace: the kernel's trace files are root's: log in as "
					     "root");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(fs->root, sizeof(fs->root), "%s", places[i]);
		if (is_tracefs(fs->root))
			return 0;
	}
	error = mount_own(fs);
	return error ? json_error(77, -error, "trace: this kernel has no tracefs that can be mounted: "
					      "it takes CONFIG_TRACING and a kernel that is not "
					      "locked down") : 0;
}

/* Kernels before 3.10 have no instances, and most trace graphs of functions at the top level alone.
 * It is used there only while nobody else does: what stands in its buffer is lost. */
static int take_top_level(struct tracefs *fs, int why)
{
	const char *file = "set_graph_function", *who = "somebody traces functions";
	char text[256], at_work[288];
	bool busy;

	busy = fs->graph && tracefs_read(fs, file, text, sizeof(text)) > 0 && text[0] != '#';
	if (!busy) {
		file = "set_event";
		who = "somebody records events";
		busy = tracefs_read(fs, file, text, sizeof(text)) > 0;
	}
	if (!busy) {
		file = "current_tracer";
		busy = tracefs_read(fs, file, text, sizeof(text)) > 0 && strcmp(text, "nop") != 0;
		snprintf(at_work, sizeof(at_work), "the tracer %s is at work", text);
		who = at_work;
	}
	if (busy)
		return json_error(77, EBUSY, "trace: the top level is needed (%s), and %s there: "
					     "reset %s/%s", fs->graph ? "--graph" : errno_name(why),
				  who, fs->root, file);
	tracefs_read(fs, "tracing_on", fs->old_on, sizeof(fs->old_on));
	tracefs_clock(fs, fs->old_clock, sizeof(fs->old_clock));
	if (tracefs_read(fs, "buffer_size_kb", text, sizeof(text)) > 0) {
		/* "7 (expanded: 1408)" is a buffer that grows when it is first used */
		const char *at = strstr(text, "expanded: ");
		snprintf(fs->old_kb, sizeof(fs->old_kb), "%ld", atol(at ? at + 10 : text));
	}
	fs->taken = true;
	return 0;
}

static void keep_error(int *error, int status)
{
	if (*error == 0)
		*error = status;
}

/* With `base` at the top level, where they are. */
static int read_settings(struct tracefs *fs, const char *text)
{
	for (int n; fs->setting_count < SETTINGS; text += n) {
		struct setting *s = &fs->settings[fs->setting_count];
		if (sscanf(text, "%39[^=]=%127[^;]%n", s->file, s->values[WANTED], &n) < 2)
			break;
		if (tracefs_read(fs, s->file, s->values[WAS], sizeof(s->values[WAS])) < 0)
			return json_error(77, ENOENT, "trace: this kernel has no %s", s->file);
		n += text[n] == ';';
		fs->setting_count++;
	}
	return 0;
}

/* Twice, as some values are bounds of others: what the first time was refused fits the second. */
int tracefs_set(const struct tracefs *fs, int which)
{
	char path[640];
	int error = 0;

	for (int pass = 0; pass < 2; pass++) {
		error = 0;
		for (int i = 0; i < fs->setting_count; i++) {
			snprintf(path, sizeof(path), "%s/%s", fs->root, fs->settings[i].file);
			keep_error(&error, write_text(path, fs->settings[i].values[which]));
		}
	}
	return error;
}

int tracefs_open(struct tracefs *fs, const char *root, bool graph, const char *settings)
{
	int status;

	*fs = (struct tracefs){.outer = -1, .graph = graph};
	status = find_root(fs, root);
	if (status)
		return status;
	tracefs_remove_stale(fs);
	snprintf(fs->base, sizeof(fs->base), "%s", fs->root);
	status = read_settings(fs, settings);
	if (status)
		return status;
	if (graph)
		return take_top_level(fs, 0);
	tracefs_own_name(fs->instance, sizeof(fs->instance));
	snprintf(fs->base, sizeof(fs->base), "%s/instances/%s", fs->root, fs->instance);
	if (mkdir(fs->base, 0700) == 0) {
		fs->taken = true;
		return 0;
	}
	status = errno;
	fs->instance[0] = '\0';
	snprintf(fs->base, sizeof(fs->base), "%s", fs->root);
	if (status == EACCES || status == EPERM)
		return json_error(77, status, "trace: %s cannot be written: log in as root, and on a "
					      "kernel that is not locked down", fs->root);
	return take_top_level(fs, status);
}

/* The number by which events know this thread: in a container it is another one than here. A mark
 * is shown with it. 0 where it cannot be found. */
static long own_number(const struct tracefs *fs)
{
	static const char mark[] = "benchvise: who writes this";
	char text[8192], *line, *end, *digits;
	size_t length = 0;
	ssize_t n = 0;
	int fd;

	tracefs_write(fs, "tracing_on", "1");
	tracefs_write(fs, "trace_marker", mark);
	tracefs_write(fs, "tracing_on", "0");
	snprintf(text, sizeof(text), "%s/trace", fs->base);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && length < sizeof(text) - 1 &&
	       (n = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)n;
	if (fd >= 0)
		close(fd);
	text[length] = '\0';
	tracefs_write(fs, "trace", "");
	end = strstr(text, mark);
	if (!end)
		return 0;
	/* "  bvio-4711  [000] .....  12.345678: tracing_mark_write: ": names may hold anything */
	*end = '\0';
	line = strrchr(text, '\n');
	end = strstr(line ? line : text, "  [");
	if (!end)
		end = strstr(line ? line : text, " [");
	if (!end)
		return 0;
	*end = '\0';
	digits = strrchr(line ? line : text, '-');
	return digits ? strtol(digits + 1, NULL, 10) : 0;
}

bool tracefs_restrict(const struct tracefs *fs)
{
	char number[16];
	long own;

	/* The top level stays as it is: what was asked for there would outlive us. */
	if (!fs->instance[0] || tracefs_write(fs, "options/event-fork", "1") < 0)
		return false;
	own = own_number(fs);
	snprintf(number, sizeof(number), "%ld", own);
	return own > 0 && tracefs_write(fs, "set_event_pid", number) == 0;
}

/* Whoever was killed holds the buffers for a moment yet. */
static int remove_instance(const struct tracefs *fs)
{
	struct timespec pause = {0, RELEASE_PAUSE_MS * 1000000};

	for (int i = 0; i < RELEASE_TRIES; i++) {
		if (rmdir(fs->base) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		nanosleep(&pause, NULL);
	}
	return -errno;
}

static int release_top_level(const struct tracefs *fs)
{
	int error = 0;

	if (fs->tracer)
		keep_error(&error, tracefs_write(fs, "current_tracer", "nop"));
	if (fs->functions)
		keep_error(&error, tracefs_write(fs, "set_ftrace_filter", ""));
	if (fs->graph) {
		keep_error(&error, tracefs_write(fs, "set_graph_function", ""));
		keep_error(&error, tracefs_write(fs, "max_graph_depth", "0"));
	}
	keep_error(&error, tracefs_write(fs, "set_event", "")); /* which truncates it */
	keep_error(&error, tracefs_write(fs, "trace_clock", fs->old_clock));
	keep_error(&error, tracefs_write(fs, "buffer_size_kb", fs->old_kb));
	tracefs_write(fs, "trace", "");
	keep_error(&error, tracefs_write(fs, "tracing_on", fs->old_on));
	return error;
}

int tracefs_release(struct tracefs *fs)
{
	int error;

	if (!fs->taken)
		return 0;
	fs->taken = false;
	tracefs_write(fs, "tracing_on", "0");
	error = fs->instance[0] ? remove_instance(fs) : release_top_level(fs);
	keep_error(&error, tracefs_set(fs, WAS)); /* when the tracer runs no more */
	return error;
}

void tracefs_leave(const struct tracefs *fs)
{
	if (fs->mounted && fs->outer >= 0)
		setns(fs->outer, CLONE_NEWNS);
}
