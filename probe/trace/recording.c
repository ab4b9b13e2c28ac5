/* What is known of a recording. See recording.h. */
#include "trace/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files.h"

static void read_into(struct bytes *b, const char *directory, const char *file)
{
	char path[640];

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	bytes_file(b, path);
}

void recording_read_formats(struct recording *r)
{
	read_into(&r->dat.header_page, r->fs.base, "events/header_page");
	read_into(&r->dat.header_event, r->fs.base, "events/header_event");
	read_into(&r->dat.printk, r->fs.root, "printk_formats");
	events_ftrace_formats(&r->fs, &r->dat.ftrace_formats);
	events_formats(&r->events, &r->fs, &r->dat.formats);
}

/* Addresses are zeros where the kernel hides them. */
static void read_kallsyms(struct bytes *b)
{
	bytes_file(b, "/proc/kallsyms");
	for (size_t at = 0; at < b->length;) {
		size_t digits = strspn(b->data + at, "0");
		const char *end;
		if (b->data[at + digits] != ' ')
			return;
		end = memchr(b->data + at, '\n', b->length - at);
		at = end ? (size_t)(end - b->data) + 1 : b->length;
	}
	bytes_free(b);
}

static int64_t clock_id_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* From the closest of some tries: nothing may come between the readings. 0 for clocks that no
 * program can read. */
static int64_t offset_to_wall(const char *clock)
{
	static const struct {
		const char *name;
		clockid_t id;
	} clocks[] = {{"mono", CLOCK_MONOTONIC},
		      {"mono_raw", CLOCK_MONOTONIC_RAW},
		      {"boot", CLOCK_BOOTTIME},
		      {"tai", CLOCK_TAI}};
	int64_t best = INT64_MAX, offset = 0;

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (strcmp(clocks[i].name, clock) != 0)
			continue;
		for (int tries = 0; tries < 16; tries++) {
			int64_t before = clock_id_ns(clocks[i].id);
			int64_t wall = clock_id_ns(CLOCK_REALTIME);
			int64_t after = clock_id_ns(clocks[i].id);
			if (after - before >= best)
				continue;
			best = after - before;
			offset = wall - before - best / 2;
		}
	}
	return offset;
}

void recording_read_rest(struct recording *r)
{
	struct readers *all = &r->readers;
	struct dat_cpu *cpus = calloc((size_t)all->count, sizeof(*cpus));
	char file[64];

	r->stats = calloc((size_t)all->count, sizeof(*r->stats));
	if (!cpus || !r->stats)
		abort();
	for (int i = 0; i < all->count; i++) {
		snprintf(file, sizeof(file), "per_cpu/cpu%d/stats", all->each[i].cpu);
		tracefs_read(&r->fs, file, r->stats[i], STATS_MAX - 1);
		strcat(r->stats[i], "\n");
		cpus[i] = (struct dat_cpu){all->each[i].cpu, all->each[i].bytes, r->stats[i]};
	}
	read_into(&r->dat.cmdlines, r->fs.root, "saved_cmdlines");
	file_read("/proc/uptime", r->uptime, sizeof(r->uptime));
	if (r->with_kallsyms)
		read_kallsyms(&r->dat.kallsyms);
	if (r->with_wall_time)
		r->dat.offset_ns = offset_to_wall(r->clock);
	r->dat.clock = r->clock;
	r->dat.clock_text = r->clock_text;
	r->dat.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	r->dat.subbuffer_size = (uint32_t)all->layout.size;
	r->dat.cpu_count = (uint32_t)all->each[all->count - 1].cpu + 1;
	r->dat.cpus = cpus;
	r->dat.count = all->count;
}

static void add_names(struct json *j, const char *key, const char names[][EVENT_NAME], int count)
{
	json_open(j, key, '[');
	for (int i = 0; i < count; i++)
		json_string(j, NULL, names[i]);
	json_close(j, ']');
}

void recording_describe(const struct recording *r, struct json *j)
{
	char text[64];

	json_string(j, "instance", r->fs.instance);
	json_string(j, "clock", r->clock);
	json_unsigned(j, "buffer_kb", r->buffer_kb);
	json_unsigned(j, "subbuffer_bytes", r->readers.layout.size);
	json_unsigned(j, "size_limit", r->cap);
	json_signed(j, "cpus", r->readers.count);
	add_names(j, "events", r->events.names, r->events.count);
	add_names(j, "absent", r->events.absent, r->events.absent_count);
	/* by way of our own descriptor: others may not see where tracefs is mounted */
	snprintf(text, sizeof(text), "/proc/%ld/fd/%d", (long)getpid(), r->marker);
	if (r->marker >= 0)
		json_string(j, "marker", text);
	else
		json_na(j, "marker", "the kernel has no trace_marker");
	json_open(j, "caveats", '[');
	for (int i = 0; i < r->caveat_count; i++)
		json_string(j, NULL, r->caveats[i]);
	json_close(j, ']');
}

/* A number of per_cpu/cpuN/stats. */
static bool counted(const char *stats, const char *name, uint64_t *number)
{
	for (const char *line = stats; line && *line; line = strchr(line, '\n')) {
		size_t n = strlen(name);
		line += *line == '\n';
		if (strncmp(line, name, n) == 0 && line[n] == ':') {
			*number = strtoull(line + n + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

static void sum_up_cpu(const struct recording *r, int i, struct json *j, uint64_t *events,
		       uint64_t *lost, uint64_t *left)
{
	static const struct {
		const char *key, *name;
	} figures[] = {{"left", "entries"},          {"overrun", "overrun"},
		       {"commit_overrun", "commit overrun"}, {"dropped", "dropped events"},
		       {"events", "read events"}};
	uint64_t numbers[5] = {0};

	json_open(j, NULL, '{');
	json_signed(j, "cpu", r->readers.each[i].cpu);
	json_unsigned(j, "bytes", r->readers.each[i].bytes);
	for (size_t k = 0; k < 5; k++) {
		bool known = counted(r->stats[i], figures[k].name, &numbers[k]);
		if (known && k == 4) /* those that are kept */
			numbers[k] -= r->readers.each[i].overwritten < numbers[k]
					      ? r->readers.each[i].overwritten : numbers[k];
		if (known)
			json_unsigned(j, figures[k].key, numbers[k]);
		else
			json_na(j, figures[k].key, "the kernel does not count it");
	}
	if (r->readers.share)
		json_unsigned(j, "overwritten", r->readers.each[i].overwritten);
	json_unsigned(j, "reader_cpu_ns", r->readers.each[i].cpu_ns);
	if (r->readers.each[i].error)
		json_string(j, "error", errno_name(-r->readers.each[i].error));
	json_close(j, '}');
	*left += numbers[0];
	*lost += numbers[1] + numbers[2] + numbers[3];
	*events += numbers[4];
}

void recording_sum_up(const struct recording *r, struct json *j)
{
	uint64_t events = 0, lost = 0, left = 0;

	json_string(j, "ended", r->ended);
	condition_describe(&r->condition, j);
	json_unsigned(j, "recorded_ns", r->recorded_ns);
	json_unsigned(j, "data_bytes", atomic_load(&r->readers.bytes));
	json_open(j, "per_cpu", '[');
	for (int i = 0; i < r->readers.count; i++)
		sum_up_cpu(r, i, j, &events, &lost, &left);
	json_close(j, ']');
	json_unsigned(j, "events", events);
	json_unsigned(j, "lost", lost);
	json_unsigned(j, "left", left);
	json_open(j, "overhead", '{');
	json_unsigned(j, "cpu_ns", r->cpu_ns);
	json_unsigned(j, "wall_ns", r->wall_ns);
	json_close(j, '}');
	if (r->dat.offset_ns)
		json_signed(j, "wall_offset_ns", r->dat.offset_ns);
	else
		json_na(j, "wall_offset_ns", "not asked for, or the clock cannot be read");
	json_string(j, "uptime", r->uptime);
	if (r->command_status < 0)
		json_na(j, "command", "none, or it was ended");
	else
		json_signed(j, "command", WIFEXITED(r->command_status)
						  ? WEXITSTATUS(r->command_status)
						  : 128 + WTERMSIG(r->command_status));
	if (r->release_error)
		json_string(j, "release_error", errno_name(r->release_error));
	json_open(j, "caveats", '[');
	for (int i = 0; i < r->caveat_count; i++)
		json_string(j, NULL, r->caveats[i]);
	json_close(j, ']');
}

void recording_free(struct recording *r)
{
	struct bytes *parts[] = {&r->dat.header_page, &r->dat.header_event, &r->dat.ftrace_formats,
				 &r->dat.formats,     &r->dat.kallsyms,     &r->dat.printk,
				 &r->dat.cmdlines};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		bytes_free(parts[i]);
	free((void *)r->dat.cpus);
	free(r->stats);
	readers_free(&r->readers);
	condition_free(&r->condition);
}
