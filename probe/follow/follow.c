/* `bvprobe follow`: a command under ptrace(2), each of its system calls summed up, or the state of
 * each of its processes when that ends. See follow.h.
 *
 * Every system call stops the process twice, so that one takes some microseconds more: counts and
 * names are exact, times are those of what waits. */
#include "follow/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/attributes.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/json.h"
#include "core/param.h"
#include "follow/calls.h"
#include "follow/state.h"
#include "follow/sums.h"
#include "follow/target.h"

/* Of the kernel's interface, which C libraries name differently. */
enum {
	IS_ENTRY = 1,
	IS_EXIT = 2,
	EVENT_EXIT = 6,
	EVENT_STOP = 128,
};

struct call_info {
	uint8_t op, pad[3];
	uint32_t arch;
	uint64_t instruction_pointer, stack_pointer;
	union {
		struct {
			uint64_t number, arguments[6];
		} entry;
		struct {
			int64_t result;
			uint8_t is_error;
		} exit;
		uint64_t room[9];
	};
};

enum { TICK_MS = 100, TASKS_MAX = 4096, LEAVE_TICKS = 10 };

static const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			    PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL |
			    PTRACE_O_TRACEEXIT;

struct task {
	pid_t tid;
	bool in_call;
	uint64_t number;
	uint64_t begun_ns;
	char target[TARGET_MAX];
};

struct follower {
	struct task **tasks;
	int count;
	uint64_t started;  /* processes and threads */
	struct sums sums;
	bool states;       /* of its processes are sent, and calls not looked at */
	pid_t root;
	bool root_ended;
	int status;        /* of the root */
	struct rusage usage;
	uint64_t begun_ns, ended_ns, limit_ns;
	const char *ended; /* why: exit, time; NULL: nobody reads what is found */
	bool leaving;      /* the rest is to go on without us */
	int error;         /* of the kernel, where it does not tell of system calls */
};

static const struct param params[] = {
	{"run", PARAM_TEXT, "true", 1, 4096, NULL, "the command line, for `sh -c` on the board"},
	{"limit_ms", PARAM_INTEGER, "60000", 1, 600000, NULL,
	 "after so long the command is ended, and what it did until then is summed up"},
	{"show", PARAM_CHOICE, "calls", 0, 0, "calls state",
	 "calls: its system calls; state: what its processes were given, when they end"},
	{0},
};

static void on_tick(int signal)
{
	(void)signal; /* only there to interrupt waitpid(2) */
}

static struct task *task_of(struct follower *f, pid_t tid)
{
	struct task *task;

	for (int i = 0; i < f->count; i++)
		if (f->tasks[i]->tid == tid)
			return f->tasks[i];
	if (f->count == TASKS_MAX || !(task = calloc(1, sizeof(*task))))
		return NULL; /* it goes on, and its calls are not counted */
	task->tid = tid;
	f->started++;
	return f->tasks[f->count++] = task;
}

static void forget(struct follower *f, pid_t tid)
{
	for (int i = 0; i < f->count; i++) {
		if (f->tasks[i]->tid != tid)
			continue;
		free(f->tasks[i]);
		f->tasks[i] = f->tasks[--f->count];
		return;
	}
}

static void become(const char *line, int go)
{
	int null = open("/dev/null", O_RDWR);
	char byte;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL); /* we ignore it, and that would be inherited */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	if (file_read_byte(go, &byte) <= 0)
		_exit(127); /* whoever was to follow is gone */
	execlp("sh", "sh", "-c", line, (char *)NULL);
	_exit(127);
}

static int start(struct follower *f, const char *line)
{
	int ends[2], error = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	f->root = fork();
	if (f->root == 0) {
		close(ends[1]);
		become(line, ends[0]);
	}
	close(ends[0]);
	if (f->root < 0) {
		close(ends[1]);
		return -errno;
	}
	setpgid(f->root, f->root); /* whoever comes first */
	if (ptrace(PTRACE_SEIZE, f->root, NULL, (void *)options) < 0)
		error = -errno;
	/* The first stop asks for the next; from there each does. */
	if (!error && ptrace(PTRACE_INTERRUPT, f->root, NULL, NULL) < 0)
		error = -errno;
	f->begun_ns = clock_ns();
	if (!error && write(ends[1], "", 1) != 1)
		error = -errno;
	close(ends[1]);
	if (error) {
		kill(f->root, SIGKILL);
		waitpid(f->root, NULL, __WALL);
	}
	return error;
}

/* -- what stops ------------------------------------------------------------------------------- */

static void on_entry(struct task *task, const struct call_info *info)
{
	struct call call;

	task->target[0] = '\0';
	if (call_find(info->entry.number, &call))
		target_of(&call, task->tid, info->entry.arguments, task->target);
	task->number = info->entry.number;
	task->in_call = true;
	task->begun_ns = clock_ns();
}

static void add_call(struct follower *f, const struct task *task, uint64_t now, int error)
{
	struct call_key key = {task->number, task->target, task->tid};

	sums_add(&f->sums, &key, now - task->begun_ns, error);
}

static void on_call(struct follower *f, struct task *task)
{
	struct call_info info = {0};
	uint64_t now = clock_ns();

	if (ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, (void *)sizeof(info), &info) <= 0) {
		if (errno == EIO || errno == EINVAL || errno == ENOSYS)
			f->error = errno; /* a kernel that does not tell */
		return;
	}
	if (info.op == IS_ENTRY) {
		on_entry(task, &info);
	} else if (info.op == IS_EXIT && task->in_call) {
		add_call(f, task, now, info.exit.is_error ? (int)-info.exit.result : 0);
		task->in_call = false;
	}
}

static bool stops_all(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* A thread that has stopped goes on: to its next system call, or for good without us. */
static void on_stop(struct follower *f, pid_t tid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);
	bool is_call = signal == (SIGTRAP | 0x80);
	struct task *task = task_of(f, tid);

	if (task && is_call)
		on_call(f, task);
	if (f->states && event == EVENT_EXIT)
		state_send(tid);
	else if (event == EVENT_EXIT)
		confinement_send(tid);
	if (is_call || event)
		signal = 0;
	if (f->leaving) {
		ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal);
		forget(f, tid);
	} else if (event == EVENT_STOP && stops_all(WSTOPSIG(status))) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
	} else {
		ptrace(task && !f->states ? PTRACE_SYSCALL : PTRACE_CONT, tid, NULL,
		       (void *)(long)signal);
	}
}

/* -- until it ends ---------------------------------------------------------------------------- */

/* What is under way counts as far as it has got. */
static void cut_short(struct follower *f, const char *why)
{
	uint64_t now = clock_ns();

	for (int i = 0; i < f->count; i++)
		if (f->tasks[i]->in_call)
			add_call(f, f->tasks[i], now, 0);
	f->ended = why;
	f->ended_ns = now;
}

/* The command has ended, or is not to go on: all of its group with it. What has left the group (a
 * daemon, say) goes on as it would have without us. */
static void leave(struct follower *f)
{
	kill(-f->root, SIGKILL);
	f->leaving = true;
	for (int i = 0; i < f->count; i++)
		ptrace(PTRACE_INTERRUPT, f->tasks[i]->tid, NULL, NULL);
}

static bool is_read(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) == 0 || !(out.revents & (POLLERR | POLLHUP | POLLNVAL));
}

static void on_end(struct follower *f, pid_t tid, int status, const struct rusage *usage)
{
	forget(f, tid);
	if (tid != f->root || f->root_ended)
		return;
	f->root_ended = true;
	f->status = status;
	f->usage = *usage;
	if (!f->leaving) {
		f->ended = "exit";
		f->ended_ns = clock_ns();
		leave(f);
	}
}

static void follow_until_end(struct follower *f)
{
	int ticks = 0;

	while (!f->root_ended || (f->count > 0 && ticks < LEAVE_TICKS)) {
		struct rusage usage;
		int status;
		pid_t tid = wait4(-1, &status, __WALL, &usage);

		if (tid < 0 && errno != EINTR)
			break;
		if (tid > 0 && WIFSTOPPED(status))
			on_stop(f, tid, status);
		else if (tid > 0)
			on_end(f, tid, status, &usage);
		ticks += tid < 0 && f->leaving;
		if (f->leaving)
			continue;
		if (f->error || clock_ns() - f->begun_ns >= f->limit_ns) {
			cut_short(f, "time");
			leave(f);
		} else if (tid < 0 && !is_read()) {
			leave(f);
		}
	}
}

/* -- the answer ------------------------------------------------------------------------------- */

static int send_end(const struct follower *f)
{
	struct json j = {0};
	int lost;

	json_begin(&j, "followed");
	json_string(&j, "ended", f->ended);
	json_signed(&j, "status", WIFEXITED(f->status) ? WEXITSTATUS(f->status)
						       : 128 + WTERMSIG(f->status));
	json_unsigned(&j, "wall_ns", f->ended_ns - f->begun_ns);
	json_unsigned(&j, "calls", f->sums.count);
	json_unsigned(&j, "lost", f->sums.lost);
	json_unsigned(&j, "tasks", f->started);
	json_signed(&j, "faults_minor", f->usage.ru_minflt);
	json_signed(&j, "faults_major", f->usage.ru_majflt);
	json_signed(&j, "blocks_read", f->usage.ru_inblock);
	json_signed(&j, "blocks_written", f->usage.ru_oublock);
	lost = json_send(&j);
	free(j.text);
	return lost;
}

static int answer(const struct follower *f)
{
	if (f->error)
		return json_error(77, f->error, "follow: it takes Linux 5.3");
	if (!f->ended)
		return 1;
	return sums_send(&f->sums) < 0 || send_end(f) < 0 ? 1 : 0;
}

int follow(int argc, char *const argv[])
{
	static struct task *tasks[TASKS_MAX];
	struct follower f = {.tasks = tasks};
	struct itimerval tick = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
	struct sigaction action = {.sa_handler = on_tick};
	struct args args;
	char *words[2 * PARAMS_MAX + 1];
	int status, error;
	bool again; /* of no matter: the command is executed afresh */

	if (argc > 2 * PARAMS_MAX)
		return json_error(2, E2BIG, "follow: at most %d parameters", PARAMS_MAX);
	memcpy(words, argv, (size_t)argc * sizeof(*argv));
	status = attributes_take(&argc, words, &again);
	args_begin(&args, NULL, params);
	status = status ? status : args_parse(&args, "follow", argc, words);
	if (status)
		return status;
	f.states = arg_is(&args, "show", "state");
	f.limit_ns = arg_number(&args, "limit_ms") * 1000000u;
	sigaction(SIGALRM, &action, NULL);
	error = start(&f, arg_text(&args, "run"));
	if (error)
		return json_error(77, -error, "follow: this board does not let a process be "
					      "followed");
	setitimer(ITIMER_REAL, &tick, NULL);
	follow_until_end(&f);
	status = answer(&f);
	while (f.count > 0)
		forget(&f, f.tasks[0]->tid);
	sums_free(&f.sums);
	return status;
}
