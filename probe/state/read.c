/* Reading files and symbolic links by glob. See state.h. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/json.h"
#include "core/param.h"
#include "state/state.h"
#include "state/trees.h"

enum { SECONDS_A_FILE = 2 };

static void on_alarm(int signal)
{
	(void)signal; /* only there to interrupt read(2) */
}

/* The alarm repeats itself: the first may strike just before read(2) begins. */
static void set_alarm(time_t seconds)
{
	struct itimerval time = {.it_value = {.tv_sec = seconds}, .it_interval = {.tv_sec = 1}};
	struct sigaction action = {.sa_handler = on_alarm};
	sigset_t set;

	if (seconds == 0) {
		time.it_interval.tv_sec = 0;
	} else {
		sigaction(SIGALRM, &action, NULL);
		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	setitimer(ITIMER_REAL, &time, NULL);
}

/* Some files of /sys ask a device and may take for ever: an alarm ends the read with EINTR. */
static ssize_t read_bounded(int fd, char *data, size_t size, bool *cut)
{
	size_t length = 0;
	ssize_t n;

	set_alarm(SECONDS_A_FILE);
	while ((n = read(fd, data + length, size - length)) > 0)
		length += (size_t)n;
	int error = n < 0 ? (errno == EINTR ? ETIMEDOUT : errno) : 0;
	set_alarm(0);
	*cut = error != 0;
	return error && length == 0 ? -error : (ssize_t)length;
}

int state_check(const char *path)
{
	struct stat st;

	/* before it is opened: opening /dev/watchdog starts it, opening a FIFO waits */
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? -EISDIR : S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* The length of what begins at data and fits `most` bytes without its last character being cut in
 * two; data[most] is there too. */
static size_t whole_characters(const char *data, size_t most)
{
	size_t n = most;

	while (n > most - 3 && (data[n] & 0xc0) == 0x80)
		n--;
	return n;
}

ssize_t state_read_file(const char *path, char *data, size_t limit, bool *cut)
{
	int error = state_check(path);
	ssize_t n;
	int fd;

	*cut = false;
	if (error)
		return error;
	/* O_NONBLOCK: a file such as trace_pipe waits for events otherwise. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	n = read_bounded(fd, data, limit + 1, cut);
	close(fd);
	if (n <= (ssize_t)limit)
		return n;
	*cut = true;
	return (ssize_t)whole_characters(data, limit);
}

static int send_error(struct json *j, int error)
{
	json_signed(j, "errno", error);
	json_string(j, "error", errno_name(error));
	return json_send(j);
}

static int report_file(struct json *j, const char *path, size_t limit)
{
	static char data[STATE_LIMIT_MAX + 1];
	bool cut;
	ssize_t n = state_read_file(path, data, limit, &cut);

	json_begin(j, "value");
	json_string(j, "path", path);
	if (n < 0)
		return send_error(j, (int)-n);
	json_bytes(j, "value", data, (size_t)n);
	if (cut)
		json_true(j, "truncated");
	return json_send(j);
}

static int report_link(struct json *j, const char *path, size_t limit)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	(void)limit;
	json_begin(j, "link");
	json_string(j, "path", path);
	if (n < 0)
		return send_error(j, errno);
	target[n] = '\0';
	json_string(j, "target", target);
	return json_send(j);
}

static int report_state(void *context, const char *path, const char *value)
{
	struct json *j = context;

	json_begin(j, "value");
	json_string(j, "path", path);
	json_bytes(j, "value", value, strlen(value));
	return json_send(j);
}

static int read_tree(const char *pattern)
{
	struct json j = {0};
	int matches = tree_each(pattern, report_state, &j);

	if (matches == 0) {
		json_begin(&j, "value");
		json_string(&j, "path", pattern);
		matches = send_error(&j, ENOENT) ? -1 : 0;
	}
	free(j.text);
	return matches < 0 ? 1 : 0;
}

static int for_each_match(const char *pattern, size_t limit,
			  int (*report)(struct json *j, const char *path, size_t limit))
{
	struct json j = {0};
	glob_t matches;
	int lost = 0;

	if (glob(pattern, GLOB_NOSORT, NULL, &matches) == 0) {
		for (size_t i = 0; i < matches.gl_pathc && !lost; i++)
			lost = report(&j, matches.gl_pathv[i], limit);
		globfree(&matches);
	} else {
		lost = report(&j, pattern, limit); /* says ENOENT, or that a directory refuses */
	}
	free(j.text);
	return lost ? 1 : 0;
}

int state_read(const char *pattern, size_t limit)
{
	if (tree_is_path(pattern))
		return read_tree(pattern);
	return for_each_match(pattern, limit, report_file);
}

int state_links(const char *pattern, size_t limit)
{
	return for_each_match(pattern, limit, report_link);
}

static state_answer *parse(const char *command, int argc, char *const argv[], size_t *limit)
{
	static const struct param params[] = {
		{"limit", PARAM_SIZE, "64K", 1, STATE_LIMIT_MAX, NULL,
		 "bytes after which a file is cut"},
		{0},
	};
	struct args args;

	args_begin(&args, NULL, params);
	if (args_parse(&args, command, argc, argv))
		return NULL;
	*limit = (size_t)arg_number(&args, "limit");
	return strcmp(command, "links") == 0 ? state_links : state_read;
}

int state_globs(const char *command, int argc, char *const argv[], char *const globs[], int count)
{
	size_t limit;
	state_answer *answer = parse(command, argc, argv, &limit);
	int status = 0;

	if (!answer)
		return 2;
	for (int i = 0; i < count && status == 0; i++)
		status = answer(globs[i], limit);
	return status;
}

int state_stdin(const char *command, int argc, char *const argv[])
{
	size_t limit;
	state_answer *answer = parse(command, argc, argv, &limit);
	char *line = NULL;
	size_t size = 0;
	int status = 0;

	if (!answer)
		return 2;
	while (status == 0 && getline(&line, &size, stdin) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			status = answer(line, limit);
	}
	free(line);
	return status;
}
