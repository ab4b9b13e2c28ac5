/* Many requests over one connection. See serve.h. */
#include "core/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/keep.h"
#include "state/state.h"

enum { LINE_MAX_BYTES = 65536 };

/* The reader's going away shows as POLLERR on a pipe and as POLLHUP on a socket. */
static bool is_gone(const struct pollfd *out)
{
	return (out->revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

/* False when nobody reads our lines any more: then no request can be answered. */
static bool wait_for_input(void)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = STDOUT_FILENO}};

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		continue;
	return !is_gone(&fds[1]);
}

/* A pipe of our own, to look into standard input where that is one. */
static int mirror[2] = {-1, -1};

/* What lies in standard input, which stays there; negative where it cannot be looked into. */
static ssize_t look_ahead(char *part, size_t size)
{
	ssize_t seen = recv(STDIN_FILENO, part, size, MSG_PEEK);

	if (seen >= 0 || errno != ENOTSOCK)
		return seen;
	seen = tee(STDIN_FILENO, mirror[1], size, 0);
	return seen > 0 ? read(mirror[0], part, (size_t)seen) : seen;
}

/* Reads to the end of a line at most: what follows it on standard input belongs to the process that
 * answers (its acknowledgements), and must not lie in a buffer here. */
static ssize_t read_part(char *part, size_t size)
{
	ssize_t seen = look_ahead(part, size);
	char *end;

	if (seen < 0)
		return file_read_byte(STDIN_FILENO, part);
	if (seen == 0)
		return 0;
	end = memchr(part, '\n', (size_t)seen);
	return read(STDIN_FILENO, part, end ? (size_t)(end - part) + 1 : (size_t)seen);
}

/* One line. Returns the length, -1 at the end of input, or LINE_MAX_BYTES for a line that is too
 * long (it is read to its end). */
static int read_line(char *line)
{
	int length = 0;

	if (!wait_for_input())
		return -1;
	for (;;) {
		char part[4096];
		ssize_t count = read_part(part, sizeof(part));
		bool is_end = count > 0 && part[count - 1] == '\n';

		if (count <= 0)
			return -1;
		if (is_end)
			count--;
		if (count > LINE_MAX_BYTES - length)
			count = LINE_MAX_BYTES - length;
		memcpy(line + length, part, (size_t)count);
		length += (int)count;
		if (is_end)
			break;
	}
	if (length < LINE_MAX_BYTES)
		line[length] = '\0';
	return length;
}

static void on_child(int signal)
{
	(void)signal; /* only there to interrupt ppoll(2) */
}

/* Waits for the child without waking up meanwhile, and ends it when nobody reads its lines. */
static int wait_for(pid_t child, const sigset_t *unblocked)
{
	struct pollfd out = {.fd = STDOUT_FILENO};
	int status = 0;

	while (waitpid(child, &status, WNOHANG) == 0) {
		if (ppoll(&out, 1, NULL, unblocked) > 0 && is_gone(&out)) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			break;
		}
	}
	return status;
}

/* A benchmark runs in a process of its own, newly executed: a fresh address-space layout and
 * fresh pages each time are part of the protocol. */
static int run_fresh(command_line *run, const char *self, const struct request *request)
{
	char *argv[REQUEST_ARGS + 2] = {(char *)self};
	struct sigaction action = {.sa_handler = on_child};
	sigset_t child_signal, before, unblocked;
	pid_t parent = getpid();
	pid_t child;
	int status;

	memcpy(argv + 1, request->args, sizeof(request->args));
	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigaction(SIGCHLD, &action, NULL);
	sigprocmask(SIG_BLOCK, &child_signal, &before);
	unblocked = before;
	sigdelset(&unblocked, SIGCHLD); /* whoever started us may have blocked it */
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		sigprocmask(SIG_SETMASK, &before, NULL);
		execv("/proc/self/exe", argv);
		execv(self, argv);
		/* neither could be executed (under qemu-user, say): a forked process will do */
		_exit(run(request->arg_count + 1, argv));
	}
	if (child < 0)
		status = json_error(1, errno, "serve: cannot start a process") << 8;
	else
		status = wait_for(child, &unblocked);
	keep_collect();
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

static int answer(command_line *run, const char *self, struct request *request)
{
	char *argv[REQUEST_ARGS + 2] = {(char *)self};

	/* facts too: it goes from CPU to CPU and looks at itself; follow hands over to bvio */
	if (strcmp(request->args[0], "run") == 0 || strcmp(request->args[0], "facts") == 0 ||
	    strcmp(request->args[0], "follow") == 0)
		return run_fresh(run, self, request);
	if (strcmp(request->args[0], "read") == 0 || strcmp(request->args[0], "links") == 0)
		return state_globs(request->args[0], request->arg_count - 1, request->args + 1,
				   request->input, request->input_count) << 8;
	if (strcmp(request->args[0], "serve") == 0)
		return json_error(2, EINVAL, "serve: is being done already") << 8;
	if (strcmp(request->args[0], "trace") == 0)
		return json_error(2, EINVAL, "serve: a trace is recorded over a connection of its "
					     "own: bvprobe trace") << 8;
	memcpy(argv + 1, request->args, sizeof(request->args));
	return run(request->arg_count + 1, argv) << 8;
}

int serve(command_line *run, const char *self)
{
	static char line[LINE_MAX_BYTES + 1];
	static struct request request;
	struct json j = {0};
	const char *why;
	int length, lost;

	if (pipe2(mirror, O_CLOEXEC) < 0)
		mirror[0] = mirror[1] = -1; /* read byte by byte then */
	keep_begin();
	json_begin(&j, "ready");
	json_signed(&j, "protocol", PROBE_PROTOCOL);
	json_string(&j, "probe", PROBE_VERSION);
	json_string(&j, "arch", host_arch());
	lost = json_send(&j);
	while (!lost && (length = read_line(line)) >= 0) {
		int status = 2 << 8;

		if (length < LINE_MAX_BYTES && strspn(line, " \t\r") == (size_t)length)
			continue;
		request.number = 0;
		if (length == LINE_MAX_BYTES)
			json_error(2, E2BIG, "serve: a request is at most 65535 bytes: split it");
		else if (strlen(line) != (size_t)length)
			json_error(2, EINVAL, "serve: not a request: it holds a NUL");
		else if (json_parse_request(line, &request, &why) < 0)
			json_error(2, EINVAL, "serve: not a request: %s", why);
		else
			status = answer(run, self, &request);
		json_begin(&j, "done");
		json_unsigned(&j, "request", request.number);
		if (WIFSIGNALED(status))
			json_signed(&j, "signal", WTERMSIG(status));
		else
			json_signed(&j, "exit", WEXITSTATUS(status));
		lost = json_send(&j);
	}
	free(j.text);
	return lost ? 1 : 0;
}
