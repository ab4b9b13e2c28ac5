/* Files of our own: where they may lie, how they are made, and that they go away. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bench/storage_io.h"
#include "bench/storage_target.h"
#include "core/clock.h"

/* --- where ----------------------------------------------------------------------------------- */

/* NULL when a file can be measured there; otherwise why not. */
static const char *unfit(int directory, const struct medium *m)
{
	if (m->nature == NATURE_MEMORY)
		return "is memory";
	if (m->nature == NATURE_NETWORK)
		return "is on a network";
	if (m->read_only)
		return "is read-only";
	if (faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return errno == EROFS ? "is read-only" : "may not be written";
	return NULL;
}

static void append(char *text, size_t size, const char *path, const char *note, const char *type,
		   const char *verdict)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s%s%s%s %s", length ? "; " : "", path, note,
		 type[0] ? " on " : "", type, verdict);
}

int choose_directory(char path[PATH_MAX], char *why, size_t size)
{
	char self[PATH_MAX] = "";
	const char *home = getenv("HOME");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const struct {
		const char *path, *note;
	} candidates[] = {
		{n > 0 ? dirname(self) : "", " (the probe's directory)"},
		{"/var/tmp", ""},
		{home ? home : "", " (HOME)"},
		{"/tmp", ""},
	};

	why[0] = '\0';
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		struct medium m = {0};
		int fd = open(candidates[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		const char *reason = fd < 0 ? "cannot be opened" : NULL;

		if (fd >= 0) {
			medium_of(fd, &m);
			reason = unfit(fd, &m);
		}
		append(why, size, candidates[i].path, candidates[i].note, m.type,
		       reason ? reason : "can be used");
		if (!reason) {
			snprintf(path, PATH_MAX, "%s", candidates[i].path);
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

uint64_t room_for_files(int fd)
{
	struct statvfs s;
	uint64_t unit, free_bytes, reserve;

	if (fstatvfs(fd, &s) < 0)
		return UINT64_MAX; /* then it is found out by writing */
	unit = s.f_frsize ? s.f_frsize : s.f_bsize;
	free_bytes = unit * s.f_bavail;
	reserve = unit * s.f_blocks / 10;
	if (reserve > 64u << 20)
		reserve = 64u << 20;
	return free_bytes > reserve ? free_bytes - reserve : 0;
}

/* --- making and removing --------------------------------------------------------------------- */

static const char prefix[] = ".bvprobe-storage-"; /* and 16 hexadecimal digits */

static bool is_our_name(const char *name)
{
	size_t head = sizeof(prefix) - 1;

	return strncmp(name, prefix, head) == 0 && strlen(name + head) == 16 &&
	       strspn(name + head, "0123456789abcdef") == 16;
}

/* A process that was killed between making its file and taking the name away has left it. One that
 * is just there loses a name that it is about to take away itself. */
static void remove_leftovers(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat s;

	while (dir && (entry = readdir(dir)))
		if (is_our_name(entry->d_name) &&
		    fstatat(directory, entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(s.st_mode) && s.st_uid == geteuid() && s.st_nlink == 1)
			unlinkat(directory, entry->d_name, 0);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

int own_file(int directory, char *name, size_t size)
{
	int fd, tries = 0;

	remove_leftovers(directory);
	do {
		uint64_t number;
		random_fill(&number, sizeof(number), clock_ns() ^ (uint64_t)getpid() << 40);
		snprintf(name, size, "%s%016llx", prefix, (unsigned long long)number);
		fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	} while (fd < 0 && errno == EEXIST && tries++ < 100);
	if (fd < 0)
		return -errno;
	if (unlinkat(directory, name, 0) == 0)
		name[0] = '\0';
	return fd;
}

int own_file_fill(int fd, uint64_t from, uint64_t to)
{
	enum { CHUNK = 1 << 20 };
	const uint64_t limit_ns = 90000000000u; /* whoever waits for us gives up after 120 s */
	uint64_t seed = clock_ns() ^ (uint64_t)getpid() << 40;
	uint64_t begin = clock_ns();
	uint64_t *data = malloc(CHUNK);
	int error = data ? 0 : -ENOMEM;

	while (from < to && error == 0) {
		size_t left = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
		ssize_t n;
		random_fill(data, CHUNK, seed + from);
		n = pwrite(fd, data, left, (off_t)from);
		if (n < 0 && errno != EINTR)
			error = -errno;
		if (n > 0)
			from += (uint64_t)n;
		/* now and then to the device, so that the time is that of the device */
		if (error == 0 && (from % (8 * CHUNK) == 0 || from >= to) && fdatasync(fd) < 0)
			error = -errno;
		if (error == 0 && from < to && clock_ns() - begin > limit_ns)
			error = -ETIME;
	}
	free(data);
	return error;
}
