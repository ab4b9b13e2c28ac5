/* os.fork, os.exec and os.thread. */
#include "bench/process.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "core/files.h"

struct processes {
	struct buffer resident;
	pid_t (*start)(const struct processes *p); /* a child's number, or -1 with errno */
	const char *program;
	char *words[3];
};

/* --- starting -------------------------------------------------------------------------------- */

static pid_t start_fork(const struct processes *p)
{
	pid_t child = fork();

	(void)p;
	if (child == 0)
		_exit(0);
	return child;
}

static char *const no_environment[] = {NULL};

static pid_t start_fork_exec(const struct processes *p)
{
	pid_t child = fork();

	if (child == 0) {
		execve(p->program, p->words, no_environment);
		_exit(127);
	}
	return child;
}

static pid_t start_spawn(const struct processes *p)
{
	pid_t child;

	errno = posix_spawn(&child, p->program, NULL, NULL, p->words, no_environment);
	return errno ? -1 : child;
}

/* False with errno, which is 0 for a child that ended otherwise than it should. */
static bool start_and_wait(const struct processes *p)
{
	pid_t child = p->start(p);
	int status;

	if (child < 0)
		return false;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	errno = 0;
	return status == 0;
}

static int cannot_start(const struct run *run)
{
	const char *id = run->benchmark->id;

	if (errno == EAGAIN || errno == ENOMEM)
		return json_error(77, errno, "%s: cannot start a process or thread: raise the "
					     "limit on processes (ulimit -u), or free memory", id);
	if (errno == EMFILE || errno == ENFILE)
		return json_error(77, errno, "%s: cannot start a process: raise the limit on open "
					     "files (ulimit -n)", id);
	return json_error(77, errno, "%s: cannot start a process: it must be possible to execute "
				     "the probe by its own path, on this very architecture", id);
}

/* --- setting up ------------------------------------------------------------------------------ */

/* Memory that is really there and all its own: pages not yet written would not be copied. */
static int set_up_resident(struct run *run, struct processes *p)
{
	const char *id = run->benchmark->id;
	uint64_t size = arg_number(&run->args, "rss");
	int64_t available = memory_available();

	if (available >= 0 && size > (uint64_t)available / 10 * 9)
		return json_error(77, ENOMEM, "%s: rss=%s is more than the memory that can be "
					      "had: choose a smaller one", id,
				  arg_text(&run->args, "rss"));
	if (size == 0)
		return 0;
	int error = buffer_map(&p->resident, (size_t)size, "4k");
	if (error)
		return json_error(77, -error, "%s: no memory for rss=%s: choose a smaller one",
				  id, arg_text(&run->args, "rss"));
	buffer_write_random(&p->resident);
	return 0;
}

static int set_up_processes(struct run *run, pid_t (*start)(const struct processes *p))
{
	struct processes *p = calloc(1, sizeof(*p));

	run->state = p;
	if (!p)
		return json_error(1, ENOMEM, "%s: no memory", run->benchmark->id);
	p->start = start;
	/* what this very process was started by, and its first argument */
	p->program = (const char *)getauxval(AT_EXECFN);
	if (!p->program)
		p->program = "/proc/self/exe";
	p->words[0] = (char *)"bvprobe";
	p->words[1] = (char *)PROCESS_EXIT;
	signal(SIGCHLD, SIG_DFL); /* whoever ignores it cannot wait for a child */
	int status = set_up_resident(run, p);
	if (status)
		return status;
	return start_and_wait(p) ? 0 : cannot_start(run);
}

static int setup_fork(struct run *run)
{
	return set_up_processes(run, start_fork);
}

static int setup_exec(struct run *run)
{
	return set_up_processes(run, arg_is(&run->args, "start", "fork") ? start_fork_exec
									  : start_spawn);
}

static int batch_processes(struct run *run, uint64_t iterations)
{
	const struct processes *p = run->state;
	uint64_t begin = clock_ns();

	while (iterations--)
		if (!start_and_wait(p))
			return cannot_start(run);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static void teardown_processes(struct run *run)
{
	struct processes *p = run->state;

	if (p)
		buffer_unmap(&p->resident);
	free(p);
}

/* All that is resident, the probe's own pages too: resident pages are statm's second field. */
static void describe_resident(const struct run *run, struct json *j)
{
	char text[128];
	unsigned long long size, resident;

	(void)run;
	if (file_read("/proc/self/statm", text, sizeof(text)) > 0 &&
	    sscanf(text, "%llu %llu", &size, &resident) == 2)
		json_unsigned(j, "rss_bytes", resident * (uint64_t)sysconf(_SC_PAGESIZE));
	else
		json_na(j, "rss_bytes", "no /proc/self/statm");
}

/* --- the benchmarks -------------------------------------------------------------------------- */

#define RSS_PARAM                                                                              \
	{"rss", PARAM_SIZE, "1M", 0, 1 << 30, NULL,                                            \
	 "memory that the process has initialised, in base pages, besides the probe's own "  \
	 "(begin.rss_bytes is all of it)"}

static const struct param fork_params[] = {
	RSS_PARAM,
	{0},
};

const struct benchmark os_fork = {
	.id = "os.fork",
	.summary = "how long it takes to make a process and see it end",
	.unit = "ns",
	.better = "lower",
	.counted = "a fork, the child's exit at once, and the wait for it",
	.method = "fork, _exit(0) in the child, waitpid, over and over on one CPU; the child's "
		  "memory is the parent's, of stated size, and never written by the child",
	.pitfalls = "the cost grows with the memory that the process has (its page tables are "
		    "copied): compare at equal rss, and expect more of any large program; spread "
		    "is large (memory cgroups, free lists, RCU), so look at the interval",
	.not_measured = "the copying of pages that parent or child write after the fork, but for "
			"those of the stack; a child on another CPU",
	.reference = "a loop of fork and wait with as much memory: within 30 %, as the rest of its memory "
		"is another; lat_proc fork has it, of a process of its own size",
	.params = fork_params,
	.switches = true,
	.faults = true,
	.setup = setup_fork,
	.batch = batch_processes,
	.value = value_ns_per_iteration,
	.describe = describe_resident,
	.teardown = teardown_processes,
};

static const struct param exec_params[] = {
	{"start", PARAM_CHOICE, "spawn", 0, 0, "spawn fork",
	 "spawn: posix_spawn, which shares the memory until the program is there; fork: fork, then "
	 "execve"},
	RSS_PARAM,
	{0},
};

const struct benchmark os_exec = {
	.id = "os.exec",
	.summary = "how long it takes to start a program and see it end",
	.unit = "ns",
	.better = "lower",
	.counted = "a program started, its end at once, and the wait for it",
	.method = "the probe starts itself with a word on which it ends at once, without "
		  "environment, and waits, over and over on one CPU; the program is static, so no "
		  "loader runs, and in the page cache",
	.pitfalls = "a dynamic program takes several times as long, most of it in the loader; with "
		    "start=fork the cost grows with rss; the file system and security modules "
		    "that look at each program are part of it",
	.not_measured = "the loader and the C library of the board; programs that are not in the "
			"page cache; a shell in between",
	.reference = "a loop of fork, exec and wait of the same static program: within 30 % with "
		"start=fork; lat_proc exec has it, of a program of its own",
	.params = exec_params,
	.switches = true,
	.faults = true,
	.setup = setup_exec,
	.batch = batch_processes,
	.value = value_ns_per_iteration,
	.describe = describe_resident,
	.teardown = teardown_processes,
};

/* --- os.thread ------------------------------------------------------------------------------- */

static void *end_at_once(void *argument)
{
	return argument;
}

static bool create_and_join(void)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, end_at_once, NULL);
	if (errno)
		return false;
	errno = pthread_join(thread, NULL);
	return errno == 0;
}

static int setup_thread(struct run *run)
{
	return create_and_join() ? 0 : cannot_start(run);
}

static int batch_thread(struct run *run, uint64_t iterations)
{
	uint64_t begin = clock_ns();

	while (iterations--)
		if (!create_and_join())
			return cannot_start(run);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

const struct benchmark os_thread = {
	.id = "os.thread",
	.summary = "how long it takes to make a thread and see it end",
	.unit = "ns",
	.better = "lower",
	.counted = "a thread created, its end at once, and the join",
	.method = "pthread_create and pthread_join, over and over on one CPU, of the C library in "
		  "the probe (musl), which maps a stack for each thread and gives it back",
	.pitfalls = "much of it is the stack: a library that keeps stacks for the next thread "
		    "(glibc) is quicker, so this is no value of the board's own library",
	.not_measured = "handing work to a thread that is there already (os.futex); a thread on "
			"another CPU",
	.reference = "a loop of pthread_create and pthread_join with musl: within 10 %",
	.switches = true,
	.faults = true,
	.setup = setup_thread,
	.batch = batch_thread,
	.value = value_ns_per_iteration,
	.describe = describe_resident,
};
