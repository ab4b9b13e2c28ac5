/* Mounts of a mount namespace of this process. See own_mounts.h.
 *
 * A file of a file system in memory is bound over the file. That file system needs a place while
 * the file is made: it covers the file's own directory for so long, in this namespace alone. */
#include "core/own_mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static int enter_namespace(void)
{
	static bool entered;

	if (entered)
		return 0;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -errno;
	entered = true;
	return 0;
}

/* A file system in memory; -ENOENT where the kernel has none. */
static int mount_memory(const char *path, const char *options)
{
	if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
		return 0;
	return errno == ENODEV ? -ENOENT : -errno;
}

static bool is_path(const char *path)
{
	return path[0] == '/' && path[1] && !strstr(path, "/../") && strlen(path) < PATH_MAX;
}

/* The state of what is there, or -ENOTDIR. */
static int look_at(int fd, struct stat *state)
{
	if (fd < 0)
		return errno == ENOENT ? -ENOTDIR : -errno;
	return fstat(fd, state) < 0 ? -errno : 0;
}

static int write_file(const char *path, const char *content, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t length = strlen(content);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, content, length) != (ssize_t)length)
		error = -EIO;
	else if (fchmod(fd, mode & 07777) < 0)
		error = -errno;
	close(fd);
	return error;
}

static int bind_content(int target, const char *directory, const char *content, mode_t mode)
{
	char from[PATH_MAX + 16], to[32];
	int error = mount_memory(directory, "mode=0700");

	if (error)
		return error;
	snprintf(from, sizeof(from), "%s/content", directory);
	snprintf(to, sizeof(to), "/proc/self/fd/%d", target);
	error = write_file(from, content, mode);
	if (!error && mount(from, to, NULL, MS_BIND, NULL) < 0)
		error = -errno;
	umount2(directory, MNT_DETACH); /* what is bound stays */
	return error;
}

int own_mounts_file(const char *path, const char *content)
{
	char directory[PATH_MAX];
	struct stat state;
	int target, error;

	if (!is_path(path))
		return -EINVAL;
	error = enter_namespace();
	if (error)
		return error;
	target = open(path, O_PATH | O_CLOEXEC);
	error = look_at(target, &state);
	if (!error && !S_ISREG(state.st_mode))
		error = -EINVAL;
	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (!error && !directory[0])
		error = -EINVAL; /* nothing covers the root */
	if (!error)
		error = bind_content(target, directory, content, state.st_mode);
	if (target >= 0)
		close(target);
	return error;
}

/* The directory as it is, open, and one in memory above it. */
static int cover(const char *path, int *covered)
{
	char options[80];
	struct stat state;
	int error;

	if (!is_path(path))
		return -EINVAL;
	error = enter_namespace();
	if (error)
		return error;
	*covered = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = look_at(*covered, &state);
	if (error)
		return error;
	snprintf(options, sizeof(options), "mode=%o,uid=%u,gid=%u", state.st_mode & 07777u,
		 (unsigned)state.st_uid, (unsigned)state.st_gid);
	return mount_memory(path, options);
}

int own_mounts_directory(const char *path)
{
	int covered = -1, error = cover(path, &covered);

	if (covered >= 0)
		close(covered);
	return error;
}

enum { DEEPEST = 64, CHUNK = 65536 };

static int copy_file(int from, int to, const char *name, const struct stat *state, uint64_t *room)
{
	static char data[CHUNK];
	int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), error = 0;
	int out = in < 0 ? -1 : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t n = 0;

	if (out < 0)
		error = -errno;
	else if (state->st_size > 0 && (uint64_t)state->st_size > *room)
		error = -EFBIG;
	while (!error && (n = read(in, data, sizeof(data))) > 0) {
		if ((uint64_t)n > *room)
			error = -EFBIG;
		else if (write(out, data, (size_t)n) != n)
			error = -EIO;
		*room -= error ? 0 : (uint64_t)n;
	}
	if (n < 0)
		error = -errno;
	if (!error && (fchown(out, state->st_uid, state->st_gid) < 0 ||
		       fchmod(out, state->st_mode & 07777) < 0))
		error = -errno;
	if (!error) {
		const struct timespec times[2] = {state->st_atim, state->st_mtim};
		futimens(out, times);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return error;
}

static int copy_link(int from, int to, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, to, name) < 0 ? -errno : 0;
}

static int copy_all(int from, int to, dev_t device, int depth, uint64_t *room);

static int copy_directory(int from, int to, const char *name, const struct stat *state, int depth,
			  uint64_t *room)
{
	int error = mkdirat(to, name, 0700) < 0 ? -errno : 0;
	int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (!error && (in < 0 || out < 0))
		error = -errno;
	if (!error)
		error = copy_all(in, out, state->st_dev, depth + 1, room);
	if (!error && (fchown(out, state->st_uid, state->st_gid) < 0 ||
		       fchmod(out, state->st_mode & 07777) < 0))
		error = -errno;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return error;
}

/* What lies on the same file system. Sockets, FIFOs and devices are left out: nobody would be at the
 * other end. */
static int copy_all(int from, int to, dev_t device, int depth, uint64_t *room)
{
	DIR *directory = depth < DEEPEST ? fdopendir(dup(from)) : NULL;
	struct dirent *entry;
	int error = directory ? 0 : depth < DEEPEST ? -errno : -EFBIG;

	while (!error && (entry = readdir(directory))) {
		const char *name = entry->d_name;
		struct stat state;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    fstatat(from, name, &state, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(state.st_mode))
			error = copy_file(from, to, name, &state, room);
		else if (S_ISLNK(state.st_mode))
			error = copy_link(from, to, name);
		else if (S_ISDIR(state.st_mode) && state.st_dev == device)
			error = copy_directory(from, to, name, &state, depth, room);
	}
	if (directory)
		closedir(directory);
	return error;
}

static uint64_t room_in_memory(void)
{
	enum { MOST = 256 << 20 };
	struct sysinfo info;
	uint64_t bytes = sysinfo(&info) < 0 ? 0 : (uint64_t)info.freeram * info.mem_unit / 4;

	return bytes < MOST ? bytes : MOST;
}

int own_mounts_copy(const char *path)
{
	int covered = -1, copy, error = cover(path, &covered);
	uint64_t room = room_in_memory();
	struct stat state;

	if (!error) {
		copy = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		error = look_at(copy, &state);
		if (!error && fstat(covered, &state) == 0)
			error = copy_all(covered, copy, state.st_dev, 0, &room);
		if (copy >= 0)
			close(copy);
	}
	if (covered >= 0)
		close(covered);
	return error;
}

int own_mounts_bind(const char *path, const char *from)
{
	char source[32], target[32];
	struct stat states[2];
	int ends[2], error;

	if (!is_path(path) || !is_path(from))
		return -EINVAL;
	error = enter_namespace();
	if (error)
		return error;
	ends[0] = open(from, O_PATH | O_CLOEXEC);
	ends[1] = open(path, O_PATH | O_CLOEXEC);
	for (int i = 0; i < 2 && !error; i++)
		error = look_at(ends[i], &states[i]);
	if (!error && (states[0].st_mode & S_IFMT) != (states[1].st_mode & S_IFMT))
		error = -ENOTDIR;
	snprintf(source, sizeof(source), "/proc/self/fd/%d", ends[0]);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", ends[1]);
	if (!error && mount(source, target, NULL, MS_BIND, NULL) < 0)
		error = -errno;
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	return error;
}
