/* The control connection of a session. See control.h. */
#include "net/control.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/clock.h"

int control_send(struct control *c, const char *format, ...)
{
	char text[CONTROL_LINE];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(text) - 1)
		return -E2BIG;
	text[length++] = '\n';
	/* A line is far smaller than any socket buffer: what does not go out at once never will. */
	return send(c->fd, text, (size_t)length, MSG_NOSIGNAL) == length ? 0
	       : errno == EPIPE						 ? -ECONNRESET
									 : -EIO;
}

char *control_take(struct control *c)
{
	char *end;

	memmove(c->text, c->text + c->taken, c->length - c->taken);
	c->length -= c->taken;
	c->taken = 0;
	end = memchr(c->text, '\n', c->length);
	if (!end)
		return NULL;
	*end = '\0';
	c->taken = (size_t)(end - c->text) + 1;
	return c->text;
}

int control_fill(struct control *c)
{
	ssize_t n;

	n = recv(c->fd, c->text + c->length, sizeof(c->text) - c->length, MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n == 0)
		return -ECONNRESET;
	c->length += (size_t)n;
	return c->length == sizeof(c->text) && !memchr(c->text, '\n', c->length) ? -EPROTO : 0;
}

int control_wait(struct control *c, char **line, int timeout_ms, const _Atomic int *failed)
{
	uint64_t until = clock_ns() + (uint64_t)timeout_ms * 1000000u;
	enum { LOOK_MS = 50 };

	while (!(*line = control_take(c))) {
		struct pollfd in = {.fd = c->fd, .events = POLLIN};
		if (failed && *failed)
			return *failed;
		if (clock_ns() >= until)
			return -ETIMEDOUT;
		if (poll(&in, 1, timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS) > 0) {
			int error = control_fill(c);
			if (error && error != -EAGAIN)
				return error;
		}
	}
	return 0;
}

int control_numbers(const char *text, uint64_t *numbers, int most)
{
	int count = 0;

	while (*text == ' ')
		text++;
	while (*text) {
		char *end;
		if (*text < '0' || *text > '9' || count == most)
			return -1;
		numbers[count++] = strtoull(text, &end, 10);
		if (*end && *end != ' ')
			return -1;
		for (text = end; *text == ' ';)
			text++;
	}
	return count;
}

int control_expect(struct control *c, const char *word, uint64_t *numbers, int count,
		   int timeout_ms, const _Atomic int *failed)
{
	size_t length = strlen(word);
	char *line;
	int error = control_wait(c, &line, timeout_ms, failed);

	if (error)
		return error;
	if (strncmp(line, "error", 5) == 0)
		return -EREMOTEIO;
	if (strncmp(line, word, length) != 0 || (line[length] && line[length] != ' ') ||
	    control_numbers(line + length, numbers, count) != count)
		return -EPROTO;
	return 0;
}
