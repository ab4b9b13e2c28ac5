/* A team's members do their parts of a job once each, on different CPUs, together; its times are those
 * of the first and the last to finish; and it can be started and stopped any number of times. */
#include "core/team.h"

#include <sched.h>

#include "core/clock.h"
#include "tests/check.h"

static const struct benchmark benchmark = {.id = "test.team"};
static _Atomic int done[CPU_SETSIZE];
static _Atomic int cpu_of[CPU_SETSIZE];
static _Atomic int present, most;

static void look(int member, void *context)
{
	CHECK(context == &benchmark);
	atomic_store(&cpu_of[member], sched_getcpu());
	atomic_fetch_add(&done[member], 1);
}

/* Each waits until all are there: a team whose members came one after the other would hang. */
static void meet(int member, void *context)
{
	const struct team *t = context;

	(void)member;
	atomic_fetch_add(&present, 1);
	while (atomic_load(&present) < t->count)
		sched_yield();
	atomic_store(&most, atomic_load(&present));
}

static void idle_for(uint64_t ns)
{
	uint64_t begin = clock_ns();

	while (clock_ns() - begin < ns)
		sched_yield();
}

static void tarry(int member, void *context)
{
	(void)context;
	idle_for(member == 0 ? 20000000 : 1000000);
}

static void test(struct run *run, int threads)
{
	enum { JOBS = 50 };
	struct team t;

	memset((void *)done, 0, sizeof(done));
	CHECK(team_start(&t, run, (uint64_t)threads) == 0);
	CHECK(t.count == threads);
	for (int i = 0; i < JOBS; i++)
		team_do(&t, look, (void *)&benchmark);
	for (int i = 0; i < CPU_SETSIZE; i++)
		CHECK(done[i] == (i < threads ? JOBS : 0));
	for (int i = 0; i < threads; i++) {
		CHECK(t.members[i].cpu == cpu_of[i]);
		for (int k = 0; k < i; k++)
			CHECK(cpu_of[k] != cpu_of[i]);
	}
	atomic_store(&present, 0);
	team_do(&t, meet, &t);
	CHECK(most == threads);
	team_do(&t, tarry, NULL);
	CHECK(team_ns(&t) >= 20000000 && team_first_ns(&t) >= 1000000);
	CHECK(threads == 1 ? team_first_ns(&t) == team_ns(&t) : team_first_ns(&t) < team_ns(&t));
	team_stop(&t);
	team_stop(&t); /* harmless */
}

int main(void)
{
	struct run run = {.benchmark = &benchmark};
	int cpus[CPU_SETSIZE];
	struct team t;
	int usable, out;

	CHECK(place_choose(&run.place, "test", AUTO, NULL) == 0);
	usable = place_list(run.place.cpu, cpus);
	CHECK(usable >= 1 && cpus[0] == run.place.cpu);
	for (int threads = 1; threads <= usable && threads <= 4; threads++)
		test(&run, threads);
	CHECK(team_start(&t, &run, AUTO) == 0 && t.count == usable);
	team_stop(&t);

	out = capture();
	CHECK(team_start(&t, &run, (uint64_t)usable + 1) == 77);
	CHECK(strstr(captured(out), "need a CPU each") != NULL);
	team_stop(&t);
	return 0;
}
