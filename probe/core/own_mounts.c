/* Mounts of a mount namespace of this process. See own_mounts.h.
 *
 * A file of a file system in memory is bound over the file. That file system needs a place while
 * the file is made: it covers the file's own directory for so long, in this namespace alone. */
#include "core/own_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
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

int own_mounts_directory(const char *path)
{
	char options[80];
	struct stat state;
	int fd, error;

	if (!is_path(path))
		return -EINVAL;
	error = enter_namespace();
	if (error)
		return error;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	error = look_at(fd, &state);
	if (fd >= 0)
		close(fd);
	if (error)
		return error;
	snprintf(options, sizeof(options), "mode=%o,uid=%u,gid=%u", state.st_mode & 07777u,
		 (unsigned)state.st_uid, (unsigned)state.st_gid);
	return mount_memory(path, options);
}
