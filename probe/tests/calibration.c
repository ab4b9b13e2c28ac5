/* A batch is made long enough once, by tries of which one is lengthened as by an interrupt, or all
 * are by a neighbour on the CPU, and has the same number of iterations from then on; never more than
 * a benchmark allows, and all together as few as it relies on to keep to a cap. One that says how
 * many has as many, however late. */
#define evidence_wait_ns neighbour_ns /* what this test waits for the CPU itself is no matter */
#include "core/batch.c"
#include "bench/storage.h"
#include "tests/check.h"

static int tries;
static int lengthened;        /* which try is */
static bool has_neighbour;    /* which lengthens it and all others */
static int64_t waited;
static uint64_t ns_an_iteration;
static uint64_t least, most;  /* iterations of measured batches */
static uint64_t cap;          /* of all iterations, those of tries too; 0: none */
static uint64_t exact;        /* iterations of a batch, 0: as long as batch_ms asks */
static uint64_t total;

int64_t neighbour_ns(void)
{
	return waited;
}

static int setup(struct run *run)
{
	run->most_iterations = cap ? storage_most_iterations(run, cap, 1) : 0;
	run->exact_iterations = exact;
	tries = 0;
	total = 0;
	least = UINT64_MAX;
	most = 0;
	return 0;
}

static int batch(struct run *run, uint64_t iterations)
{
	run->elapsed_ns = iterations * ns_an_iteration;
	if (tries++ == lengthened || has_neighbour)
		run->elapsed_ns += 50000000;
	if (has_neighbour)
		waited += 50000000;
	total += iterations;
	if (run->iterations) { /* set when calibration is over */
		least = iterations < least ? iterations : least;
		most = iterations > most ? iterations : most;
	}
	return 0;
}

static const struct benchmark benchmark = {
	.id = "test.calibration",
	.unit = "ns",
	.better = "lower",
	.counted = "",
	.setup = setup,
	.batch = batch,
	.value = value_ns_per_iteration,
};

static void test(uint64_t ns, int which)
{
	char *argv[] = {"--warm_ms", "0", "--batches", "3", "--counters", "off"};

	ns_an_iteration = ns;
	lengthened = which;
	CHECK(batch_run(&benchmark, 6, argv) == 0);
	CHECK(least == most);
	if (exact) {
		CHECK(least == exact);
		return;
	}
	if (cap) {
		CHECK(total <= cap);
		CHECK(least * ns >= 5000000 || least == cap / 17); /* 3 batches and 14 for tries */
		return;
	}
	CHECK(least * ns >= 5000000);                    /* as batch_ms asks */
	CHECK(least * ns < 8000000 || least <= 2);       /* and not much more */
}

int main(void)
{
	int out = capture();

	for (int which = -1; which < 30; which += is_emulated() ? 6 : 1) {
		test(1, which);
		test(100, which);
		test(77777, which);
		test(9000000, which);
	}
	for (cap = 17; cap < 1u << 30; cap *= 7) {
		for (int which = -1; which < 30; which += is_emulated() ? 15 : 5) {
			test(1, which);
			test(1000, which);
			test(1300000, which);
			test(4900000, which);
		}
	}
	cap = 0;
	has_neighbour = true;
	test(1, -1);
	test(77777, -1);
	test(9000000, -1);
	has_neighbour = false;
	exact = 300;
	for (int which = -1; which < 4; which++)
		test(200000, which);
	CHECK(strstr(captured(out), "\"type\":\"end\",\"batches\":3}\n") != NULL);
	return 0;
}
