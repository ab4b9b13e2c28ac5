/* The file of a recording. See deliver.h. */
#include "trace/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int put(int fd, const char *data, size_t length)
{
	struct pollfd out = {.fd = fd, .events = POLLOUT};

	while (length > 0) {
		ssize_t n = write(fd, data, length);
		if (n > 0) {
			data += n;
			length -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			poll(&out, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			return n == 0 ? -EIO : -errno;
		}
	}
	return 0;
}

static int put_zeros(int fd, uint64_t length)
{
	static const char zeros[4096];
	int error = 0;

	while (length > 0 && !error) {
		size_t n = length < sizeof(zeros) ? (size_t)length : sizeof(zeros);
		error = put(fd, zeros, n);
		length -= n;
	}
	return error;
}

static int put_all(int fd, const struct recording *r, const struct bytes *head)
{
	int error = put(fd, head->data, head->length);

	for (int i = 0; i < r->readers.count && !error; i++) {
		const struct reader *one = &r->readers.each[i];
		for (const struct chunk *c = one->first; c && !error; c = c->next)
			error = put(fd, c->data, c->used);
		if (!error)
			error = put_zeros(fd, dat_padding(&r->dat, one->bytes));
	}
	return error;
}

static int to_stdout(const struct recording *r, const struct bytes *head, uint64_t length)
{
	struct json j = {0};
	int error;

	json_begin(&j, "file");
	json_unsigned(&j, "bytes", length);
	error = json_send(&j);
	free(j.text);
	return error ? error : put_all(STDOUT_FILENO, r, head);
}

/* Under its name only whole. */
static int to_file(const struct recording *r, const struct bytes *head, const char *path)
{
	char part[1100];
	int fd, error;

	snprintf(part, sizeof(part), "%s.part", path);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	error = put_all(fd, r, head);
	if (close(fd) < 0 && !error)
		error = -errno;
	if (!error && rename(part, path) < 0)
		error = -errno;
	if (error)
		unlink(part);
	return error;
}

int deliver(struct recording *r, const char *output)
{
	bool streamed = strcmp(output, "-") == 0;
	struct bytes head = {0};
	struct json j = {0};
	uint64_t length = dat_head(&r->dat, &head);
	int error = streamed ? to_stdout(r, &head, length) : to_file(r, &head, output);

	bytes_free(&head);
	if (error && streamed)
		return 1; /* nobody reads it: there is nobody to tell */
	if (error)
		return json_error(1, -error, "trace: %s cannot be written", output);
	json_begin(&j, "recorded");
	json_unsigned(&j, "file_bytes", length);
	recording_sum_up(r, &j);
	error = json_send(&j);
	free(j.text);
	return error ? 1 : 0;
}
