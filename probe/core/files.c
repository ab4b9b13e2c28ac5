/* Small reads of /proc and /sys. See files.h. */
#include "core/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

ssize_t file_read(const char *path, char *text, size_t size)
{
	size_t length = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (length < size - 1) {
		ssize_t n = read(fd, text + length, size - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int error = errno;
			close(fd);
			return -error;
		}
		if (n == 0)
			break;
		length += (size_t)n;
	}
	close(fd);
	while (length > 0 && (unsigned char)text[length - 1] <= ' ')
		length--;
	text[length] = '\0';
	return (ssize_t)length;
}

int file_read_byte(int fd, char *byte)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};

	for (;;) {
		ssize_t n = read(fd, byte, 1);
		if (n >= 0)
			return (int)n;
		if (errno == EAGAIN)
			poll(&in, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
}

int file_number(const char *path, int64_t *number)
{
	char text[64];
	char *end;
	ssize_t n = file_read(path, text, sizeof(text));

	if (n < 0)
		return (int)n;
	*number = strtoll(text, &end, 10);
	return end == text ? -EINVAL : 0;
}

int file_numberf(int64_t *number, const char *format, ...)
{
	char path[256];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return file_number(path, number);
}

int for_each_cpu(const char *list, void (*each)(int cpu, void *context), void *context)
{
	int count = 0;
	char *end;

	while (*list >= '0' && *list <= '9') {
		long first = strtol(list, &end, 10);
		long last = first;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long cpu = first; cpu <= last && cpu < 4096; cpu++, count++)
			each((int)cpu, context);
		list = *end == ',' ? end + 1 : end;
	}
	return count;
}
