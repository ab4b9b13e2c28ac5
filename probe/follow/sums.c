/* Sums of system calls. See sums.h. */
#include "follow/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "follow/calls.h"

/* Slots, of which three quarters are used at most; lines of any call, and of files after these. */
enum { SLOTS = 8192, MOST_ROWS = SLOTS / 4 * 3, MOST_LINES = 1000, MOST_FILES = 2000 };

static struct sum *slot_of(struct sums *sums, uint64_t number, const char *target)
{
	uint64_t hash = 14695981039346656037u ^ number;
	unsigned at;

	for (const char *c = target; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211u;
	at = (unsigned)((hash ^ hash >> 32) % SLOTS);
	while (sums->table[at].target &&
	       (sums->table[at].number != number || strcmp(sums->table[at].target, target) != 0))
		at = (at + 1) % SLOTS;
	return &sums->table[at];
}

/* Of the failures: Boyer and Moore, MJRTY, 1981. */
static void vote(struct sum *sum, int error)
{
	if (!sum->votes)
		sum->error = error;
	if (sum->error == error)
		sum->votes++;
	else
		sum->votes--;
}

void sums_add(struct sums *sums, uint64_t number, const char *target, uint64_t ns, int error)
{
	struct sum *sum;

	sums->count++;
	if (!sums->table && !(sums->table = calloc(SLOTS, sizeof(*sums->table))))
		abort();
	sum = slot_of(sums, number, target);
	if (!sum->target) {
		if (sums->used == MOST_ROWS) {
			sums->lost++;
			return;
		}
		sums->used++;
		sum->number = number;
		sum->target = strdup(target);
		if (!sum->target)
			abort();
	}
	sum->count++;
	if (error) {
		sum->errors++;
		vote(sum, error);
	}
	sum->ns += ns;
	if (ns > sum->longest_ns)
		sum->longest_ns = ns;
}

static int by_time(const void *a, const void *b)
{
	const struct sum *x = *(const struct sum *const *)a, *y = *(const struct sum *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static const char *name_of(const struct sum *sum, char *number, size_t size)
{
	struct call call;

	if (call_find(sum->number, &call))
		return call.name;
	snprintf(number, size, "syscall %llu", (unsigned long long)sum->number);
	return number;
}

static bool names_a_file(const char *name)
{
	return strncmp(name, "open", 4) == 0 || strncmp(name, "execve", 6) == 0;
}

static int send_line(const struct sum *sum, const char *name)
{
	struct json j = {0};
	int lost;

	json_begin(&j, "call");
	json_string(&j, "name", name);
	json_string(&j, "target", sum->target);
	json_unsigned(&j, "count", sum->count);
	json_unsigned(&j, "errors", sum->errors);
	if (sum->errors)
		json_signed(&j, "errno", sum->error);
	json_unsigned(&j, "ns", sum->ns);
	json_unsigned(&j, "longest_ns", sum->longest_ns);
	lost = json_send(&j);
	free(j.text);
	return lost;
}

int sums_send(const struct sums *sums)
{
	const struct sum **rows = calloc(sums->used + 1, sizeof(*rows));
	unsigned count = 0, files = 0;
	int lost = 0;
	char number[32];

	if (!rows)
		abort();
	for (unsigned i = 0; sums->table && i < SLOTS; i++)
		if (sums->table[i].target)
			rows[count++] = &sums->table[i];
	qsort(rows, count, sizeof(*rows), by_time);
	for (unsigned i = 0; i < count && !lost; i++) {
		const char *name = name_of(rows[i], number, sizeof(number));
		if (i < MOST_LINES || (names_a_file(name) && files++ < MOST_FILES))
			lost = send_line(rows[i], name);
	}
	free(rows);
	return lost;
}

void sums_free(struct sums *sums)
{
	for (unsigned i = 0; sums->table && i < SLOTS; i++)
		free(sums->table[i].target);
	free(sums->table);
	*sums = (struct sums){0};
}
