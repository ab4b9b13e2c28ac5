/* What a recording waits for. See condition.h.
 *
 * CPUs are read one after the other, so their events come out of order. They are put aside until
 * every reader has looked again, then sorted, then followed thread by thread:
 *
 *     pages ─→ condition_page(): sightings ─→ condition_look(): in order of time ─→ follow()
 */
#include "trace/condition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"

enum { SIGHTINGS = 1 << 20 };

enum what { EVENT, WAKING, BEGINNING, SWITCH, LOST };

struct sighting {
	uint64_t time;
	int32_t thread, previous;
	uint8_t what;
	bool named;      /* as the condition wants it */
	bool still_runs; /* the previous thread could go on */
};

struct waiter {
	int32_t thread; /* 0: free */
	bool off;       /* it is known not to be on a CPU, and to wait for no CPU */
	uint64_t since; /* when it was woken; 0: it was not */
};

/* -- what is asked for ------------------------------------------------------------------------ */

int condition_parse(struct condition *c, const char *text)
{
	static const char wait[] = "wakeup";
	size_t n = sizeof(wait) - 1;
	const char *limit, *colon;
	char *end;

	*c = (struct condition){.id = -1, .waking = -1, .waking_new = -1, .switching = -1};
	pthread_mutex_init(&c->lock, NULL);
	c->wanted = text[0] != '\0';
	if (!c->wanted)
		return 0;
	if (strncmp(text, wait, n) != 0 || (text[n] != '>' && text[n] != ':')) {
		if (strlen(text) >= sizeof(c->event) || !strchr(text, '/') || strstr(text, ".."))
			return json_error(2, EINVAL, "trace: until: name SYSTEM/EVENT, or wakeup>NS");
		snprintf(c->event, sizeof(c->event), "%s", text);
		return 0;
	}
	colon = text + n;
	limit = strrchr(text, '>');
	if (limit)
		c->limit_ns = strtoull(limit + 1, &end, 10);
	if (!limit || end == limit + 1 || *end || c->limit_ns == 0 || limit - colon > COMM)
		return json_error(2, EINVAL, "trace: until: wakeup>NS takes nanoseconds, "
					     "wakeup:NAME>NS at most %d bytes", COMM - 1);
	if (*colon == ':')
		snprintf(c->comm, sizeof(c->comm), "%.*s", (int)(limit - colon - 1), colon + 1);
	return 0;
}

/* "\tfield:pid_t next_pid;\toffset:56;\tsize:4;…"; also of arrays: "char next_comm[16];" */
static bool find_field(const char *format, const char *name, struct place *place)
{
	size_t n = strlen(name);

	for (const char *at = format; (at = strstr(at, name)); at += n) {
		const char *after = at + n;
		if (at == format || (at[-1] != ' ' && at[-1] != '*') || (*after != ';' && *after != '['))
			continue;
		after = strchr(after, ';');
		if (after && sscanf(after, "; offset:%zu; size:%zu;", &place->offset, &place->size) == 2)
			return true;
	}
	return false;
}

static int read_format(const struct tracefs *fs, const char *event, char *text, size_t size)
{
	char file[CONDITION_NAME + 32];
	const char *at;
	int id;

	snprintf(file, sizeof(file), "events/%s/format", event);
	if (tracefs_read(fs, file, text, size) <= 0)
		return -1;
	at = strstr(text, "ID:");
	return at && sscanf(at, "ID: %d", &id) == 1 && id > 0 && id <= UINT16_MAX ? id : -1;
}

int condition_prepare(struct condition *c, const struct tracefs *fs)
{
	static char text[16384];
	bool known;

	if (!c->wanted)
		return 0;
	if (c->event[0]) {
		c->id = read_format(fs, c->event, text, sizeof(text));
		return c->id > 0 ? 0 : json_error(2, ENOENT, "trace: until: this kernel has no event "
							     "'%s'", c->event);
	}
	c->waking = read_format(fs, "sched/sched_waking", text, sizeof(text));
	if (c->waking < 0) /* before 4.3 */
		c->waking = read_format(fs, "sched/sched_wakeup", text, sizeof(text));
	known = c->waking > 0 && find_field(text, "pid", &c->pid);
	c->waking_new = read_format(fs, "sched/sched_wakeup_new", text, sizeof(text));
	known = known && (c->waking_new < 0 || find_field(text, "pid", &c->new_pid));
	c->switching = read_format(fs, "sched/sched_switch", text, sizeof(text));
	known = known && c->switching > 0 && find_field(text, "next_pid", &c->next_pid) &&
		find_field(text, "prev_pid", &c->prev_pid) &&
		find_field(text, "prev_state", &c->prev_state) &&
		find_field(text, "next_comm", &c->next_comm);
	return known ? 0 : json_error(77, ENOENT, "trace: until: this kernel has no sched_waking and "
						  "sched_switch as they are known");
}

/* -- what the readers see --------------------------------------------------------------------- */

static void put(struct condition *c, const struct sighting *s)
{
	if (c->count == SIGHTINGS) {
		/* More than can be followed: nobody is known any more. */
		c->seen[0] = (struct sighting){.time = s->time, .what = LOST};
		c->count = 1;
	}
	if (c->count == c->size) {
		size_t size = c->size ? 2 * c->size : 4096;
		struct sighting *more = realloc(c->seen, size * sizeof(*more));
		if (!more)
			return;
		c->seen = more;
		c->size = size;
	}
	c->seen[c->count++] = *s;
	if (s->time > c->newest)
		c->newest = s->time;
}

/* A number of an event; 0 where the event is too short for it. */
static int64_t number(const struct page_event *e, struct place place)
{
	int32_t narrow;
	int64_t wide;

	if (place.offset + place.size > e->length)
		return 0;
	if (place.size == sizeof(wide)) {
		memcpy(&wide, e->data + place.offset, sizeof(wide));
		return wide;
	}
	if (place.size != sizeof(narrow))
		return 0;
	memcpy(&narrow, e->data + place.offset, sizeof(narrow));
	return narrow;
}

static bool is_named(const struct condition *c, const struct page_event *e)
{
	size_t at = c->next_comm.offset, size = c->next_comm.size;

	return !c->comm[0] || (at + size <= e->length && size <= COMM &&
			       strnlen(e->data + at, size) == strlen(c->comm) &&
			       memcmp(e->data + at, c->comm, strlen(c->comm)) == 0);
}

/* Bits of prev_state of a thread that went off a CPU and could run on: none, or that it was
 * preempted, which is above those of the states (TASK_REPORT_MAX of include/linux/sched.h). */
static bool could_run(int64_t state)
{
	return (state & 0xff) == 0;
}

void condition_page(struct condition *c, const struct page_layout *layout, const char *page)
{
	struct page_event e;
	uint16_t id;

	if (!c->wanted)
		return;
	pthread_mutex_lock(&c->lock);
	for (page_first(layout, page, &e); page_next(layout, page, &e);) {
		struct sighting s = {.time = e.time};
		if (e.at_loss)
			put(c, &(struct sighting){.time = e.time, .what = LOST});
		if (e.length < sizeof(id))
			continue;
		memcpy(&id, e.data, sizeof(id));
		if (id == c->id) {
			s.what = EVENT;
		} else if (id == c->waking || id == c->waking_new) {
			s.what = id == c->waking ? WAKING : BEGINNING;
			s.thread = (int32_t)number(&e, id == c->waking ? c->pid : c->new_pid);
		} else if (id == c->switching) {
			s.what = SWITCH;
			s.thread = (int32_t)number(&e, c->next_pid);
			s.previous = (int32_t)number(&e, c->prev_pid);
			s.named = is_named(c, &e);
			s.still_runs = could_run(number(&e, c->prev_state));
		} else {
			continue;
		}
		put(c, &s);
	}
	pthread_mutex_unlock(&c->lock);
}

/* -- thread by thread ------------------------------------------------------------------------- */

/* The thread's place; NULL for the idle tasks, and without memory. */
static struct waiter *waiter_of(struct condition *c, int32_t thread)
{
	size_t at;

	if (thread <= 0)
		return NULL;
	if (2 * (c->waiter_count + 1) > c->waiter_size) {
		size_t old_size = c->waiter_size, size = old_size ? 2 * old_size : 1024;
		struct waiter *old = c->waiters, *more = calloc(size, sizeof(*more));
		if (!more)
			return NULL;
		c->waiters = more;
		c->waiter_size = size;
		for (size_t i = 0; i < old_size; i++) {
			if (!old[i].thread)
				continue;
			at = (size_t)(uint32_t)old[i].thread & (size - 1);
			while (more[at].thread)
				at = (at + 1) & (size - 1);
			more[at] = old[i];
		}
		free(old);
	}
	at = (size_t)(uint32_t)thread & (c->waiter_size - 1);
	while (c->waiters[at].thread && c->waiters[at].thread != thread)
		at = (at + 1) & (c->waiter_size - 1);
	if (!c->waiters[at].thread) {
		c->waiters[at].thread = thread;
		c->waiter_count++;
	}
	return &c->waiters[at];
}

static void meet(struct condition *c, const struct sighting *s, uint64_t waited)
{
	c->met = true;
	c->at_ns = s->time;
	c->thread = s->thread;
	c->waited_ns = waited;
}

/* Only a thread that began, or was seen going to sleep, is known to wait since what wakes it next:
 * who runs or waits for a CPU is woken too, and waits for nothing because of that. */
static void follow(struct condition *c, const struct sighting *s)
{
	struct waiter *w;

	switch (s->what) {
	case EVENT:
		meet(c, s, 0);
		break;
	case LOST:
		memset(c->waiters, 0, c->waiter_size * sizeof(*c->waiters));
		c->waiter_count = 0;
		break;
	case WAKING:
	case BEGINNING:
		w = waiter_of(c, s->thread);
		if (w && (w->off || s->what == BEGINNING) && !w->since)
			w->since = s->time;
		break;
	case SWITCH:
		w = waiter_of(c, s->previous);
		if (w)
			*w = (struct waiter){.thread = s->previous, .off = !s->still_runs};
		w = waiter_of(c, s->thread);
		if (w && w->since && s->named && s->time - w->since > c->limit_ns)
			meet(c, s, s->time - w->since);
		if (w)
			*w = (struct waiter){.thread = s->thread};
		break;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct sighting *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

bool condition_look(struct condition *c)
{
	size_t done = 0;
	uint64_t until;

	if (!c->wanted || c->met)
		return c->met;
	pthread_mutex_lock(&c->lock);
	/* What had been seen some looks ago: by now every reader has been there once more. */
	until = c->horizon[3];
	memmove(&c->horizon[1], &c->horizon[0], 3 * sizeof(c->horizon[0]));
	c->horizon[0] = c->newest;
	qsort(c->seen, c->count, sizeof(*c->seen), by_time);
	while (done < c->count && c->seen[done].time <= until && !c->met)
		follow(c, &c->seen[done++]);
	if (done) {
		c->count -= done;
		memmove(c->seen, c->seen + done, c->count * sizeof(*c->seen));
	}
	pthread_mutex_unlock(&c->lock);
	return c->met;
}

void condition_describe(const struct condition *c, struct json *j)
{
	if (!c->wanted)
		return;
	if (!c->met) {
		json_na(j, "condition", "it was not met");
		return;
	}
	json_open(j, "condition", '{');
	json_unsigned(j, "at_ns", c->at_ns);
	if (!c->event[0]) {
		json_signed(j, "thread", c->thread);
		json_unsigned(j, "waited_ns", c->waited_ns);
	}
	json_close(j, '}');
}

void condition_free(struct condition *c)
{
	free(c->seen);
	free(c->waiters);
	pthread_mutex_destroy(&c->lock);
}
