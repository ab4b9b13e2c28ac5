/* Threads that do a job together. See team.h. */
#include "core/team.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "core/clock.h"

/* Members come from their sleep one after the other, so each waits here for the last. Yielding
 * costs nothing on a CPU of one's own, and ends where two members share one after all. */
static void take_part(struct team *t, struct member *m)
{
	atomic_fetch_add(&t->arrived, 1);
	while (atomic_load(&t->arrived) < t->count)
		sched_yield();
	m->begin_ns = clock_ns();
	t->job(m->index, t->context);
	m->end_ns = clock_ns();
	atomic_fetch_add(&t->finished, 1);
}

static void *live(void *context)
{
	struct member *m = context;
	struct team *t = m->team;

	m->error = place_pin(m->cpu);
	for (unsigned seen = 0;; seen++) {
		pthread_mutex_lock(&t->lock);
		while (t->round == seen)
			pthread_cond_wait(&t->wake, &t->lock);
		pthread_mutex_unlock(&t->lock);
		if (!t->job)
			return NULL;
		take_part(t, m);
	}
}

static void call(struct team *t, void (*job)(int member, void *context), void *context)
{
	pthread_mutex_lock(&t->lock);
	t->job = job;
	t->context = context;
	atomic_store(&t->arrived, 0);
	atomic_store(&t->finished, 0);
	t->round++;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

void team_do(struct team *t, void (*job)(int member, void *context), void *context)
{
	call(t, job, context);
	take_part(t, &t->members[0]);
	while (atomic_load(&t->finished) < t->count)
		sched_yield();
}

static void nothing(int member, void *context)
{
	(void)member, (void)context;
}

int team_start(struct team *t, struct run *run, uint64_t threads)
{
	const char *id = run->benchmark->id;
	int cpus[CPU_SETSIZE];
	int usable = place_list(run->place.cpu, cpus);
	int wanted = threads == AUTO ? usable : (int)threads;

	*t = (struct team){.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
	if (wanted > usable)
		return json_error(77, ENODEV, "%s: threads=%d need a CPU each, and this process may "
					      "use %d", id, wanted, usable);
	t->members = calloc((size_t)wanted, sizeof(*t->members));
	if (!t->members)
		return json_error(1, ENOMEM, "%s: no memory", id);
	for (t->count = 0; t->count < wanted; t->count++) {
		struct member *m = &t->members[t->count];
		*m = (struct member){.team = t, .index = t->count, .cpu = cpus[t->count]};
		int error = t->count ? pthread_create(&m->thread, NULL, live, m) : 0;
		if (error)
			return json_error(77, error, "%s: the system lets this process have %d "
						     "threads, not %d", id, t->count, wanted);
	}
	team_do(t, nothing, NULL); /* until all are pinned */
	for (int i = 0; i < t->count; i++)
		if (t->members[i].error)
			return json_error(77, -t->members[i].error,
					  "%s: CPU %d cannot be used any more", id,
					  t->members[i].cpu);
	return 0;
}

static uint64_t ns_until(const struct team *t, bool last)
{
	uint64_t begin = UINT64_MAX;
	uint64_t end = last ? 0 : UINT64_MAX;

	for (int i = 0; i < t->count; i++) {
		const struct member *m = &t->members[i];
		begin = m->begin_ns < begin ? m->begin_ns : begin;
		end = (m->end_ns > end) == last ? m->end_ns : end;
	}
	return end - begin;
}

uint64_t team_ns(const struct team *t)
{
	return ns_until(t, true);
}

uint64_t team_first_ns(const struct team *t)
{
	return ns_until(t, false);
}

void team_stop(struct team *t)
{
	if (!t->members)
		return;
	call(t, NULL, NULL);
	for (int i = 1; i < t->count; i++)
		pthread_join(t->members[i].thread, NULL);
	free(t->members);
	t->members = NULL;
}
