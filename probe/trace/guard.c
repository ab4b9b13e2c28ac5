/* A process that puts everything back. See guard.h. */
#include "trace/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 30 }; /* of two seconds each, while somebody holds what is to go */

/* The guard has a session of its own, as a signal that ends the recorder often goes to its whole
 * process group; and it has nothing open, so that it keeps no connection from closing. */
static void watch(const struct tracefs *of, int end)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	char dismissal;
	ssize_t n;

	setsid();
	prctl(PR_SET_NAME, "bvtrace-guard");
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	for (int fd = 0; fd < 64; fd++)
		if (fd != end)
			close(fd);
	do
		n = read(end, &dismissal, 1);
	while (n < 0 && errno == EINTR);
	for (int i = 0; n == 0 && i < TRIES; i++) {
		struct tracefs fs = *of; /* which remembers what is yet to be done */
		if (tracefs_release(&fs) == 0)
			break;
	}
	_exit(0);
}

int guard_start(struct guard *g, const struct tracefs *fs)
{
	int ends[2];

	*g = (struct guard){.pid = -1, .alive = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	g->pid = fork();
	if (g->pid == 0) {
		close(ends[1]);
		watch(fs, ends[0]);
	}
	close(ends[0]);
	if (g->pid < 0) {
		close(ends[1]);
		return -errno;
	}
	g->alive = ends[1];
	return 0;
}

void guard_leave(struct guard *g)
{
	if (g->pid > 0)
		close(g->alive);
	g->pid = -1;
}

void guard_dismiss(struct guard *g)
{
	if (g->pid <= 0)
		return;
	if (write(g->alive, "", 1) == 1)
		waitpid(g->pid, NULL, 0);
	close(g->alive);
	g->pid = -1;
}
