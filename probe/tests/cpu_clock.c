/* The clock is told the same by all three ways, and is one that a CPU can have. */
#include <math.h>

#include "core/clock.h"
#include "tests/check.h"

static bool near(double a, double b)
{
	return fabs(a / b - 1) < 0.3; /* other processes may disturb, and CPUs slow down */
}

/* One reading may be disturbed; a clock that is told wrongly is wrong every time. */
static bool chains_agree(double warm)
{
	for (int i = 0; i < 50; i++) {
		struct chain_time time = {0};
		clock_chain(100, &time);
		CHECK(time.cycles > 0);
		if (time.long_ns > time.short_ns &&
		    near(time.cycles / (double)(time.long_ns - time.short_ns) * 1e9, warm))
			return true;
	}
	return false;
}

static bool once_agrees(double warm)
{
	for (int i = 0; i < 50; i++) {
		double once = clock_cpu_hz();
		if (once == 0 || near(once, warm))
			return true;
	}
	return false;
}

int main(void)
{
	const struct timer *timer = clock_timer();
	uint64_t before = clock_ns();
	double warm = clock_warm(-1, 1000);

	CHECK(timer->resolution_ns > 0 && timer->resolution_ns < 100000000);
	CHECK(timer->cost_ns > 0 && timer->cost_ns < 1000000);
	CHECK(clock_ns() > before);
	CHECK(clock_warm(-1, 0) == warm);
	if (is_emulated())
		return 0; /* instructions take no fixed time: there is nothing to compare */
	if (warm == 0)
		SKIP("instructions take no fixed time here");
	CHECK(warm > 5e7 && warm < 1e10);
	CHECK(chains_agree(warm));
	CHECK(once_agrees(warm));
	return 0;
}
