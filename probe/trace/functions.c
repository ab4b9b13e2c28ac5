/* The function tracers. See functions.h. */
#include "trace/functions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

/* Appends a pattern to a filter, which the first write has emptied. */
static int add(const struct tracefs *fs, const char *file, const char *pattern)
{
	char path[640];
	ssize_t n;
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/%s", fs->base, file);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, pattern, strlen(pattern));
	if (n < 0)
		error = -errno;
	/* The kernel takes the last word when the file is closed. */
	if (close(fd) < 0 && error == 0)
		error = -errno;
	return error;
}

static int check(const struct tracefs *fs, const char *tracer)
{
	char text[512];

	if (tracefs_read(fs, "available_tracers", text, sizeof(text)) > 0 && has_word(text, tracer))
		return 0;
	return json_error(77, ENOENT, "trace: this kernel has no tracer %s", tracer);
}

static int start(const struct tracefs *fs, const char *tracer, int error)
{
	if (error == 0)
		error = tracefs_write(fs, "current_tracer", tracer);
	return error ? json_error(77, -error, "trace: the kernel refuses the tracer %s", tracer) : 0;
}

int tracer_begin(const struct tracefs *fs, const char *tracer)
{
	int status = check(fs, tracer), error = status ? 0 : tracefs_set(fs, WANTED);

	if (error)
		return json_error(77, -error, "trace: the kernel refuses a setting of %s", tracer);
	return status ? status : start(fs, tracer, 0);
}

int functions_begin(const struct tracefs *fs, const char *patterns, bool graph, unsigned depth)
{
	const char *tracer = graph ? "function_graph" : "function";
	const char *file = graph ? "set_graph_function" : "set_ftrace_filter";
	char text[512], number[16];
	int error;

	error = check(fs, tracer);
	if (error)
		return error;
	error = tracefs_write(fs, file, "");
	for (const char *at = patterns; error == 0 && *at; at += strspn(at, ",")) {
		size_t n = strcspn(at, ",");
		snprintf(text, sizeof(text), "%.*s\n", (int)n, at);
		error = n + 2 > sizeof(text) ? -ENAMETOOLONG : add(fs, file, text);
		if (error)
			return json_error(77, -error, "trace: no function that can be traced matches "
						      "'%.*s'", (int)n, at);
		at += n;
	}
	if (error == 0 && graph) {
		snprintf(number, sizeof(number), "%u", depth);
		error = tracefs_write(fs, "max_graph_depth", number);
		/* Of a call whose begin finds the buffer closed, the kernel misses the end, and takes
		 * all that its thread does afterwards for a part of it. */
		error = error ? error : tracefs_write(fs, "tracing_on", "1");
	}
	return start(fs, tracer, error);
}
