/* Writing one file and reading it back. See state.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "state/state.h"
#include "state/trees.h"

static int write_value(const char *path, const char *value)
{
	size_t length = strlen(value);
	int error = state_check(path);
	ssize_t n;
	int fd;

	if (error)
		return error;
	/* No O_CREAT, no O_TRUNC: a knob exists, and takes its value in one write. */
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	n = write(fd, value, length);
	if (n < 0)
		error = -errno;
	else if ((size_t)n != length)
		error = -EIO; /* half a value was taken */
	if (close(fd) < 0 && error == 0)
		error = -errno;
	return error;
}

struct description {
	struct json *j;
	const char *key;
};

static int take_value(void *context, const char *path, const char *value)
{
	const struct description *d = context;

	(void)path;
	json_string(d->j, d->key, value);
	return 0;
}

/* Without the white space at its end, so that what was written compares equal. */
static void describe(struct json *j, const char *key, const char *path)
{
	static char text[STATE_VALUE_MAX + 1];
	bool cut;
	ssize_t n;

	if (tree_is_path(path)) {
		struct description d = {j, key};
		if (tree_each(path, take_value, &d) == 0)
			json_na(j, key, errno_name(ENOENT));
		return;
	}
	n = state_read_file(path, text, STATE_VALUE_MAX, &cut);
	if (n < 0) {
		json_na(j, key, errno_name((int)-n));
		return;
	}
	while (n > 0 && (unsigned char)text[n - 1] <= ' ')
		n--;
	text[n] = '\0';
	json_string(j, key, text);
}

int state_write(const char *path, const char *value)
{
	struct json j = {0};
	int error, lost;

	json_begin(&j, "write");
	json_string(&j, "path", path);
	json_string(&j, "asked", value);
	describe(&j, "old", path);
	error = tree_is_path(path) ? tree_write(path, value) : write_value(path, value);
	describe(&j, "now", path);
	if (error) {
		json_signed(&j, "errno", -error);
		json_string(&j, "error", errno_name(-error));
	}
	lost = json_send(&j);
	free(j.text);
	return error || lost ? 1 : 0;
}
