/* What a service reads when it starts: /proc/1/cmdline/web,!etc!web.conf,!run!x!1 holds `own`, or
 * `other` where the file at the second path stands over the one at the first, and the service web
 * was started anew to read it. Directories stand over directories. It is a mount (MS_BIND), so no
 * file is written, and after a boot all is as before. Where the service does not run though its file
 * is its own, which is how a writer that was killed may leave it, it holds `stopped`.
 *
 * Which services may be stopped is said in services.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "state/trees.h"

enum { READY_MS = 3000, LOOK_MS = 20 };

struct file_of_service {
	char service[TREE_NAME_MAX], own[TREE_NAME_MAX], other[TREE_NAME_MAX];
};

static bool parse(const char *name, struct file_of_service *f)
{
	char part[TREE_NAME_MAX];
	const char *first = strchr(name, ','), *second = first ? strchr(first + 1, ',') : NULL;

	if (!second || strchr(second + 1, ',') || strlen(name) >= TREE_NAME_MAX)
		return false;
	snprintf(f->service, sizeof(f->service), "%.*s", (int)(first - name), name);
	snprintf(part, sizeof(part), "%.*s", (int)(second - first - 1), first + 1);
	tree_path_of(part, f->own);
	tree_path_of(second + 1, f->other);
	return f->own[0] == '/' && f->other[0] == '/' && !strstr(f->own, "/../") &&
	       !strstr(f->other, "/../");
}

/* -EINVAL where one of them could not stand over the other. */
static int compare(const struct file_of_service *f, bool *same)
{
	struct stat own, other;

	*same = false;
	if (stat(f->own, &own) < 0)
		return -errno;
	if (stat(f->other, &other) < 0) /* gone with what made it: it stands over nothing */
		return 0;
	*same = own.st_dev == other.st_dev && own.st_ino == other.st_ino;
	if ((own.st_mode & S_IFMT) != (other.st_mode & S_IFMT) ||
	    !(S_ISREG(own.st_mode) || S_ISDIR(own.st_mode)))
		return -EINVAL;
	return 0;
}

static int value_of(const char *name, char *value, size_t size)
{
	struct file_of_service f;
	char state[16];
	bool same;
	int error;

	if (!parse(name, &f))
		return -ENOENT;
	error = services_tree.value_of(f.service, state, sizeof(state));
	if (!error)
		error = compare(&f, &same);
	if (error)
		return error;
	snprintf(value, size, "%s", same ? "other" : strcmp(state, "running") == 0 ? "own" : state);
	return 0;
}

/* Those that wait for somebody: listening streams, and datagrams without an other end. */
static int sockets_that_wait(void)
{
	static const struct {
		const char *path;
		int field; /* from 0, by spaces */
		const char *is;
	} tables[] = {
		{"/proc/net/tcp", 3, "0A"}, {"/proc/net/tcp6", 3, "0A"}, {"/proc/net/udp", 3, "07"},
		{"/proc/net/udp6", 3, "07"}, {"/proc/net/unix", 3, "00010000"},
	};
	int count = 0;
	char *line = NULL;
	size_t size = 0;

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		FILE *file = fopen(tables[t].path, "re");
		while (file && getline(&line, &size, file) >= 0) {
			char *rest = line, *word = NULL;
			for (int field = 0; field <= tables[t].field; field++)
				word = strtok_r(field ? NULL : line, " \n", &rest);
			count += word && strcmp(word, tables[t].is) == 0;
		}
		if (file)
			fclose(file);
	}
	free(line);
	return count;
}

/* A service that listens does so a while after it was started; one that never does costs a wait. */
static void wait_until_ready(int waited_before)
{
	uint64_t deadline = clock_ns() + (uint64_t)READY_MS * 1000000;

	while (sockets_that_wait() < waited_before && clock_ns() < deadline)
		poll(NULL, 0, LOOK_MS);
}

static int stand_over(const struct file_of_service *f, bool other)
{
	if (other)
		return mount(f->other, f->own, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
	/* Whoever still reads it keeps what it reads. */
	return umount2(f->own, MNT_DETACH) < 0 ? -errno : 0;
}

static int write_value(const char *name, const char *value)
{
	bool other = strcmp(value, "other") == 0, same;
	struct file_of_service f;
	int error, failed = 0, waiting;

	if (!other && strcmp(value, "own") != 0)
		return -EINVAL;
	if (!parse(name, &f))
		return -ENOENT;
	if (geteuid() != 0)
		return -EPERM;
	error = compare(&f, &same);
	if (error)
		return error;
	if (other && !same && access(f.other, F_OK) < 0)
		return -ENOENT;
	waiting = sockets_that_wait();
	/* What does not end would go on with what it has read. */
	error = services_tree.write(f.service, "stopped");
	if (!error && same != other)
		failed = stand_over(&f, other);
	if (!error || !other)
		error = services_tree.write(f.service, "running");
	if (error && other && !failed && same != other) {
		stand_over(&f, false); /* it does not start with that, or did not end */
		services_tree.write(f.service, "running");
	} else if (!error) {
		wait_until_ready(waiting);
	}
	return failed ? failed : error;
}

/* Each has its own name, which nobody else knows, so none are listed. */
const struct tree service_files_tree = {"/proc/1/cmdline/", NULL, value_of, write_value};
