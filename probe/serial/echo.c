/* The remote end of a serial line under test: what comes goes back, and nothing is added.
 *
 * The line is raw: no byte means anything but itself, except under software flow control. Any rate
 * is asked for by number (BOTHER, Linux include/uapi/asm-generic/termbits.h), as standard constants
 * lack many that boards use. What the driver counts (TIOCGICOUNT) is said at the end. */
#include "serial/echo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/serial.h>
#include <sys/ioctl.h>

#include "core/param.h"

enum { BUFFER = 65536 };

struct line {
	int fd;
	uint64_t received, returned;
	size_t held; /* bytes of `buffer` that are still to go back */
	size_t begin;
	char buffer[BUFFER];
};

static const struct param params[] = {
	{"port", PARAM_TEXT, "/dev/ttyS0", 1, 255, NULL, "the serial port"},
	{"baud", PARAM_INTEGER, "115200", 1, 100000000, NULL, "its rate"},
	{"flow", PARAM_CHOICE, "none", 0, 0, "none xonxoff rtscts", "how a sender is told to wait"},
	{0},
};

static int make_raw(int fd, const struct args *args, struct termios2 *before)
{
	struct termios2 now = {0};

	if (ioctl(fd, TCGETS2, before) != 0)
		return -errno;
	memcpy(now.c_cc, before->c_cc, sizeof(now.c_cc));
	now.c_cflag = CS8 | CREAD | CLOCAL | BOTHER;
	now.c_cflag |= arg_is(args, "flow", "rtscts") ? CRTSCTS : 0;
	now.c_iflag = arg_is(args, "flow", "xonxoff") ? IXON | IXOFF : 0;
	now.c_ispeed = now.c_ospeed = (speed_t)arg_number(args, "baud");
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	return ioctl(fd, TCSETS2, &now) != 0 ? -errno : 0;
}

/* What has come, as far as it is held. Returns 0, or a negative errno when the port has gone. */
static int take(struct line *l)
{
	ssize_t got = read(l->fd, l->buffer, sizeof(l->buffer));

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	l->begin = 0;
	l->held = (size_t)got;
	l->received += (uint64_t)got;
	return 0;
}

static int give(struct line *l)
{
	ssize_t put = write(l->fd, l->buffer + l->begin, l->held);

	if (put < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	l->begin += (size_t)put;
	l->held -= (size_t)put;
	l->returned += (uint64_t)put;
	return 0;
}

/* Whether standard input is at its end: whoever asked has gone, or has enough. */
static int has_ended(const struct pollfd *input)
{
	char word[64];

	return input->revents && read(input->fd, word, sizeof(word)) <= 0;
}

static int serve(struct line *l)
{
	for (;;) {
		struct pollfd fds[] = {
			{.fd = l->fd, .events = l->held ? POLLOUT : POLLIN},
			{.fd = STDIN_FILENO, .events = POLLIN},
		};
		int error = 0;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (has_ended(&fds[1]))
			return 0;
		if (fds[0].revents & POLLOUT)
			error = give(l);
		else if (fds[0].revents & POLLIN)
			error = take(l);
		else if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL))
			return -EIO;
		if (error)
			return error;
	}
}

static int say_end(const struct line *l, const char *why)
{
	struct serial_icounter_struct counted;
	struct json j = {0};
	int status;

	json_begin(&j, "echoed");
	json_unsigned(&j, "received", l->received);
	json_unsigned(&j, "returned", l->returned);
	if (why)
		json_string(&j, "ended", why);
	if (ioctl(l->fd, TIOCGICOUNT, &counted) == 0) {
		json_open(&j, "counters", '{');
		json_signed(&j, "frame", counted.frame);
		json_signed(&j, "overrun", counted.overrun);
		json_signed(&j, "parity", counted.parity);
		json_signed(&j, "break", counted.brk);
		json_signed(&j, "buffer_overrun", counted.buf_overrun);
		json_close(&j, '}');
	} else {
		json_na(&j, "counters", "this driver does not count");
	}
	status = json_send(&j);
	free(j.text);
	return status;
}

int echo(int argc, char *const argv[])
{
	static struct line l;
	struct termios2 before;
	struct args args;
	struct json j = {0};
	const char *path;
	int status, error;

	args_begin(&args, NULL, params);
	status = args_parse(&args, "echo", argc, argv);
	if (status)
		return status;
	path = arg_text(&args, "port");
	l.fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (l.fd < 0)
		return json_error(1, errno, "echo: %s cannot be opened: name a serial port of this "
					    "board that is free", path);
	error = make_raw(l.fd, &args, &before);
	if (error) {
		close(l.fd);
		return json_error(1, -error, "echo: %s cannot be set to %s baud with flow control "
					     "%s", path, arg_text(&args, "baud"),
				  arg_text(&args, "flow"));
	}
	json_begin(&j, "echoing");
	args_describe(&args, &j, "params");
	status = json_send(&j);
	free(j.text);
	if (status == 0) {
		error = serve(&l);
		status = say_end(&l, error ? strerror(-error) : NULL);
	}
	ioctl(l.fd, TCFLSH, TCOFLUSH); /* else closing waits for what nobody takes */
	ioctl(l.fd, TCSETS2, &before);
	close(l.fd);
	return error ? 1 : status;
}
