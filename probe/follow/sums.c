/* Sums of system calls. See sums.h. */
#include "follow/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "follow/calls.h"

/* Slots, of which three quarters are used at most; lines of any call, and of files after these. */
enum { FIRST_SLOTS = 1024, MOST_SLOTS = 65536, MOST_LINES = 1000, MOST_FILES = 2000 };
enum { CROWDS = 4096 };

static unsigned hash_of(uint64_t number, const char *text, size_t length)
{
	uint64_t hash = 14695981039346656037u ^ number;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
	return (unsigned)(hash ^ hash >> 32);
}

static struct sum *slot_of(const struct sums *sums, uint64_t number, const char *target)
{
	unsigned at = hash_of(number, target, strlen(target)) % sums->slots;

	while (sums->table[at].target &&
	       (sums->table[at].number != number || strcmp(sums->table[at].target, target) != 0))
		at = (at + 1) % sums->slots;
	return &sums->table[at];
}

static void widen(struct sums *sums)
{
	struct sums wider = *sums;

	wider.slots = sums->slots ? 2 * sums->slots : FIRST_SLOTS;
	wider.table = calloc(wider.slots, sizeof(*wider.table));
	if (!wider.table)
		abort();
	for (unsigned i = 0; i < sums->slots; i++)
		if (sums->table[i].target)
			*slot_of(&wider, sums->table[i].number, sums->table[i].target) =
				sums->table[i];
	free(sums->table);
	*sums = wider;
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

void sums_add(struct sums *sums, const struct call_key *call, uint64_t ns, int error)
{
	struct sum *sum;

	sums->count++;
	if (sums->used == sums->slots / 4 * 3 && sums->slots < MOST_SLOTS)
		widen(sums);
	sum = slot_of(sums, call->number, call->target);
	if (!sum->target) {
		if (sums->used == sums->slots / 4 * 3) {
			sums->lost++;
			return;
		}
		sums->used++;
		sum->number = call->number;
		sum->task = call->task;
		sum->target = strdup(call->target);
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

/* A row to be told, and how many others its process has, or are in its place: the fewer of the
 * two. */
struct row {
	const struct sum *sum;
	unsigned crowd;
};

static int by_time(const void *a, const void *b)
{
	const struct sum *x = ((const struct row *)a)->sum, *y = ((const struct row *)b)->sum;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int by_crowd(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->crowd == y->crowd ? by_time(a, b) : x->crowd < y->crowd ? -1 : 1;
}

/* The crowds that a row is in, by hash: of its process, and of its place, the first two directories
 * of the path. */
static void crowds_of(const struct sum *sum, unsigned crowds[2])
{
	size_t length = 0;
	int slashes = 0;

	for (size_t i = 0; sum->target[i] && slashes < 3; i++)
		if (sum->target[i] == '/') {
			length = i;
			slashes++;
		}
	crowds[0] = hash_of((uint64_t)sum->task, "", 0) % CROWDS;
	crowds[1] = hash_of(0, sum->target, length) % CROWDS;
}

static void count_crowds(struct row *rows, unsigned count)
{
	unsigned *sizes = calloc(2 * CROWDS, sizeof(*sizes)), crowds[2];

	if (!sizes)
		abort();
	for (unsigned i = 0; i < count; i++) {
		crowds_of(rows[i].sum, crowds);
		sizes[crowds[0]]++;
		sizes[CROWDS + crowds[1]]++;
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned own, place;

		crowds_of(rows[i].sum, crowds);
		own = sizes[crowds[0]];
		place = sizes[CROWDS + crowds[1]];
		rows[i].crowd = own < place ? own : place;
	}
	free(sizes);
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
	struct row *rows = calloc(sums->used + 1, sizeof(*rows));
	unsigned count = 0, files = 0, lines;
	int lost = 0;
	char number[32];

	if (!rows)
		abort();
	for (unsigned i = 0; i < sums->slots; i++)
		if (sums->table[i].target)
			rows[count++].sum = &sums->table[i];
	qsort(rows, count, sizeof(*rows), by_time);
	lines = count < MOST_LINES ? count : MOST_LINES;
	if (count > lines) {
		count_crowds(rows, count);
		qsort(rows + lines, count - lines, sizeof(*rows), by_crowd);
	}
	for (unsigned i = 0; i < count && !lost; i++) {
		const char *name = name_of(rows[i].sum, number, sizeof(number));
		if (i < lines || (names_a_file(name) && files++ < MOST_FILES))
			lost = send_line(rows[i].sum, name);
	}
	free(rows);
	return lost;
}

void sums_free(struct sums *sums)
{
	for (unsigned i = 0; i < sums->slots; i++)
		free(sums->table[i].target);
	free(sums->table);
	*sums = (struct sums){0};
}
