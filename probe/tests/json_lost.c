/* A reader that went away is an error that is returned; a full pipe that does not block is waited
 * for; a line is written at once. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/json.h"
#include "tests/check.h"

static struct json j;

static void make_line(size_t length)
{
	char *value = malloc(length + 1);

	CHECK(value != NULL);
	memset(value, 'a', length);
	value[length] = '\0';
	json_begin(&j, "t");
	json_string(&j, "v", value);
	free(value);
}

static void test_slow_reader(int ends[2])
{
	size_t wanted = 300000 + strlen("{\"type\":\"t\",\"v\":\"\"}\n");
	pid_t reader;
	int status;

	CHECK(pipe(ends) == 0);
	fflush(stdout);
	reader = fork();
	CHECK(reader >= 0);
	if (reader == 0) {
		static char data[4096];
		size_t total = 0;
		ssize_t n;
		close(ends[1]);
		usleep(20000);
		while ((n = read(ends[0], data, sizeof(data))) > 0)
			total += (size_t)n;
		_exit(total == wanted && data[0] != '\0' ? 0 : 1);
	}
	close(ends[0]);
	CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
	close(ends[1]);
	make_line(300000);
	CHECK(json_send(&j) == 0);
	CHECK(dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO); /* the pipe ends */
	CHECK(waitpid(reader, &status, 0) == reader && status == 0);
}

int main(void)
{
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	test_slow_reader(ends);

	CHECK(pipe(ends) == 0);
	CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
	close(ends[0]);
	make_line(10);
	CHECK(json_send(&j) == -EPIPE);
	CHECK(json_error(77, 0, "nobody reads this") == 77);

	close(STDOUT_FILENO);
	make_line(10);
	CHECK(json_send(&j) == -EBADF);
	free(j.text);
	return 0;
}
