/* The load of other CPUs is taken from the lines of single CPUs of /proc/stat: neither the line
 * that sums them, nor idle time, nor the CPUs of the benchmark itself count. */
#include "core/evidence.h"
#include "tests/check.h"

static const char text[] = "cpu  1000 2000 3000 4000 5000 6000 7000 8000 9000 10000\n"
			   "cpu0 1 20 300 99999 99999 4000 50000 600000 0 0\n"
			   "cpu1 2 20 300 99999 99999 4000 50000 600000 0 0\n"
			   "cpu10 3 0 0 99999 99999 0 0 0 0 0\n"
			   "intr 12345 1 2 3 4 5 6 7 8\n"
			   "ctxt 67890\n";

static struct evidence parse(const char *from, int own, int partner)
{
	struct evidence e = {0};
	char copy[1024];

	strcpy(copy, from);
	evidence_parse_load(&e, copy, own, partner);
	return e;
}

int main(void)
{
	struct evidence e = parse(text, -1, -1);

	CHECK(e.has_load && e.steal_ticks == 1200000);
	CHECK(e.busy_ticks == 2 * 54320 + 1 + 2 + 3);
	e = parse(text, 1, -1);
	CHECK(e.busy_ticks == 54321 + 3 && e.steal_ticks == 1200000);
	e = parse(text, 0, 1);
	CHECK(e.busy_ticks == 3);
	e = parse(text, 10, 10);
	CHECK(e.busy_ticks == 54321 + 54322);

	e = parse("cpu0 1 2 3 4\n", 1, 1); /* before 2.6 there was no more */
	CHECK(e.has_load && e.busy_ticks == 6 && e.steal_ticks == 0);
	CHECK(!parse("", 0, 0).has_load);
	CHECK(!parse("cpu  1 2 3 4 5 6 7 8\nbtime 1\n", 0, 0).has_load);
	CHECK(!parse("cpu0\ncpu1 x y z\ncpux 1 2 3 4 5\n", 0, 0).has_load);
	return 0;
}
