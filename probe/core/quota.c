/* The CPU quota of the control groups that this process is in. See quota.h. */
#include "core/quota.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"

static void keep_tighter(struct quota *q, long long quota_us, long long period_us)
{
	double cpus;

	if (quota_us <= 0 || period_us <= 0)
		return;
	cpus = (double)quota_us / (double)period_us;
	if (q->period_ns == 0 || cpus < q->cpus)
		*q = (struct quota){.cpus = cpus, .period_ns = (uint64_t)period_us * 1000};
}

static void look_at(struct quota *q, const char *directory)
{
	char path[PATH_MAX + 32], text[64];
	long long quota_us;
	int64_t period_us;

	snprintf(path, sizeof(path), "%s/cpu.max", directory);
	if (file_read(path, text, sizeof(text)) > 0) {
		if (sscanf(text, "%lld %" SCNd64, &quota_us, &period_us) == 2) /* "max": none */
			keep_tighter(q, quota_us, period_us);
		return;
	}
	snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", directory);
	if (file_read(path, text, sizeof(text)) <= 0)
		return;
	quota_us = strtoll(text, NULL, 10); /* -1: none */
	snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
	if (file_number(path, &period_us) == 0)
		keep_tighter(q, quota_us, period_us);
}

/* From the group at mount/path up to the mount: a parent's quota holds for its children too. */
static void climb(struct quota *q, const char *mount, const char *path)
{
	char directory[PATH_MAX];
	size_t root = strlen(mount);

	if ((size_t)snprintf(directory, sizeof(directory), "%s%s", mount, path) >=
	    sizeof(directory))
		return;
	for (;;) {
		look_at(q, directory);
		char *slash = strrchr(directory + root, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
		if (strcspn(p, ",") == length && memcmp(p, word, length) == 0)
			return true;
	return false;
}

bool quota_find(struct quota *quota, char *groups, const char *root)
{
	static const char *const mounts[] = {"", "/unified", "/cpu", "/cpu,cpuacct"};
	char mount[PATH_MAX], *rest;

	*quota = (struct quota){0};
	/* cgroups(7): number, controllers and path; version 2 has the number 0 and no controllers */
	for (char *line = strtok_r(groups, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		if (controllers[1] && !has_word(controllers + 1, "cpu"))
			continue;
		size_t first = controllers[1] ? 2 : 0;
		for (size_t i = first; i < first + 2; i++) {
			snprintf(mount, sizeof(mount), "%s%s", root, mounts[i]);
			climb(quota, mount, path);
		}
	}
	return quota->period_ns != 0;
}

bool quota_read(struct quota *quota)
{
	static char groups[16384];

	if (file_read("/proc/self/cgroup", groups, sizeof(groups)) <= 0)
		return false;
	return quota_find(quota, groups, "/sys/fs/cgroup");
}
