/* Which events are recorded. See events.h. */
#include "trace/events.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name of ours for what belongs together; one that is missing here is a system of the kernel's.
 * Architectures and versions differ in what they have of a set. */
static const struct {
	const char *name;
	const char *systems[4];
} sets[] = {
	{"irq", {"irq"}},
	{"timer", {"timer"}},
	{"power", {"power"}},
	{"sched", {"sched"}},
	{"ipi", {"ipi", "irq_vectors"}}, /* the latter on x86, which has them there */
	{"workqueue", {"workqueue"}},
	{"block", {"block"}},
	{"syscalls", {"syscalls"}},
	{"net", {"net", "napi"}},
};

static bool exists(const struct tracefs *fs, const char *name)
{
	char path[768];

	snprintf(path, sizeof(path), "%s/events/%s/enable", fs->base, name);
	return access(path, F_OK) == 0;
}

static bool add(char names[][EVENT_NAME], int *count, const char *name)
{
	for (int i = 0; i < *count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	if (*count == EVENTS_MAX)
		return false;
	snprintf(names[(*count)++], EVENT_NAME, "%s", name);
	return true;
}

/* Letters, digits and the signs in names: nothing that leads out of the directory of events. */
static bool well_formed(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-";
	size_t n = strspn(name, good);

	if (n == 0)
		return false;
	if (name[n] == '/') {
		name += n + 1;
		n = strspn(name, good);
	}
	return n > 0 && name[n] == '\0';
}

static int choose(struct events *events, const struct tracefs *fs, const char *name)
{
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (strcmp(sets[i].name, name) != 0)
			continue;
		for (int k = 0; k < 4 && sets[i].systems[k]; k++) {
			if (exists(fs, sets[i].systems[k]))
				add(events->names, &events->count, sets[i].systems[k]);
			else
				add(events->absent, &events->absent_count, sets[i].systems[k]);
		}
		return 0;
	}
	if (!well_formed(name) || !exists(fs, name))
		return json_error(2, ENOENT, "trace: this kernel has no events '%s': name a set, a "
					     "SYSTEM or SYSTEM/EVENT of its available_events", name);
	if (!add(events->names, &events->count, name))
		return json_error(2, E2BIG, "trace: more than %d names of events: name whole systems",
				  EVENTS_MAX);
	return 0;
}

int events_choose(struct events *events, const struct tracefs *fs, const char *text)
{
	*events = (struct events){0};
	while (*text) {
		size_t n = strcspn(text, ",");
		char name[EVENT_NAME];
		char *colon;
		int status;

		if (n >= sizeof(name))
			return json_error(2, E2BIG, "trace: a name of events is too long");
		snprintf(name, sizeof(name), "%.*s", (int)n, text);
		colon = strchr(name, ':');
		if (colon)
			*colon = '/';
		status = choose(events, fs, name);
		if (status)
			return status;
		text += n + (text[n] == ',');
	}
	if (events->count == 0)
		return json_error(77, ENOENT, "trace: this kernel has none of the events asked for: "
					      "look at its available_events");
	return 0;
}

int events_enable(const struct events *events, const struct tracefs *fs, bool on,
		  const char **which)
{
	char file[EVENT_NAME + 32];
	int first = 0;

	for (int i = 0; i < events->count; i++) {
		snprintf(file, sizeof(file), "events/%s/enable", events->names[i]);
		int error = tracefs_write(fs, file, on ? "1" : "0");
		if (error && !first) {
			first = error;
			*which = events->names[i];
		}
	}
	return first;
}

int events_filter(const struct tracefs *fs, const char *text)
{
	char name[EVENT_NAME], filter[1024], file[EVENT_NAME + 32];

	if (text[0] && !fs->instance[0])
		return json_error(77, ENOTSUP, "trace: filters take an instance of the trace buffers: "
					       "without --graph, and on kernels since 3.10");
	while (*text) {
		size_t n = strcspn(text, ";"), colon = strcspn(text, ":");
		int error;

		if (colon >= n || colon >= sizeof(name) || n - colon > sizeof(filter))
			return json_error(2, EINVAL, "trace: filter: write SYSTEM/EVENT:FILTER, "
						     "separated by semicolons");
		snprintf(name, sizeof(name), "%.*s", (int)colon, text);
		snprintf(filter, sizeof(filter), "%.*s", (int)(n - colon - 1), text + colon + 1);
		if (!well_formed(name) || !exists(fs, name))
			return json_error(2, ENOENT, "trace: filter: this kernel has no events '%s'",
					  name);
		snprintf(file, sizeof(file), "events/%s/filter", name);
		error = tracefs_write(fs, file, filter);
		if (error)
			return json_error(2, -error, "trace: the kernel does not take the filter '%s' "
						     "of %s: look at the fields in events/%s/format",
					  filter, name, name);
		text += n + (text[n] == ';');
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a directory of formats, sorted, so that the same kernel gives the same file. */
static int list(const char *path, char ***names)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int count = 0, size = 0;

	*names = NULL;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (count == size) {
			size = size ? 2 * size : 64;
			*names = realloc(*names, (size_t)size * sizeof(**names));
		}
		if (!*names || !((*names)[count] = strdup(entry->d_name)))
			abort();
		count++;
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(*names, (size_t)count, sizeof(**names), by_name);
	return count;
}

/* One format with its length before it; false, and nothing appended, when there is none. */
static bool add_format(const struct tracefs *fs, const char *system, const char *event,
		       struct bytes *out)
{
	char path[1024];
	size_t at = out->length, length;

	snprintf(path, sizeof(path), "%s/events/%s/%s/format", fs->base, system, event);
	bytes_u64(out, 0);
	length = bytes_file(out, path);
	if (length == 0)
		out->length = at;
	else
		bytes_set_u64(out, at, length);
	return length > 0;
}

/* Those of a system, with their number before them; `wanted`: only that event. */
static void add_system(const struct tracefs *fs, const char *system, const char *const wanted[],
		       int wanted_count, struct bytes *out)
{
	char path[768];
	char **names;
	uint32_t formats = 0;
	size_t at = out->length;
	int count;

	snprintf(path, sizeof(path), "%s/events/%s", fs->base, system);
	count = list(path, &names);
	bytes_u32(out, 0);
	for (int i = 0; i < count; i++) {
		bool take = wanted_count == 0;
		for (int k = 0; k < wanted_count; k++)
			take |= strcmp(wanted[k], names[i]) == 0;
		if (take)
			formats += add_format(fs, system, names[i], out);
		free(names[i]);
	}
	free(names);
	bytes_set_u32(out, at, formats);
}

void events_ftrace_formats(const struct tracefs *fs, struct bytes *out)
{
	add_system(fs, "ftrace", NULL, 0, out);
}

/* The length of the system's name at the head of SYSTEM or SYSTEM/EVENT. */
static size_t system_length(const char *name)
{
	return strcspn(name, "/");
}

static bool same_system(const char *a, const char *b)
{
	size_t n = system_length(a);

	return n == system_length(b) && memcmp(a, b, n) == 0;
}

void events_formats(const struct events *events, const struct tracefs *fs, struct bytes *out)
{
	size_t at = out->length;
	uint32_t systems = 0;

	bytes_u32(out, 0);
	for (int i = 0; i < events->count; i++) {
		const char *wanted[EVENTS_MAX];
		int wanted_count = 0;
		bool whole = false, done = false;
		char system[EVENT_NAME];

		for (int k = 0; k < events->count; k++) {
			const char *name = events->names[k];
			if (!same_system(name, events->names[i]))
				continue;
			done |= k < i;
			whole |= name[system_length(name)] == '\0';
			wanted[wanted_count++] = name + system_length(name) + 1;
		}
		if (done)
			continue;
		snprintf(system, sizeof(system), "%.*s", (int)system_length(events->names[i]),
			 events->names[i]);
		bytes_text(out, system);
		add_system(fs, system, wanted, whole ? 0 : wanted_count, out);
		systems++;
	}
	bytes_set_u32(out, at, systems);
}
