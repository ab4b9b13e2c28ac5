/* What the programs of the probe share. See program.h. */
#include "core/program.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct benchmark *program_find(const benchmark_table table, const char *id)
{
	for (; *table; table++)
		if (strcmp((*table)->id, id) == 0)
			return *table;
	return NULL;
}

static void describe(const struct benchmark *b, struct json *j)
{
	json_open(j, NULL, '{');
	json_string(j, "id", b->id);
	json_string(j, "summary", b->summary);
	json_string(j, "unit", b->unit);
	json_string(j, "better", b->better);
	json_string(j, "counted", b->counted);
	json_string(j, "method", b->method);
	json_string(j, "pitfalls", b->pitfalls);
	json_string(j, "not_measured", b->not_measured);
	json_string(j, "peer", b->reference);
	params_describe(b->params, j, "parameters");
	json_open(j, "defaults", '{');
	for (const struct initial *i = b->initials; i && i->name; i++)
		json_string(j, i->name, i->value);
	json_close(j, '}');
	figures_describe(b->figures, j);
	json_close(j, '}');
}

void program_describe(const benchmark_table table, struct json *j)
{
	for (; *table; table++)
		describe(*table, j);
}

int program_become(const char *self, const char *name, int argc, char *const argv[])
{
	char own[PATH_MAX], path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char **words = calloc((size_t)argc + 2, sizeof(*words));

	if (!words)
		return -ENOMEM;
	if (n < 0) /* no /proc */
		n = snprintf(own, sizeof(own), "%s", self);
	own[n < PATH_MAX ? n : PATH_MAX - 1] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dirname(own), name);
	words[0] = path;
	memcpy(words + 1, argv, (size_t)argc * sizeof(*argv));
	execv(path, words);
	int error = errno;
	free(words);
	/* the file is there, and what it needs to be started is not */
	return error == ENOENT && access(path, X_OK) == 0 ? -ELIBACC : -error;
}

/* All of fd, with a NUL behind it; NULL without memory. */
static char *read_all(int fd, size_t *length)
{
	size_t size = 0;
	char *text = NULL;
	ssize_t n;

	*length = 0;
	do {
		if (*length + 1 >= size) {
			char *more = realloc(text, size = (size + 4096) * 2);
			if (!more)
				break;
			text = more;
		}
		n = read(fd, text + *length, size - *length - 1);
		*length += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (text)
		text[*length] = '\0';
	return text;
}

int program_include(const char *self, const char *name, const char *word, struct json *j)
{
	char *words[] = {(char *)word};
	int ends[2], status = -1;
	size_t length;

	if (pipe(ends) < 0)
		return -errno;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		program_become(self, name, 1, words);
		_exit(127);
	}
	close(ends[1]);
	char *text = child > 0 ? read_all(ends[0], &length) : NULL;
	close(ends[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	bool well = text && status == 0 && length > 1 && text[length - 1] == '\n';
	if (well) {
		text[length - 1] = '\0';
		json_members(j, text);
	}
	free(text);
	return well ? 0 : -ENOEXEC;
}
