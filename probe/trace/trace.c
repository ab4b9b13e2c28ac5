/* `bvprobe trace`: instance, events, readers, file. See trace.h and docs/probe-protocol.md. */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/json.h"
#include "core/param.h"
#include "trace/deliver.h"
#include "trace/events.h"
#include "trace/functions.h"
#include "trace/guard.h"
#include "trace/readers.h"
#include "trace/recording.h"
#include "trace/tracefs.h"
#include "trace/watch.h"

static const struct param params[] = {
	{"events", PARAM_TEXT, "sched,irq,timer", 1, 2000, NULL,
	 "sets, SYSTEMs and SYSTEM/EVENTs, separated by commas"},
	{"functions", PARAM_TEXT, "", 0, 2000, NULL,
	 "kernel functions too: names and patterns (vfs_*), separated by commas"},
	{"graph", PARAM_CHOICE, "off", 0, 0, "off on",
	 "on: begin and end of each of these functions, and what it calls"},
	{"depth", PARAM_INTEGER, "0", 0, 50, NULL,
	 "how deep calls are recorded with graph; 0: as deep as they go"},
	{"tracer", PARAM_TEXT, "", 0, 30, NULL, "timerlat or osnoise"},
	{"settings", PARAM_TEXT, "", 0, 500, NULL,
	 "FILE=VALUE below tracefs, separated by semicolons"},
	{"for_ms", PARAM_INTEGER, "auto", 1, 86400000, NULL,
	 "how long; auto: until the command ends, or the host or a signal says so"},
	{"filter", PARAM_TEXT, "", 0, 2000, NULL,
	 "SYSTEM/EVENT:FILTER, separated by semicolons: filters of the kernel's own"},
	{"ring", PARAM_CHOICE, "off", 0, 0, "off on",
	 "on: at its size, the oldest events give way to the newest"},
	{"until", PARAM_TEXT, "", 0, 200, NULL,
	 "what ends it: wakeup>NS or wakeup:NAME>NS (a wait for a CPU), or SYSTEM/EVENT"},
	{"after_ms", PARAM_INTEGER, "0", 0, 3600000, NULL, "and so much later"},
	{"clock", PARAM_CHOICE, "mono", 0, 0, "mono mono_raw boot tai local global",
	 "clock of the time stamps; boot goes on while the system is suspended"},
	{"buffer_kb", PARAM_INTEGER, "auto", 16, 1 << 20, NULL,
	 "ring buffer of each CPU; auto: an eighth of what memory is available for all CPUs, 1 to "
	 "16 MiB each"},
	{"size", PARAM_SIZE, "auto", 1 << 20, (uint64_t)1 << 40, NULL,
	 "bytes after which recording ends; they are kept in memory. auto: a third of what is "
	 "available, at most 1 GiB"},
	{"output", PARAM_TEXT, "-", 1, 1000, NULL,
	 "file that is written; -: behind a line of standard output"},
	{"kallsyms", PARAM_CHOICE, "on", 0, 0, "on off",
	 "names of the kernel's functions in the file, where they are not hidden"},
	{"wall_time", PARAM_CHOICE, "on", 0, 0, "on off",
	 "the offset to the time of day in the file"},
	{"only", PARAM_CHOICE, "all", 0, 0, "all command",
	 "command: where the kernel can tell, no events but those of the command, and a mark where it "
	 "begins"},
	{"control", PARAM_INTEGER, "0", 0, 2, NULL,
	 "1: orders come on standard input (stop, mark TEXT), and its end ends the recording; 2: the "
	 "first begins it"},
	{"progress_ms", PARAM_INTEGER, "1000", 0, 3600000, NULL, "between lines of progress; 0: none"},
	{"cpu", PARAM_INTEGER, "auto", 0, 1023, NULL,
	 "CPU that the readers run on; auto: as the scheduler decides"},
	{"root", PARAM_TEXT, "", 0, 200, NULL, "where tracefs is; empty: where it always is"},
	{0},
};

/* What a recording takes of the board, from before it begins until its data are in. */
struct cost {
	uint64_t wall_ns, cpu_ns;
};

static struct cost cost_now(void)
{
	struct rusage usage;
	struct timeval *t = &usage.ru_utime, *s = &usage.ru_stime;

	getrusage(RUSAGE_SELF, &usage);
	return (struct cost){clock_ns(), (uint64_t)(t->tv_sec + s->tv_sec) * 1000000000u +
						 (uint64_t)(t->tv_usec + s->tv_usec) * 1000u};
}

static void note(struct recording *r, const char *sentence)
{
	if (r->caveat_count < CAVEATS)
		r->caveats[r->caveat_count++] = sentence;
}

static int set(const struct tracefs *fs, const char *file, const char *value)
{
	int error = tracefs_write(fs, file, value);

	return error ? json_error(77, -error, "trace: the kernel refuses '%s' for %s/%s", value,
				  fs->base, file) : 0;
}

static int set_clock(struct recording *r, const char *wanted)
{
	int status = set(&r->fs, "trace_clock", wanted);

	if (status)
		return status;
	tracefs_clock(&r->fs, r->clock, sizeof(r->clock));
	if (strcmp(r->clock, wanted) != 0)
		return json_error(77, EINVAL, "trace: the kernel keeps the clock %s instead of %s",
				  r->clock, wanted);
	tracefs_read(&r->fs, "trace_clock", r->clock_text, sizeof(r->clock_text));
	return 0;
}

/* What lies in the ring buffers when recording ends is to find room too. */
static int set_sizes(struct recording *r, const struct args *args)
{
	uint64_t available = (uint64_t)(memory_available() > 0 ? memory_available() : 64 << 20);
	uint64_t cap = arg_number(args, "size"), kb = arg_number(args, "buffer_kb");
	uint64_t cpus = (uint64_t)r->readers.count;
	char text[32];
	int status;

	if (cap == AUTO) {
		cap = available / 3 < (uint64_t)1 << 30 ? available / 3 : (uint64_t)1 << 30;
	} else if (cap > available) {
		return json_error(77, ENOMEM, "trace: size=%llu is more than the %llu bytes of memory "
					      "that are available", (unsigned long long)cap,
				  (unsigned long long)available);
	}
	if (kb == AUTO) {
		kb = available / 8 / cpus >> 10;
		kb = kb < 1024 ? 1024 : kb > 16384 ? 16384 : kb;
	}
	if (kb * cpus > cap / 2 >> 10)
		kb = cap / 2 / cpus >> 10;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)kb);
	status = set(&r->fs, "buffer_size_kb", text);
	if (status)
		return status;
	if (tracefs_read(&r->fs, "buffer_size_kb", text, sizeof(text)) > 0)
		r->buffer_kb = strtoull(text, NULL, 10); /* rounded by the kernel */
	r->cap = cap;
	readers_keep(&r->readers, (size_t)(cap - (r->buffer_kb * cpus << 10 < cap / 2
						   ? r->buffer_kb * cpus << 10 : cap / 2)),
		     arg_is(args, "ring", "on"));
	/* Readers are woken at a quarter, so that three quarters are left while they come; or by
	 * anything, where somebody waits for what comes from all CPUs. */
	tracefs_write(&r->fs, "buffer_percent", r->condition.wanted ? "0" : "25");
	return 0;
}

static int read_layout(struct recording *r)
{
	char text[1024];
	ssize_t n = tracefs_read(&r->fs, "events/header_page", text, sizeof(text));

	if (n < 0 || !page_parse(text, &r->readers.layout))
		return json_error(77, n < 0 ? (int)-n : EPROTO, "trace: the kernel does not tell the "
								"layout of its ring buffers");
	return 0;
}

static int prepare(struct recording *r, const struct args *args)
{
	int status = set(&r->fs, "tracing_on", "0");

	status = status ? status : set_clock(r, arg_text(args, "clock"));
	status = status ? status : events_choose(&r->events, &r->fs, arg_text(args, "events"));
	if (status == 0 && arg_is(args, "only", "command") && !tracefs_restrict(&r->fs))
		note(r, "this kernel cannot restrict events to a command: those of all the board "
			"are here");
	/* Before the buffers are opened for reading: no tracer is changed afterwards. */
	if (status == 0 && arg_text(args, "functions")[0])
		status = functions_begin(&r->fs, arg_text(args, "functions"), r->fs.graph,
					 (unsigned)arg_number(args, "depth"));
	if (status == 0 && arg_text(args, "tracer")[0])
		status = tracer_begin(&r->fs, arg_text(args, "tracer"));
	status = status ? status : events_filter(&r->fs, arg_text(args, "filter"));
	status = status ? status : condition_prepare(&r->condition, &r->fs);
	status = status ? status : read_layout(r);
	status = status ? status : readers_open(&r->readers, &r->fs);
	status = status ? status : set_sizes(r, args);
	if (status)
		return status;
	if (!r->fs.instance[0])
		note(r, r->fs.graph ? "the kernel's main buffer was used, as graphs of functions take: "
				      "what was in it is lost"
				    : "this kernel makes no instances: its one buffer was used, and "
				      "what was in it is lost");
	recording_read_formats(r);
	return 0;
}

static void send_begin(const struct recording *r)
{
	struct json j = {0};

	json_begin(&j, "recording");
	recording_describe(r, &j);
	json_send(&j); /* that nobody reads it shows at once */
	free(j.text);
}

/* Events on, tracing on, wait, tracing off, and whatever is left. */
static int record(struct recording *r, struct watch *w, bool held)
{
	struct cost before = cost_now(), after;
	const char *refused = "";
	uint64_t on;
	int error, status;

	if (!r->fs.instance[0])
		tracefs_write(&r->fs, "trace", "");
	status = readers_start(&r->readers);
	if (status)
		return status;
	error = events_enable(&r->events, &r->fs, true, &refused);
	if (error)
		return json_error(77, -error, "trace: the kernel refuses to enable '%s'", refused);
	if (held && !watch_await_start())
		return json_error(1, EPIPE, "trace: nobody starts it");
	status = set(&r->fs, "tracing_on", "1");
	if (status)
		return status;
	on = clock_ns();
	send_begin(r);
	if (w->until_ns != UINT64_MAX)
		w->until_ns += on;
	error = watch_start_command(w, &r->fs);
	if (error)
		return json_error(1, -error, "trace: the command cannot be started");
	r->ended = watch_until_end(w, &r->readers);
	tracefs_write(&r->fs, "tracing_on", "0");
	r->recorded_ns = clock_ns() - on;
	watch_end_command(w);
	events_enable(&r->events, &r->fs, false, &refused);
	readers_finish(&r->readers);
	after = cost_now();
	r->wall_ns = after.wall_ns - before.wall_ns;
	r->cpu_ns = after.cpu_ns - before.cpu_ns;
	r->command_status = w->status;
	return r->ended ? 0 : json_error(1, EPIPE, "trace: nobody reads what is recorded");
}

static int record_and_release(struct recording *r, const struct args *args, struct watch *w)
{
	struct guard guard;
	int status, error;

	if (guard_start(&guard, &r->fs))
		note(r, "no process can be started that would put things back if this one is killed");
	status = prepare(r, args);
	if (status == 0) {
		char path[640];
		snprintf(path, sizeof(path), "%s/trace_marker", r->fs.base);
		w->marker = r->marker = open(path, O_WRONLY | O_CLOEXEC);
		status = record(r, w, arg_number(args, "control") == 2);
		watch_end_command(w);
	}
	if (status)
		readers_finish(&r->readers);
	else
		recording_read_rest(r);
	if (r->marker >= 0)
		close(r->marker);
	readers_close(&r->readers);
	error = tracefs_release(&r->fs);
	if (error)
		guard_leave(&guard);
	else
		guard_dismiss(&guard);
	if (error && status == 0) {
		r->release_error = -error;
		note(r, "what was set for recording could not be put back at once (see "
			"release_error): it is tried for another minute");
	}
	return status;
}

static int parse(int argc, char *const argv[], struct args *args, struct watch *w)
{
	int words = 0;
	int status;

	while (words < argc && strcmp(argv[words], "--") != 0)
		words++;
	args_begin(args, NULL, params);
	status = args_parse(args, "trace", words, argv);
	if (status)
		return status;
	if (words + 1 < argc)
		w->command = argv + words + 1;
	w->controlled = arg_number(args, "control") != 0;
	w->announced = arg_is(args, "only", "command");
	w->progress_ns = arg_number(args, "progress_ms") * 1000000u;
	w->until_ns = UINT64_MAX;
	if (arg_number(args, "for_ms") != AUTO)
		w->until_ns = arg_number(args, "for_ms") * 1000000u;
	else if (!w->command && !w->controlled && !arg_text(args, "until")[0])
		return json_error(2, EINVAL, "trace: say for how long (--for_ms N), or give a command "
					     "behind --");
	return 0;
}

int trace(int argc, char *const argv[])
{
	struct recording r = {.marker = -1, .readers = {.stop = -1, .full = -1, .on_cpu = -1}};
	struct watch w = {.marker = -1, .signals = -1};
	struct args args;
	int status = parse(argc, argv, &args, &w);

	if (status)
		return status;
	if (arg_number(&args, "cpu") != AUTO)
		r.readers.on_cpu = (int)arg_number(&args, "cpu");
	r.with_kallsyms = arg_is(&args, "kallsyms", "on");
	r.with_wall_time = arg_is(&args, "wall_time", "on");
	if (arg_is(&args, "output", "-") && isatty(STDOUT_FILENO))
		return json_error(2, ENOTTY, "trace: a terminal takes no file: name one with "
					     "--output");
	if (watch_signals(&w) < 0)
		return json_error(1, errno, "trace: signals cannot be waited for");
	if (arg_is(&args, "graph", "on") && !arg_text(&args, "functions")[0])
		return json_error(2, EINVAL, "trace: --graph takes --functions");
	status = condition_parse(&r.condition, arg_text(&args, "until"));
	if (status)
		return status;
	if (r.condition.wanted)
		w.condition = r.readers.condition = &r.condition;
	w.after_ns = arg_number(&args, "after_ms") * 1000000u;
	status = tracefs_open(&r.fs, arg_text(&args, "root"), arg_is(&args, "graph", "on"),
			      arg_text(&args, "settings"));
	r.fs.functions = arg_text(&args, "functions")[0] != '\0';
	r.fs.tracer = r.fs.functions || arg_text(&args, "tracer")[0];
	for (int i = 0; i < r.fs.setting_count; i++)
		if (strstr(r.fs.settings[i].file, "stop_") && r.fs.settings[i].values[WANTED][0] != '0')
			w.stopping = &r.fs;
	if (status == 0)
		status = record_and_release(&r, &args, &w);
	watch_let_signals(&w); /* everything is as it was before */
	if (status == 0)
		status = deliver(&r, arg_text(&args, "output"));
	recording_free(&r);
	return status;
}
