/* Waiting for the end of a recording. See watch.h. */
#include "trace/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files.h"
#include "core/json.h"

enum { ORDER_MAX = 1024, GRACE_TRIES = 100, GRACE_PAUSE_MS = 10 };

static const char command_mark[] = "benchvise: command";
static const char met_mark[] = "benchvise: the condition is met";
static const char clock_mark[] = "benchvise: clock ";

static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};

static sigset_t held_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		sigaddset(&set, held[i]);
	return set;
}

int watch_signals(struct watch *w)
{
	sigset_t set = held_set();

	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		signal(held[i], SIG_DFL); /* one that is ignored would never be seen (nohup) */
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0 ? -errno : 0;
}

void watch_let_signals(struct watch *w)
{
	struct signalfd_siginfo seen;
	sigset_t set = held_set();

	while (read(w->signals, &seen, sizeof(seen)) == (ssize_t)sizeof(seen))
		continue;
	close(w->signals);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* What it says goes to standard error: standard output holds our lines. */
static void become_command(const struct watch *w, const struct tracefs *fs, pid_t parent)
{
	sigset_t set = held_set();

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (w->announced)
		(void)!write(w->marker, command_mark, sizeof(command_mark) - 1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGPIPE, SIG_DFL);
	tracefs_leave(fs);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	close(STDIN_FILENO);
	open("/dev/null", O_RDONLY);
	execvp(w->command[0], w->command);
	fprintf(stderr, "%s: %s\n", w->command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int watch_start_command(struct watch *w, const struct tracefs *fs)
{
	pid_t parent = getpid();

	w->status = -1;
	if (!w->command)
		return 0;
	w->pid = fork();
	if (w->pid == 0)
		become_command(w, fs, parent);
	return w->pid < 0 ? -errno : 0;
}

static bool command_ended(struct watch *w)
{
	int status;

	if (w->pid <= 0 || waitpid(w->pid, &status, WNOHANG) != w->pid)
		return false;
	w->status = status;
	w->pid = 0;
	return true;
}

void watch_end_command(struct watch *w)
{
	struct timespec pause = {0, GRACE_PAUSE_MS * 1000000};

	if (w->pid <= 0)
		return;
	kill(-w->pid, SIGTERM);
	for (int i = 0; i < GRACE_TRIES && waitpid(w->pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
	kill(-w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	w->pid = 0;
}

/* The host asks what time it is: the stamp of a mark says so on the very clock of the trace, and the
 * answer tells the host before when that was. */
static void mark_clock(const struct watch *w, const char *number)
{
	char text[sizeof(clock_mark) + 16];
	struct json j = {0};
	int n = snprintf(text, sizeof(text), "%s%.15s", clock_mark, number);
	bool written = write(w->marker, text, (size_t)n) == n;
	int error = errno;

	json_begin(&j, "clock");
	json_string(&j, "number", number);
	if (!written)
		json_na(&j, "mark", errno_name(error));
	json_send(&j);
	free(j.text);
}

/* One order of the host: `stop`, `mark TEXT` or `clock NUMBER`. Returns why to end, or NULL. */
static const char *obey(struct watch *w, const char *order)
{
	static const char mark[] = "mark ", clock[] = "clock ";
	size_t n = sizeof(mark) - 1;

	if (strcmp(order, "stop") == 0)
		return "stopped";
	if (strncmp(order, clock, sizeof(clock) - 1) == 0)
		mark_clock(w, order + sizeof(clock) - 1);
	else if (strncmp(order, mark, n) == 0 && write(w->marker, order + n, strlen(order + n)) < 0)
		return NULL; /* tracing was switched off by somebody: the trace shows it */
	return NULL;
}

/* Reads what the host says. Its end is the host's. */
static const char *listen_to_host(struct watch *w, bool *gone)
{
	static char line[ORDER_MAX];
	static size_t length;
	const char *why = NULL;
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char c;

	while (!why && poll(&in, 1, 0) > 0) {
		if (file_read_byte(STDIN_FILENO, &c) <= 0) {
			*gone = true;
			break;
		}
		if (c != '\n') {
			if (length < sizeof(line) - 1)
				line[length++] = c;
			continue;
		}
		line[length] = '\0';
		length = 0;
		why = obey(w, line);
	}
	return why;
}

bool watch_await_start(void)
{
	struct json j = {0};
	char c = '\0';

	json_begin(&j, "ready");
	json_send(&j);
	free(j.text);
	while (c != '\n')
		if (file_read_byte(STDIN_FILENO, &c) <= 0)
			return false;
	return true;
}

static const char *signal_seen(struct watch *w)
{
	struct signalfd_siginfo seen;

	while (read(w->signals, &seen, sizeof(seen)) == (ssize_t)sizeof(seen))
		if (seen.ssi_signo != SIGCHLD)
			return "signal";
	return NULL;
}

/* The host may be recording on other boards, too, which are to end with this one. */
static void tell_met(const struct condition *c)
{
	struct json j = {0};

	json_begin(&j, "met");
	if (c)
		condition_describe(c, &j);
	json_send(&j);
	free(j.text);
}

/* From here on the recording has an end. */
static void end_after(struct watch *w, uint64_t now)
{
	(void)!write(w->marker, met_mark, sizeof(met_mark) - 1);
	if (w->controlled)
		tell_met(w->condition);
	if (w->until_ns > now + w->after_ns)
		w->until_ns = now + w->after_ns;
}

/* The kernel turns tracing off where a tracer finds more than it was told to. */
static bool stopped_by_tracer(const struct watch *w)
{
	char on[8];

	if (!w->stopping || tracefs_read(w->stopping, "tracing_on", on, sizeof(on)) <= 0 ||
	    on[0] != '0')
		return false;
	if (w->controlled)
		tell_met(NULL);
	return true;
}

static int wait_ms(uint64_t now, uint64_t until)
{
	uint64_t ms = until > now ? (until - now + 999999) / 1000000 : 0;

	return until == UINT64_MAX ? -1 : ms > 60000 ? 60000 : (int)ms;
}

static void tell_progress(const struct readers *readers, uint64_t begun)
{
	struct json j = {0};

	json_begin(&j, "progress");
	json_unsigned(&j, "elapsed_ns", clock_ns() - begun);
	json_unsigned(&j, "bytes", atomic_load(&readers->bytes));
	json_send(&j); /* that nobody reads it shows at the next look */
	free(j.text);
}

const char *watch_until_end(struct watch *w, struct readers *readers)
{
	enum { SIGNALS, FULL, OUT, IN, FDS };
	struct pollfd fds[FDS] = {
		[SIGNALS] = {.fd = w->signals, .events = POLLIN},
		[FULL] = {.fd = readers->full, .events = POLLIN},
		[OUT] = {.fd = STDOUT_FILENO},
		[IN] = {.fd = w->controlled ? STDIN_FILENO : -1, .events = POLLIN},
	};
	uint64_t begun = clock_ns(), next = w->progress_ns ? begun + w->progress_ns : UINT64_MAX;
	const char *why = NULL;
	bool gone = false, met = false;

	while (!why) {
		uint64_t now = clock_ns(), wake = next;

		if (w->condition && !met && condition_look(w->condition)) {
			met = true;
			end_after(w, now);
		}
		if (now >= w->until_ns)
			return met ? "condition" : "time";
		if (stopped_by_tracer(w))
			return "threshold";
		if ((w->condition && !met) || w->stopping)
			wake = now + CONDITION_PAUSE_MS * 1000000u;
		if (now >= next) {
			struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
			if (poll(&out, 1, 0) > 0 && out.revents & POLLOUT)
				tell_progress(readers, begun);
			next += w->progress_ns;
		}
		wake = wake < next ? wake : next;
		poll(fds, FDS, wait_ms(now, wake < w->until_ns ? wake : w->until_ns));
		if (fds[OUT].revents & (POLLERR | POLLHUP | POLLNVAL))
			return NULL;
		if (fds[FULL].revents & POLLIN)
			return atomic_load(&readers->out_of_memory) ? "memory" : "size";
		if (fds[SIGNALS].revents & POLLIN)
			why = signal_seen(w);
		if (!why && command_ended(w))
			why = "command";
		if (!why && fds[IN].revents) {
			why = listen_to_host(w, &gone);
			if (gone && !why)
				return NULL;
		}
	}
	return why;
}
