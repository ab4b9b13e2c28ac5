/* command.time: any command of the board's, by its clock and by the kernel's account of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/pages.h"

enum { OUTPUT_BYTES = 65536, SAID_BYTES = 200, SHOWN_BYTES = 80 };

struct command {
	const char *line;
	bool keep;          /* what it says on standard output too */
	bool pinned;        /* to this process's CPU */
	bool paced;         /* the host acknowledges samples on standard input */
	bool observed;      /* what its memory is made of */
	struct pages_watch watch;
	int null;           /* /dev/null */
	int hold;           /* while this is open anywhere, the guard waits */
	pid_t guard;
	_Atomic pid_t *group; /* of the command under way, 0: none; shared with the guard */
	sigset_t before, waiting; /* the signal mask as found, and that with SIGCHLD let through */
	struct sigaction on_child;
	uint64_t wall_ns;
	struct rusage usage;
	uint64_t said;      /* bytes of output; the last of them are in a ring */
	char output[OUTPUT_BYTES];
	char text[OUTPUT_BYTES + 1]; /* the ring laid straight */
};

static void on_child(int signal)
{
	(void)signal; /* only there to interrupt ppoll(2) */
}

/* The guard outlives this process, however that ends, for just as long as it takes to end the
 * command with all that belongs to it. In a session of its own, because whoever kills our process
 * group would kill it too; without our standard output, whose end the host waits for. A command
 * that is only just being started has not executed anything yet and holds `hold` until it does, so
 * it has said who it is when the guard comes to look. */
static int start_guard(struct command *c)
{
	int ends[2];

	c->group = mmap(NULL, sizeof(*c->group), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->group == MAP_FAILED) {
		c->group = NULL;
		return -ENOMEM;
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	c->guard = fork();
	if (c->guard == 0) {
		char byte;
		setsid();
		close(ends[1]);
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			close(fd);
		file_read_byte(ends[0], &byte);
		if (*c->group > 0)
			kill(-*c->group, SIGKILL);
		_exit(0);
	}
	int error = errno;
	close(ends[0]);
	c->hold = ends[1];
	return c->guard < 0 ? -error : 0;
}

/* What the command's own process does before it is the command. */
static void become(const struct command *c, int out)
{
	setpgid(0, 0);
	*c->group = getpid();
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	signal(SIGPIPE, SIG_DFL); /* we ignore it, and that would be inherited */
	if (!c->pinned)
		place_pin(-1);
	dup2(c->null, STDIN_FILENO);
	dup2(c->keep ? out : c->null, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execlp("sh", "sh", "-c", c->line, (char *)NULL);
	static const char said[] = "there is no shell 'sh' on this board";
	(void)!write(STDERR_FILENO, said, sizeof(said) - 1);
	_exit(127);
}

/* Takes what is there; false at the end. */
static bool take_output(struct command *c, int fd)
{
	for (;;) {
		size_t at = c->said % OUTPUT_BYTES;
		ssize_t n = read(fd, c->output + at, OUTPUT_BYTES - at);
		if (n == 0)
			return false;
		if (n < 0 && errno != EINTR)
			return true;
		if (n > 0)
			c->said += (uint64_t)n;
	}
}

/* Waits for the command and reads what it says; leaves it unreaped, so that its number stays its
 * own. Returns 0, -ETIMEDOUT, or -EPIPE when nobody waits for the sample any more: a host that was
 * killed is not seen on our output before there is something to write, and that may be long. */
static int wait_until_it_ends(struct command *c, pid_t pid, int fd, uint64_t deadline_ns)
{
	struct pollfd fds[2] = {
		{.fd = fd, .events = POLLIN},
		{.fd = c->paced ? STDIN_FILENO : -1, .events = POLLRDHUP},
	};

	for (;;) {
		siginfo_t info = {0};
		uint64_t now, until = deadline_ns;

		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == pid)
			return 0;
		if (c->observed) {
			pages_watch_look(&c->watch, pid);
			if (c->watch.next_ns < until)
				until = c->watch.next_ns;
		}
		now = clock_ns();
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		uint64_t left_ns = until > now ? until - now : 0;
		struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
					.tv_nsec = (long)(left_ns % 1000000000u)};
		if (ppoll(fds, 2, &left, &c->waiting) <= 0)
			continue;
		if (fds[1].revents & (POLLHUP | POLLRDHUP))
			return -EPIPE;
		if (fds[0].revents && !take_output(c, fd))
			fds[0].fd = -1; /* at its end: poll(2) would always be ready */
	}
}

/* The end of the output, as text: NUL becomes a byte that is no UTF-8, which JSON shows. */
static const char *lay_straight(struct command *c)
{
	size_t length = c->said < OUTPUT_BYTES ? (size_t)c->said : OUTPUT_BYTES;
	size_t from = (size_t)((c->said - length) % OUTPUT_BYTES);

	for (size_t i = 0; i < length; i++) {
		char byte = c->output[(from + i) % OUTPUT_BYTES];
		c->text[i] = byte ? byte : '\xff';
	}
	c->text[length] = '\0';
	return c->text;
}

/* The last line that shows anything, cut to its last SAID_BYTES. */
static const char *last_line(struct command *c)
{
	const char *text = lay_straight(c);
	char *end = c->text + strlen(text);
	char *begin;

	while (end > text && (unsigned char)end[-1] <= ' ')
		end--;
	*end = '\0';
	begin = end;
	while (begin > text && begin[-1] != '\n' && end - begin < SAID_BYTES)
		begin--;
	if (begin < end)
		return begin;
	return c->keep ? "it said nothing" : "it said nothing on standard error";
}

static int refuse(struct command *c, int status, int error, uint64_t seconds)
{
	const char *dots = strlen(c->line) > SHOWN_BYTES ? "…" : "";
	const char *said = last_line(c);

	if (error == -EPIPE)
		return json_error(1, EPIPE, "command.time: standard input ended before the "
					    "command did: the host went away");
	if (error)
		return json_error(1, -error, "command.time: '%.*s%s' did not end within %llu s "
						"and was stopped (timeout_s): %s",
				  SHOWN_BYTES, c->line, dots, (unsigned long long)seconds, said);
	if (WIFSIGNALED(status))
		return json_error(1, 0, "command.time: '%.*s%s' was ended by signal %d: %s",
				  SHOWN_BYTES, c->line, dots, WTERMSIG(status), said);
	if (WEXITSTATUS(status) == 127)
		return json_error(77, ENOENT, "command.time: '%.*s%s' is not to be found on this "
					      "board (exit 127): %s", SHOWN_BYTES, c->line, dots,
				  said);
	return json_error(1, 0, "command.time: '%.*s%s' failed (exit %d): %s", SHOWN_BYTES,
			  c->line, dots, WEXITSTATUS(status), said);
}

static int run_once(struct run *run)
{
	struct command *c = run->state;
	uint64_t seconds = arg_number(&run->args, "timeout_s");
	int out[2], status = 0, error;
	uint64_t begin;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return json_error(1, errno, "command.time: cannot make a pipe");
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	c->said = 0;
	begin = clock_ns();
	pages_watch_begin(&c->watch, begin);
	pid = fork();
	if (pid == 0)
		become(c, out[1]);
	close(out[1]);
	if (pid < 0) {
		close(out[0]);
		return json_error(1, errno, "command.time: cannot start a process");
	}
	setpgid(pid, pid); /* whoever comes first */
	error = wait_until_it_ends(c, pid, out[0], begin + seconds * 1000000000u);
	c->wall_ns = run->elapsed_ns = clock_ns() - begin;
	kill(-pid, SIGKILL); /* the command itself if it goes on, and what it has left running */
	while (wait4(pid, &status, 0, &c->usage) < 0 && errno == EINTR)
		continue;
	*c->group = 0;
	take_output(c, out[0]);
	close(out[0]);
	return error || status ? refuse(c, status, error, seconds) : 0;
}

static const struct {
	const char *name, *unit, *counted;
} metrics[] = {
	{"wall", "ns", "one run, from before its shell is started until it has ended"},
	{"cpu", "ns", "CPU time of one run, in user space and in the kernel"},
	{"user", "ns", "CPU time of one run in user space"},
	{"sys", "ns", "CPU time of one run in the kernel"},
	{"rss", "B", "most memory that one of its processes had at a time"},
};

static int setup(struct run *run)
{
	struct command *c = calloc(1, sizeof(*c));
	uint64_t warmups = arg_number(&run->args, "warmup");
	sigset_t child;
	int error;

	run->state = c;
	if (!c)
		return json_error(1, ENOMEM, "command.time: no memory");
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child}, &c->on_child);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &c->before);
	c->waiting = c->before;
	sigdelset(&c->waiting, SIGCHLD); /* whoever started us may have blocked it */
	run->most_iterations = 1;
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (arg_is(&run->args, "metric", metrics[i].name)) {
			run->unit = metrics[i].unit;
			run->counted = metrics[i].counted;
		}
	c->line = arg_text(&run->args, "run");
	c->keep = arg_is(&run->args, "output", "keep");
	c->pinned = arg_is(&run->args, "pin", "yes");
	c->paced = arg_number(&run->args, "paced") != 0;
	c->observed = arg_is(&run->args, "observe", "pages");
	c->hold = -1;
	c->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (c->null < 0)
		return json_error(77, errno, "command.time: needs /dev/null");
	error = start_guard(c);
	if (error)
		return json_error(1, -error, "command.time: cannot start the process that would "
					     "end the command with us");
	for (uint64_t i = 0; i < warmups; i++) {
		int status = run_once(run);
		if (status)
			return status;
	}
	return 0;
}

static int batch(struct run *run, uint64_t iterations)
{
	(void)iterations; /* one, by most_iterations */
	return run_once(run);
}

static uint64_t nanoseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static uint64_t resident_bytes(const struct rusage *usage)
{
	return (uint64_t)usage->ru_maxrss << 10; /* in KiB, as Linux has it */
}

static double value(const struct run *run)
{
	const struct command *c = run->state;
	uint64_t user = nanoseconds(c->usage.ru_utime), sys = nanoseconds(c->usage.ru_stime);
	const char *metric = arg_text(&run->args, "metric");

	return (double)(strcmp(metric, "wall") == 0   ? c->wall_ns
			: strcmp(metric, "cpu") == 0  ? user + sys
			: strcmp(metric, "user") == 0 ? user
			: strcmp(metric, "sys") == 0  ? sys
						      : resident_bytes(&c->usage));
}

static void detail(const struct run *run, struct json *j)
{
	struct command *c = run->state;

	json_unsigned(j, "wall_ns", c->wall_ns);
	json_unsigned(j, "user_ns", nanoseconds(c->usage.ru_utime));
	json_unsigned(j, "sys_ns", nanoseconds(c->usage.ru_stime));
	json_unsigned(j, "max_rss_bytes", resident_bytes(&c->usage));
	json_signed(j, "switches_waiting", c->usage.ru_nvcsw);
	json_signed(j, "switches_forced", c->usage.ru_nivcsw);
	json_signed(j, "faults_minor", c->usage.ru_minflt);
	json_signed(j, "faults_major", c->usage.ru_majflt);
	json_unsigned(j, "output_bytes", c->said);
	if (c->observed)
		pages_watch_describe(&c->watch, j);
	if (c->keep)
		json_string(j, "output", lay_straight(c));
}

static void teardown(struct run *run)
{
	struct command *c = run->state;

	if (!c)
		return;
	if (c->hold >= 0)
		close(c->hold);
	if (c->guard > 0)
		waitpid(c->guard, NULL, 0);
	sigaction(SIGCHLD, &c->on_child, NULL);
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	if (c->group)
		munmap((void *)c->group, sizeof(*c->group));
	if (c->null >= 0)
		close(c->null);
	free(c);
}

static const struct param params[] = {
	{"run", PARAM_TEXT, "true", 1, 4096, NULL,
	 "the command line, for `sh -c` on the board; its default, `true`, is the shell itself"},
	{"metric", PARAM_CHOICE, "wall", 0, 0, "wall cpu user sys rss",
	 "what the value is: wall time, CPU time (both kinds, or one), or the most memory; the "
	 "others are further metrics"},
	{"warmup", PARAM_INTEGER, "1", 0, 100, NULL,
	 "runs before the first that counts, which fill the caches of programs and files"},
	{"timeout_s", PARAM_INTEGER, "600", 1, 86400, NULL,
	 "seconds after which a run is stopped and the series fails"},
	{"pin", PARAM_CHOICE, "no", 0, 0, "no yes",
	 "no: the command may use every CPU; yes: only the one that `cpu` names"},
	{"output", PARAM_CHOICE, "discard", 0, 0, "discard keep",
	 "discard: standard output is /dev/null; keep: the last 64 KiB of standard output and "
	 "standard error are part of the sample"},
	OBSERVE_PARAM("the command and all that it started"),
	{0},
};

/* Counting follows the command's processes through each of their context switches: among busy
 * neighbours that costs a percent of their time. */
static const struct initial initials[] = {
	{"batches", "5"}, {"warm_ms", "0"}, {"counters", "off"}, {0},
};

static const struct figure figures[] = {
	{"wall_ns", "ns", "lower", "median", "wall time of a run"},
	{"user_ns", "ns", "lower", "median", "its CPU time in user space"},
	{"sys_ns", "ns", "lower", "median", "its CPU time in the kernel"},
	{"max_rss_bytes", "B", "lower", "median", "most memory that one of its processes had"},
	{"switches_waiting", "", "", "median", "context switches because it waited"},
	{"switches_forced", "", "", "median", "context switches because others had their turn"},
	{"faults_minor", "", "", "median", "page faults served from memory"},
	{"faults_major", "", "", "median", "page faults that read from a device"},
	{0},
};

const struct benchmark command_time = {
	.id = "command.time",
	.summary = "how long a command takes, and what it costs",
	.unit = "ns",
	.better = "lower",
	.counted = "one run, from before its shell is started until it has ended",
	.method = "a batch is one run of `sh -c` with the command, standard input empty; CPU time, "
		  "memory, switches and faults are the kernel's account (wait4) of the shell and of "
		  "all its descendants that were waited for; a run that fails is an error and no "
		  "sample",
	.pitfalls = "start and end of the shell are part of it (run=true shows how much): nothing "
		    "is subtracted; the first runs fill caches, so warm up, or drop them in the "
		    "command when a cold start is the question; user and sys are split by sampling "
		    "on kernels without exact accounting, their sum is exact; the most memory is "
		    "that of the largest process, not of all together; what the command leaves in "
		    "the background is ended and its time not counted; ssh gives it a poorer PATH "
		    "than a login does; counters=on counts all its processes, and costs up to a "
		    "percent",
	.not_measured = "programs at a terminal; the time until a service that it starts is ready; "
			"CPU time of services that work for it (a database, a compile server)",
	.reference = "hyperfine -N with the same `sh -c`: within 2 %; GNU time says hundredths of a second",
	.params = params,
	.initials = initials,
	.figures = figures,
	.loads_others = true,
	.bystander = true,
	.setup = setup,
	.batch = batch,
	.value = value,
	.detail = detail,
	.teardown = teardown,
};
