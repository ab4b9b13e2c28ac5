/* gpio.response: from an edge on one line to a program that knows of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/conditions.h"
#include "bench/gpio_lines.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/histogram.h"
#include "core/partner.h"

enum { EDGE_TIMEOUT_MS = 2000, WIRE_TIMEOUT_MS = 1000 };

struct response {
	struct conditions conditions;
	struct gpio gpio;
	struct partner partner; /* makes the edges where this process sleeps until they come */
	bool echo, polls;
	bool high; /* the level last set */
	uint64_t interval_ns;
	uint64_t extra_edges;
	struct histogram all, to_kernel, to_program;
};

static void pause_ns(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
				.tv_nsec = (long)(ns % 1000000000u)};

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

/* --- the other process ----------------------------------------------------------------------- */

/* For each byte: waits until the process that sent it sleeps, notes the time and sets the line. */
static void make_edges(struct partner *p, void *context)
{
	struct response *r = context;
	char level;

	while (file_read_byte(p->to[0], &level) > 0) {
		pause_ns(r->interval_ns);
		atomic_store(&p->shared->goal, clock_ns());
		if (r->gpio.way->set(&r->gpio, level) < 0)
			return;
	}
}

/* --- setup ----------------------------------------------------------------------------------- */

static bool follows(struct response *r, bool high)
{
	uint64_t end = clock_ns() + WIRE_TIMEOUT_MS * (uint64_t)1000000;

	if (r->gpio.way->set(&r->gpio, high) < 0)
		return false;
	while (r->gpio.way->get(&r->gpio) != high) {
		if (clock_ns() > end)
			return false;
		pause_ns(1000000);
	}
	return true;
}

static int check_wire(struct response *r, const struct run *run)
{
	/* low is what it was made when it was opened, so begin with the other */
	if (follows(r, true) && follows(r, false) && follows(r, true) && follows(r, false))
		return 0;
	return json_error(77, EIO, "gpio.response: line %u of %s does not follow line %u: join "
				   "them by a wire, and see that nothing else drives them",
			  r->gpio.in, arg_text(&run->args, "chip"), r->gpio.out);
}

static const char *what_is_counted(const struct response *r)
{
	if (!r->echo)
		return NULL; /* that of the benchmark */
	return r->polls || r->gpio.way == &gpio_by_sysfs
		       ? "an answer: from the program that knows of the edge to its line having "
			 "been set; the median of a batch"
		       : "an answer: from the kernel's time stamp of the edge to the line having "
			 "been set; the median of a batch";
}

static int setup(struct run *run)
{
	struct response *r = calloc(1, sizeof(*r));
	int status;

	run->state = r;
	if (!r)
		return json_error(1, ENOMEM, "gpio.response: no memory");
	r->echo = arg_is(&run->args, "mode", "echo");
	r->polls = arg_is(&run->args, "method", "mmap");
	r->interval_ns = arg_number(&run->args, "interval_us") * 1000;
	status = gpio_open(&r->gpio, run);
	if (status == 0 && !r->echo)
		status = check_wire(r, run);
	if (status == 0)
		status = conditions_setup(&r->conditions, run);
	if (status)
		return status;
	run->counted = what_is_counted(r);
	if (r->echo)
		run_caveat(run, "echo: whoever makes the edges decides how many there are, and an "
				"instrument at both lines sees the whole response; this value is "
				"the program's part");
	else if (r->polls)
		run_caveat(run, "method=mmap polls: no interrupt and no sleep is part of this");
	else if (run->place.partner == run->place.cpu)
		run_caveat(run, "edges are made on the CPU that answers them, so it never sleeps "
				"deeply: place=core has the way out of an idle state in it");
	if (r->echo || r->polls)
		return 0;
	run->exact_iterations = arg_number(&run->args, "batch_ms") * 1000000 / r->interval_ns;
	if (run->exact_iterations == 0)
		run->exact_iterations = 1;
	return partner_start(&r->partner, run, make_edges, r);
}

/* --- a batch --------------------------------------------------------------------------------- */

/* Edges that came unasked: noise on an open line, or a switch that bounces. */
static int drain(struct response *r)
{
	struct gpio_edge edge;
	int n;

	while ((n = r->gpio.way->wait(&r->gpio, &edge, 0)) > 0)
		r->extra_edges++;
	return n;
}

static int no_edge(const struct run *run, int error)
{
	const struct response *r = run->state;

	if (error < 0)
		return json_error(1, -error, "gpio.response: line %u cannot be waited for any more",
				  r->gpio.in);
	return json_error(r->echo ? 77 : 1, ETIMEDOUT,
			  r->echo ? "gpio.response: no edge on line %u in 2 s: mode=echo answers "
				    "edges that something else makes"
				  : "gpio.response: line %u no longer follows: no edge in 2 s",
			  r->gpio.in);
}

static void record(struct response *r, uint64_t from, const struct gpio_edge *edge, uint64_t to)
{
	histogram_record(&r->all, to > from ? to - from : 0);
	if (!edge->kernel_ns)
		return;
	if (!r->echo)
		histogram_record(&r->to_kernel, edge->kernel_ns > from ? edge->kernel_ns - from : 0);
	histogram_record(&r->to_program, to > edge->kernel_ns ? to - edge->kernel_ns : 0);
}

/* Another process makes the edge while this one sleeps. */
static int answer_partner(struct response *r)
{
	struct gpio_edge edge;
	int n = drain(r);
	char level;

	if (n < 0)
		return n;
	r->high = !r->high;
	level = r->high;
	if (write(r->partner.to[1], &level, 1) != 1)
		return -errno;
	n = r->gpio.way->wait(&r->gpio, &edge, EDGE_TIMEOUT_MS + (int)(r->interval_ns / 1000000));
	if (n > 0)
		record(r, atomic_load(&r->partner.shared->goal), &edge, clock_ns());
	return n;
}

/* This process makes the edge itself and looks for it. */
static int answer_self(struct response *r)
{
	struct gpio_edge edge;
	uint64_t begin = clock_ns();
	int n;

	r->high = !r->high;
	n = r->gpio.way->set(&r->gpio, r->high);
	if (n == 0)
		n = r->gpio.way->wait(&r->gpio, &edge, EDGE_TIMEOUT_MS);
	if (n > 0)
		record(r, begin, &edge, clock_ns());
	return n;
}

/* Something outside makes the edge, and the line is the answer. */
static int answer_outside(struct response *r)
{
	struct gpio_edge edge;
	int error, n = r->gpio.way->wait(&r->gpio, &edge, EDGE_TIMEOUT_MS);
	uint64_t seen = clock_ns();

	if (n <= 0)
		return n;
	error = r->gpio.way->set(&r->gpio, edge.rising);
	record(r, edge.kernel_ns ? edge.kernel_ns : seen, &edge, clock_ns());
	return error < 0 ? error : 1;
}

static int batch(struct run *run, uint64_t iterations)
{
	struct response *r = run->state;
	int n, status;

	r->extra_edges = 0;
	n = drain(r);
	if (!r->echo)
		r->extra_edges = 0; /* the first poll() of sysfs has something to tell, always */
	histogram_clear(&r->all);
	histogram_clear(&r->to_kernel);
	histogram_clear(&r->to_program);
	if (n < 0)
		return no_edge(run, n);
	status = conditions_enter(&r->conditions, run);
	if (status)
		return status;
	uint64_t begin = clock_ns();
	for (n = 1; iterations && n > 0; iterations--)
		n = r->echo ? answer_outside(r) : r->polls ? answer_self(r) : answer_partner(r);
	run->elapsed_ns = clock_ns() - begin;
	conditions_leave(&r->conditions, run);
	return n > 0 ? 0 : no_edge(run, n);
}

static double value(const struct run *run)
{
	const struct response *r = run->state;

	return histogram_percentile(&r->all, 50);
}

static void describe_run(const struct run *run, struct json *j)
{
	const struct response *r = run->state;

	json_string(j, "gpio_label", r->gpio.label);
	conditions_describe(&r->conditions, run, j);
}

static void describe_part(const struct histogram *h, struct json *j, const char *key)
{
	if (h->count)
		json_number(j, key, histogram_percentile(h, 50));
	else
		json_na(j, key, "this way of waiting has no time stamp of the kernel");
}

static void detail(const struct run *run, struct json *j)
{
	const struct response *r = run->state;

	json_number(j, "p90", histogram_percentile(&r->all, 90));
	json_number(j, "p99", histogram_percentile(&r->all, 99));
	json_unsigned(j, "max", r->all.max);
	if (!r->echo)
		describe_part(&r->to_kernel, j, "interrupt_ns");
	describe_part(&r->to_program, j, "wake_ns");
	json_unsigned(j, "extra_edges", r->extra_edges);
	conditions_detail(&r->conditions, j);
	histogram_describe(&r->all, j, "histogram");
}

static void teardown(struct run *run)
{
	struct response *r = run->state;

	if (r) {
		conditions_undo(&r->conditions);
		partner_stop(&r->partner);
		gpio_close(&r->gpio);
	}
	free(r);
}

static const struct param params[] = {
	{"chip", PARAM_TEXT, "auto", 1, 31, NULL,
	 "chip that both lines belong to, such as gpiochip0; it has no default that could be right"},
	{"out", PARAM_INTEGER, "auto", 0, 1023, NULL, "line of the chip that is driven"},
	{"in", PARAM_INTEGER, "auto", 0, 1023, NULL, "line of the chip that is watched"},
	{"method", PARAM_CHOICE, "chardev", 0, 0, "chardev sysfs mmap",
	 "chardev: the character device, version 2, which stamps edges with the time; sysfs: poll() "
	 "on a value file, as kernels before 5.10 have it; mmap: look at the level in the "
	 "registers again and again (Raspberry Pi 1 to 4)"},
	{"mode", PARAM_CHOICE, "loop", 0, 0, "loop echo",
	 "loop: a wire joins out to in, and edges are made here; echo: edges come from outside, and "
	 "out is set to what in is, for an instrument that watches both"},
	{"interval_us", PARAM_INTEGER, "1000", 10, 1000000, NULL,
	 "pause before each edge of mode=loop in microseconds, in which the CPU may sleep; none "
	 "with method=mmap"},
	{"place", PARAM_CHOICE, "same", 0, 0, place_choices, place_summary},
	CONDITION_PARAMS,
	{0},
};

static const struct initial initials[] = {{"batch_ms", "200"}, {"warm_ms", "0"}, {0}};

static const struct figure figures[] = {
	{"p90", "ns", "lower", "median", "nine of ten responses of a batch are no longer"},
	{"p99", "ns", "lower", "median", "99 of 100 responses of a batch are no longer"},
	{"max", "ns", "lower", "max", "the longest response of all: it grows with the time measured"},
	{"interrupt_ns", "ns", "lower", "median",
	 "from just before the line is set to the kernel's time stamp of the edge (chardev)"},
	{"wake_ns", "ns", "lower", "median",
	 "from that time stamp to the program (chardev); in mode=echo, to its having answered"},
	{"extra_edges", "", "", "sum", "edges that nobody made: noise, or a bad contact"},
	STOLEN_FIGURE,
	{0},
};

const struct benchmark gpio_response = {
	.id = "gpio.response",
	.summary = "how soon a program answers an edge on a GPIO line",
	.unit = "ns",
	.better = "lower",
	.counted = "a response: from just before one line is set to the program that has been told "
		   "of the edge on the other; the median of a batch",
	.method = "a second process sets the line `out` after each pause, a wire carries it to the "
		  "line `in`, and the measured process, pinned and asleep in poll(), is woken by "
		  "its interrupt; with method=mmap one process sets the line and looks for it. "
		  "A program that answers by setting a line itself needs just as long from edge to "
		  "edge: setting comes first here, instead of last",
	.pitfalls = "the kernel stamps an edge when it handles the interrupt, not when the edge "
		    "is, so interrupt_ns holds setting the line, too; a chip behind I2C, SPI or USB "
		    "answers in milliseconds; the interrupt may be served by another CPU than the "
		    "program's (see /proc/irq); a busy CPU may answer sooner than an idle one, "
		    "which has to wake up and to raise its clock; both lines are driven and listen "
		    "for real: name lines that nothing else is connected to",
	.not_measured = "the response of a kernel driver, which needs no program to be woken; what "
			"an oscilloscope sees at the pins (mode=echo is for that); edges in quick "
			"succession",
	.reference = "an oscilloscope or logic analyser at both lines; published medians for a "
		"single-core Raspberry Pi Zero: 272 us by sysfs, 130 us by mmap, in order of "
		"magnitude",
	.params = params,
	.initials = initials,
	.figures = figures,
	.switches = true,
	.setup = setup,
	.batch = batch,
	.value = value,
	.describe = describe_run,
	.detail = detail,
	.teardown = teardown,
};
