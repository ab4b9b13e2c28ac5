/* Lines of a control connection, however they arrive in pieces; what is too long, no number, or the
 * wrong word is refused; an end is noticed. */
#include "net/control.h"
#include "tests/check.h"

#include <errno.h>
#include <sys/socket.h>

static void say(int fd, const char *text)
{
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void numbers(void)
{
	uint64_t n[3];

	CHECK(control_numbers("", n, 3) == 0);
	CHECK(control_numbers(" 1  22 18446744073709551615 ", n, 3) == 3);
	CHECK(n[0] == 1 && n[1] == 22 && n[2] == UINT64_MAX);
	CHECK(control_numbers("1 2 3 4", n, 3) == -1);
	CHECK(control_numbers("-1", n, 3) == -1);
	CHECK(control_numbers("1x", n, 3) == -1);
	CHECK(control_numbers("one", n, 3) == -1);
}

int main(void)
{
	static char flood[CONTROL_LINE + 1];
	struct control c = {0};
	_Atomic int failed = -EPIPE;
	uint64_t n[2];
	char *line;
	int ends[2];

	numbers();
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	c.fd = ends[0];
	CHECK(control_fill(&c) == -EAGAIN);
	say(ends[1], "one\ntw");
	CHECK(control_wait(&c, &line, 1000, NULL) == 0);
	CHECK_TEXT(line, "one");
	CHECK(control_wait(&c, &line, 10, NULL) == -ETIMEDOUT);
	CHECK(control_wait(&c, &line, 10000, &failed) == -EPIPE);
	say(ends[1], "o\n\nwindow 1 2\nwindow 1\nwindows 1 2\nerror no\n");
	CHECK(control_wait(&c, &line, 1000, NULL) == 0);
	CHECK_TEXT(line, "two");
	CHECK(control_wait(&c, &line, 1000, NULL) == 0);
	CHECK_TEXT(line, "");
	CHECK(control_expect(&c, "window", n, 2, 1000, NULL) == 0 && n[1] == 2);
	CHECK(control_expect(&c, "window", n, 2, 1000, NULL) == -EPROTO);
	CHECK(control_expect(&c, "window", n, 2, 1000, NULL) == -EPROTO);
	CHECK(control_expect(&c, "window", n, 2, 1000, NULL) == -EREMOTEIO);

	CHECK(control_send(&c, "stop %d", 7) == 0);
	CHECK(read(ends[1], flood, sizeof(flood)) == 7 && memcmp(flood, "stop 7\n", 7) == 0);
	memset(flood, 'x', sizeof(flood));
	flood[sizeof(flood) - 1] = '\0';
	CHECK(control_send(&c, "%s", flood) == -E2BIG);
	say(ends[1], flood);
	CHECK(control_wait(&c, &line, 1000, NULL) == -EPROTO);

	c.length = c.taken = 0;
	say(ends[1], "half");
	close(ends[1]);
	CHECK(control_wait(&c, &line, 1000, NULL) == -ECONNRESET);
	return 0;
}
