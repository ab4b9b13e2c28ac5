/* memory.triad: the loops of STREAM on several CPUs at once. */
#include <errno.h>
#include <stdlib.h>

#include "bench/benchmarks.h"
#include "bench/memory.h"
#include "core/clock.h"
#include "core/team.h"

/* Eight doubles, which the compiler makes of what vector registers the architecture always has. */
typedef double pack __attribute__((vector_size(64)));

enum { PACK = sizeof(pack) / sizeof(double) };
#define FACTOR 3.0

typedef void loop(pack *restrict to, const pack *restrict x, const pack *restrict y, size_t n);

/* The barrier keeps each loop a loop: a compiler makes memcpy of one that copies. */
#define LOOP(name, element)                                                                       \
	static void name(pack *restrict to, const pack *restrict x, const pack *restrict y,       \
			 size_t n)                                                                \
	{                                                                                         \
		(void)x, (void)y;                                                                 \
		for (size_t i = 0; i < n; i++) {                                                  \
			to[i] = element;                                                          \
			__asm__ volatile("" ::: "memory");                                        \
		}                                                                                 \
	}

LOOP(loop_copy, x[i])
LOOP(loop_scale, x[i] * FACTOR)
LOOP(loop_add, x[i] + y[i])
LOOP(loop_triad, x[i] + y[i] * FACTOR)

static const struct operation {
	const char *name;
	loop *run;
	double by_x, by_y; /* what becomes of a pair of elements */
} operations[] = {
	{"copy", loop_copy, 1, 0},
	{"scale", loop_scale, FACTOR, 0},
	{"add", loop_add, 1, 1},
	{"triad", loop_triad, 1, FACTOR},
};

enum { TO, X, Y, ARRAYS };

struct triad {
	struct team team;
	struct buffer array[ARRAYS];
	const struct operation *operation;
	uint64_t iterations;
	_Atomic int wrong;
};

static int arrays(const struct triad *t)
{
	return t->operation->by_y != 0 ? 3 : 2;
}

/* A member's share: whole pages, from *first to before *last, in packs. */
static void share(const struct triad *t, int member, size_t *first, size_t *last)
{
	enum { BASE_PAGE = 4096 };
	uint64_t pages = t->array[TO].size / BASE_PAGE;
	size_t packs = BASE_PAGE / sizeof(pack);

	*first = (size_t)(pages * (uint64_t)member / (uint64_t)t->team.count) * packs;
	*last = (size_t)(pages * (uint64_t)(member + 1) / (uint64_t)t->team.count) * packs;
}

/* Small whole numbers, of which the results are exact. */
static double element(int array, size_t i)
{
	return (double)((array == X ? i : i * 7) % 1021);
}

/* Whoever touches a page first has it from the memory that is near. */
static void touch(int member, void *context)
{
	struct triad *t = context;
	size_t first, last;

	share(t, member, &first, &last);
	for (int array = 0; array < arrays(t); array++) {
		double *data = t->array[array].data;
		for (size_t i = first * PACK; i < last * PACK; i++)
			data[i] = array == TO ? -1 : element(array, i);
	}
}

static void work(int member, void *context)
{
	struct triad *t = context;
	size_t first, last;

	share(t, member, &first, &last);
	for (uint64_t i = 0; i < t->iterations; i++)
		t->operation->run((pack *)t->array[TO].data + first,
				  (const pack *)t->array[X].data + first,
				  (const pack *)t->array[Y].data + first, last - first);
}

static void verify(int member, void *context)
{
	struct triad *t = context;
	const struct operation *o = t->operation;
	const double *data = t->array[TO].data;
	size_t first, last;

	share(t, member, &first, &last);
	for (size_t i = first * PACK; i < last * PACK; i++)
		if (data[i] != o->by_x * element(X, i) + o->by_y * element(Y, i))
			atomic_store(&t->wrong, 1);
}

static int map_arrays(struct run *run, struct triad *t)
{
	const char *pages = arg_text(&run->args, "pages");
	size_t size = (size_t)arg_number(&run->args, "size") / 4096 * 4096;
	int status = memory_check_room(run->benchmark->id,
				       buffer_footprint(size, pages) * (uint64_t)arrays(t));

	for (int i = 0; i < arrays(t) && status == 0; i++) {
		int error = buffer_map(&t->array[i], size, pages);
		if (error)
			status = json_error(77, -error, "memory.triad: the system refuses an array "
							"of %zu bytes: choose a smaller size",
					    size);
	}
	return status;
}

static int setup(struct run *run)
{
	struct triad *t = calloc(1, sizeof(*t));
	int status;

	run->state = t;
	if (!t)
		return json_error(1, ENOMEM, "memory.triad: no memory");
	t->operation = operations;
	while (!arg_is(&run->args, "operation", t->operation->name))
		t->operation++;
	status = map_arrays(run, t);
	if (status == 0)
		status = team_start(&t->team, run, arg_number(&run->args, "threads"));
	if (status)
		return status;
	t->iterations = 1;
	team_do(&t->team, touch, t);
	team_do(&t->team, work, t);
	team_do(&t->team, verify, t);
	if (t->wrong)
		return json_error(1, EBADMSG, "memory.triad: operation=%s gives wrong results: "
					      "faulty memory, or a faulty probe",
				  t->operation->name);
	if (arg_is(&run->args, "pages", "huge"))
		for (int i = 0; i < arrays(t); i++)
			run_caveat(run, buffer_huge_caveat(&t->array[i]));
	return 0;
}

static int batch(struct run *run, uint64_t iterations)
{
	struct triad *t = run->state;

	t->iterations = iterations;
	team_do(&t->team, work, t);
	run->elapsed_ns = team_ns(&t->team);
	return 0;
}

static double value(const struct run *run)
{
	const struct triad *t = run->state;
	double bytes = (double)t->array[TO].size * arrays(t) * (double)run->iterations;

	return bytes / (double)run->elapsed_ns * 1e9;
}

static void describe(const struct run *run, struct json *j)
{
	static const char *const names[ARRAYS] = {"target", "source", "second source"};
	const struct triad *t = run->state;

	json_signed(j, "threads", t->team.count);
	json_open(j, "memory", '[');
	for (int i = 0; i < arrays(t); i++)
		buffer_describe(&t->array[i], names[i], j);
	json_close(j, ']');
}

static void detail(const struct run *run, struct json *j)
{
	const struct triad *t = run->state;
	double all = (double)team_ns(&t->team);

	json_number(j, "waiting", 100 * (1 - (double)team_first_ns(&t->team) / all));
}

static void teardown(struct run *run)
{
	struct triad *t = run->state;

	if (!t)
		return;
	team_stop(&t->team);
	for (int i = 0; i < ARRAYS; i++)
		buffer_unmap(&t->array[i]);
	free(t);
}

static const struct param params[] = {
	{"operation", PARAM_CHOICE, "triad", 0, 0, "copy scale add triad",
	 "copy: to = x; scale: to = 3 x; add: to = x + y; triad: to = x + 3 y"},
	{"threads", PARAM_INTEGER, "auto", 1, 1024, NULL,
	 "threads, each on its own CPU, the measured one and then the fastest; auto: one on each "
	 "CPU that the process may use"},
	{"size", PARAM_SIZE, "64M", 64 << 10, 1ull << 30, NULL,
	 "bytes in each array (a multiple of 4K is used); STREAM asks for at least four times the "
	 "last-level caches"},
	{"pages", PARAM_CHOICE, "default", 0, 0, pages_choices, pages_summary},
	{0},
};

static const struct figure figures[] = {
	{"waiting", "%", "lower", "median",
	 "share of the batch for which the first thread to finish waited for the last"},
	{0},
};

const struct benchmark memory_triad = {
	.id = "memory.triad",
	.summary = "how fast several CPUs together stream through memory",
	.unit = "B/s",
	.better = "higher",
	.counted = "read plus written, as STREAM does: 16 bytes an element, of add and triad 24",
	.method = "the loops of STREAM over arrays of doubles, an equal share for each thread, which "
		  "has also touched it first; all begin together and the slowest decides; the "
		  "results of a first pass are compared, every element, before anything is timed",
	.pitfalls = "STREAM counts each array once, but ordinary stores read a line before they "
		    "write it, so the bus carries a third more (copy, scale: half more); arrays "
		    "that fit the caches measure the caches; with unequal CPUs the slowest holds "
		    "up the others (metric waiting); one thread rarely fills the bus and many may "
		    "get less than a few: compare thread counts",
	.not_measured = "stores past the cache, which need not read the line first (memory.copy:"
			"kernel=nt); vectors wider than the architecture always has; NUMA nodes "
			"apart",
	.reference = "STREAM by OpenMP with as many threads: within 10 % where its compiler makes no "
		"stores past the cache; memory.copy is half of operation=copy,threads=1",
	.params = params,
	.figures = figures,
	.loads_others = true,
	.setup = setup,
	.batch = batch,
	.value = value,
	.describe = describe,
	.detail = detail,
	.teardown = teardown,
};
