/* bvprobe: what runs on the board. The command table, nothing else.
 *
 * Everything it says is JSON lines on standard output; docs/probe-protocol.md describes them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/process.h"
#include "core/attributes.h"
#include "core/host.h"
#include "core/program.h"
#include "core/serve.h"
#include "state/state.h"

static benchmark_table benchmarks = {
	&cpu_clock,
	&cpu_sustained,
	&memory_copy,
	&memory_fill,
	&memory_read,
	&memory_libc_copy,
	&memory_triad,
	&memory_latency,
	&memory_line,
	&memory_tlb,
	&os_syscall,
	&os_signal,
	&os_fork,
	&os_exec,
	&os_thread,
	&os_page_fault,
	&os_mmap,
	&os_futex,
	&os_eventfd,
	&os_semaphore,
	&os_context_switch,
	&os_context_switch_grid,
	&pipe_latency,
	&pipe_throughput,
	&socket_latency,
	&socket_throughput,
	&timer_wakeup,
	&timer_clock,
	&command_time,
	NULL,
};

/* It lies beside the probe and has the rest of the benchmarks. */
static const char io_program[] = "bvio";

/* Parameters, and a command to be run while recording. */
enum { TRACE_WORDS = 1024 };

/* A benchmark, its parameters, and as many attributes. */
enum { RUN_WORDS = 4 * PARAMS_MAX };

static const char *program;

static void begin_line(struct json *j, const char *type)
{
	json_begin(j, type);
	json_string(j, "probe", PROBE_VERSION);
	json_signed(j, "protocol", PROBE_PROTOCOL);
	json_string(j, "arch", host_arch());
}

static int finish(struct json *j)
{
	int lost = json_send(j);

	free(j->text);
	return lost ? 1 : 0;
}

static int command_list(int argc, char *const argv[])
{
	struct json j = {0};

	(void)argc, (void)argv;
	begin_line(&j, "list");
	place_describe_allowed(&j);
	params_describe(common_params, &j, "common");
	attributes_describe(&j);
	json_open(&j, "benchmarks", '[');
	program_describe(benchmarks, &j);
	int error = program_include(program, io_program, "describe", &j);
	json_close(&j, ']');
	if (error)
		json_string(&j, "incomplete", "bvio, which belongs beside the probe, cannot be "
					      "executed: its benchmarks are left out");
	return finish(&j);
}

static int command_version(int argc, char *const argv[])
{
	struct json j = {0};

	(void)argc, (void)argv;
	begin_line(&j, "version");
	return finish(&j);
}

/* Hands over to the helper that lies beside the probe. */
static int run_helper(const struct benchmark *b, int argc, char *const argv[])
{
	int error = program_become(program, b->helper, argc, argv);

	if (error == -ELIBACC)
		return json_error(77, ENOENT, "%s: this board has no glibc to measure (the loader "
					      "that %s asks for is missing)", b->id, b->helper);
	return json_error(77, -error, "%s: cannot execute %s, which belongs beside the probe", b->id,
			  b->helper);
}

/* Hands over to the program that has what is not here. */
static int run_elsewhere(const char *command, int argc, char *const argv[])
{
	char *words[2 * PARAMS_MAX + 4] = {(char *)command};

	if (argc > 2 * PARAMS_MAX + 1)
		return json_error(2, E2BIG, "%s: at most %d parameters", command, PARAMS_MAX);
	memcpy(words + 1, argv, (size_t)argc * sizeof(*argv));
	int error = program_become(program, io_program, argc + 1, words);
	return json_error(77, -error, "%s: cannot execute %s, which belongs beside the probe",
			  argc > 0 ? argv[0] : command, io_program);
}

/* In a program executed afresh, with attributes that begin there. */
static int run_again(char *const words[])
{
	char *argv[RUN_WORDS + 3] = {(char *)program, "run"};

	for (int i = 0; words[i]; i++)
		argv[i + 2] = words[i];
	execv("/proc/self/exe", argv);
	return json_error(77, errno, "--as: the probe cannot execute itself again for that");
}

static int command_run(int argc, char *const argv[])
{
	char *words[RUN_WORDS + 1] = {0};
	bool again;

	if (argc < 1)
		return json_error(2, EINVAL, "run: which benchmark? `bvprobe list` names them");
	if (argc > RUN_WORDS)
		return json_error(2, E2BIG, "run: at most %d words", RUN_WORDS);
	memcpy(words, argv, (size_t)argc * sizeof(*argv));
	argc--;
	int status = attributes_take(&argc, words + 1, &again);
	if (status)
		return status;
	if (again)
		return run_again(words);
	const struct benchmark *b = program_find(benchmarks, words[0]);
	if (!b)
		return run_elsewhere("run", argc + 1, words);
	return b->helper ? run_helper(b, argc, words + 1) : batch_run(b, argc, words + 1);
}

static int command_sink(int argc, char *const argv[])
{
	return run_elsewhere("sink", argc, argv);
}

static int command_echo(int argc, char *const argv[])
{
	return run_elsewhere("echo", argc, argv);
}

static int command_trace(int argc, char *const argv[])
{
	char *words[TRACE_WORDS + 1]; /* not initialised: that would be 8 kB of the probe */

	if (argc > TRACE_WORDS)
		return json_error(2, E2BIG, "trace: at most %d words", TRACE_WORDS);
	words[0] = "trace";
	memcpy(words + 1, argv, (size_t)argc * sizeof(*argv));
	int error = program_become(program, io_program, argc + 1, words);
	return json_error(77, -error, "trace: cannot execute %s, which belongs beside the probe",
			  io_program);
}

static int command_follow(int argc, char *const argv[])
{
	return run_elsewhere("follow", argc, argv);
}

static int command_read(int argc, char *const argv[])
{
	return state_stdin("read", argc, argv);
}

static int command_links(int argc, char *const argv[])
{
	return state_stdin("links", argc, argv);
}

static int command_facts(int argc, char *const argv[])
{
	if (argc == 1 && strcmp(argv[0], "log") == 0)
		return state_facts_log();
	if (argc != 0)
		return json_error(2, EINVAL, "facts: takes nothing, or the word log");
	return state_facts();
}

static int command_write(int argc, char *const argv[])
{
	if (argc != 2)
		return json_error(2, EINVAL, "write: takes a path and a value");
	return state_write(argv[0], argv[1]);
}

static int run_command(int argc, char *const argv[]);

static int command_serve(int argc, char *const argv[])
{
	(void)argc, (void)argv;
	return serve(run_command, program);
}

static const struct {
	const char *name;
	int (*run)(int argc, char *const argv[]);
} commands[] = {
	{"list", command_list},   {"version", command_version}, {"run", command_run},
	{"serve", command_serve}, {"read", command_read},       {"write", command_write},
	{"links", command_links}, {"facts", command_facts},
	{"sink", command_sink},   {"trace", command_trace},
	{"echo", command_echo},   {"follow", command_follow},
};

static int run_command(int argc, char *const argv[])
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 2, argv + 2);
	return json_error(2, EINVAL, "bvprobe: the commands are list, version, run, serve, read, "
				     "links, facts, write, sink, echo, trace and follow");
}

/* A descriptor that was closed when we began would be the next file opened: a benchmark's pipe
 * would then be our standard output. Writing to what is open for reading fails, as it should. */
static void occupy_standard_files(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_RDONLY);
}

int main(int argc, char *argv[])
{
	if (argc == 2 && strcmp(argv[1], PROCESS_EXIT) == 0)
		return 0; /* started by os.exec, which times it */
	program = argc > 0 ? argv[0] : "bvprobe";
	occupy_standard_files();
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error to handle */
	return run_command(argc, argv);
}
