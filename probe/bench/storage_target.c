/* What is read or written. See storage_target.h. */
#include "bench/storage_target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/storage_cache.h"
#include "bench/storage_io.h"
#include "core/keep.h"

#define MIB(bytes) ((unsigned long long)((bytes) >> 20))

/* What lies there, in words: "ext4 at /data", "device mmcblk0". */
static const char *where(const struct target *t)
{
	static char text[400];

	if (t->medium.type[0])
		snprintf(text, sizeof(text), "%s at %.200s", t->medium.type, t->medium.point);
	else
		snprintf(text, sizeof(text), "%.300s", t->path);
	return text;
}

int target_failed(const struct run *run, const struct target *t, int error, const char *doing)
{
	const char *id = run->benchmark->id;

	switch (-error) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return json_error(1, -error, "%s: the file system (%s) has no room for more, or a "
					     "quota or limit forbids it: free some, choose a smaller size, or "
					     "name another directory with file=", id, where(t));
	case ENODATA:
		return json_error(1, ENODATA, "%s: %s became shorter while it was read: leave it "
					      "alone meanwhile, or choose another", id, t->path);
	case ENOSYS:
		return json_error(77, ENOSYS, "%s: this kernel lacks the call for %s: choose another "
					      "mode", id, doing);
	case EINVAL:
		if (t->direct)
			return json_error(77, EINVAL, "%s: %s does not do direct I/O (O_DIRECT) of "
						      "%s bytes: choose another block or mode", id,
					  where(t), arg_text(&run->args, "block"));
		/* fall through */
	default:
		return json_error(1, -error, "%s: %s fails on %s: see the kernel's log", id, doing,
				  t->path);
	}
}

/* --- a file of our own ----------------------------------------------------------------------- */

static int no_room(const struct run *run, const struct target *t, uint64_t wanted, uint64_t room)
{
	return json_error(77, ENOSPC, "%s: a file of %llu MiB would leave too little free in %s (%s): "
				      "at most %llu MiB may be used: choose a smaller size, or name "
				      "another directory with file=", run->benchmark->id, MIB(wanted),
			  t->path, where(t), MIB(room));
}

/* One that an earlier process of this session made, if it lies where it would lie now. */
static bool take_kept(struct target *t, const struct target_use *use)
{
	int fd = kept_file(use->write);
	struct stat here, file;

	if (fd < 0)
		return false;
	if (fstat(fd, &file) < 0 || fstat(t->directory, &here) < 0 || !S_ISREG(file.st_mode) ||
	    file.st_nlink != 0 || file.st_dev != here.st_dev ||
	    file.st_size < (off_t)use->area) {
		close(fd);
		return false;
	}
	t->fd = fd;
	t->kept = true;
	return true;
}

static int make_own(struct run *run, struct target *t, const struct target_use *use)
{
	uint64_t room = room_for_files(t->directory);
	int error;

	t->kind = TARGET_OWN;
	t->area = use->area;
	medium_of(t->directory, &t->medium);
	if (t->medium.nature == NATURE_MEMORY)
		return json_error(77, ENODEV, "%s: %s lies in memory (%s), which is no storage: name "
					      "another directory with file=", run->benchmark->id,
				  t->path, where(t));
	if (t->medium.read_only)
		return json_error(77, EROFS, "%s: %s is mounted read-only (%s): name another directory, "
					     "or a file that is there to read, with file=",
				  run->benchmark->id, t->path, where(t));
	if (use->filled && take_kept(t, use))
		return 0;
	if (use->area > room)
		return no_room(run, t, use->area, room);
	t->fd = own_file(t->directory, t->name, sizeof(t->name));
	if (t->fd < 0) {
		error = -t->fd;
		t->fd = -1;
		return json_error(77, error, "%s: cannot make a file in %s (%s): name another "
					     "directory with file=", run->benchmark->id, t->path,
				  where(t));
	}
	if (!use->filled)
		return 0;
	error = own_file_fill(t->fd, 0, use->area);
	if (error == -ETIME)
		return json_error(77, ETIME, "%s: writing a file of %llu MiB to read takes longer "
					     "than 90 s here: choose a smaller size",
				  run->benchmark->id, MIB(use->area));
	if (error)
		return target_failed(run, t, error, "writing");
	t->prepared = use->area;
	if (!t->name[0])
		keep_file(use->write, t->fd);
	return 0;
}

static int open_auto(struct run *run, struct target *t, const struct target_use *use)
{
	t->directory = choose_directory(t->path, t->chosen, sizeof(t->chosen));
	if (t->directory >= 0)
		return make_own(run, t, use);
	return json_error(77, ENODEV, "%s: no directory to measure in: %s: name one with file=",
			  run->benchmark->id, t->chosen);
}

/* --- a file that is there -------------------------------------------------------------------- */

static int clip_area(struct run *run, struct target *t, const struct target_use *use, uint64_t size)
{
	t->area = size < use->area ? size : use->area;
	t->area -= t->area % use->block;
	if (t->area == 0)
		return json_error(2, EINVAL, "%s: %s holds %llu bytes, less than one block: choose a "
					     "smaller block, or something larger",
				  run->benchmark->id, t->path, (unsigned long long)size);
	if (t->area < use->area)
		run_caveat(run, "less was there than the size asked for: see begin.storage.area_bytes");
	return 0;
}

static int open_foreign(struct run *run, struct target *t, const struct target_use *use)
{
	struct stat s;

	if (use->write)
		return json_error(2, EEXIST, "%s: %s is there already, and is not overwritten: name a "
					     "directory, or nothing", run->benchmark->id, t->path);
	t->kind = TARGET_FOREIGN;
	t->fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0 || fstat(t->fd, &s) < 0)
		return json_error(77, errno, "%s: cannot open %s", run->benchmark->id, t->path);
	medium_of(t->fd, &t->medium);
	if (t->medium.nature == NATURE_MEMORY)
		return json_error(77, ENODEV, "%s: %s lies in memory (%s), which is no storage",
				  run->benchmark->id, t->path, where(t));
	return clip_area(run, t, use, (uint64_t)s.st_size);
}

static int open_file(struct run *run, struct target *t, const struct target_use *use)
{
	const char *id = run->benchmark->id;
	struct stat s;

	snprintf(t->path, sizeof(t->path), "%s", arg_text(&run->args, "file"));
	if (t->path[0] != '/')
		return json_error(2, EINVAL, "%s: file=%s is neither auto nor an absolute path", id,
				  t->path);
	if (stat(t->path, &s) < 0)
		return json_error(2, errno, "%s: file=%s cannot be found: name a directory, or a file "
					    "to read", id, t->path);
	if (S_ISREG(s.st_mode))
		return open_foreign(run, t, use);
	if (!S_ISDIR(s.st_mode))
		return json_error(2, EINVAL, "%s: file=%s is neither a directory nor a regular file "
					     "(a disk is named with device=)", id, t->path);
	t->directory = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->directory < 0)
		return json_error(77, errno, "%s: cannot open the directory %s", id, t->path);
	return make_own(run, t, use);
}

/* --- a device -------------------------------------------------------------------------------- */

/* Finds the path of the block device beneath a directory: to read only. */
static int device_beneath(struct run *run, struct target *t)
{
	char why[sizeof(t->chosen)];
	const char *directory = arg_text(&run->args, "file");
	struct medium m = {0};
	int fd;

	snprintf(why, sizeof(why), "%.400s", directory);
	fd = strcmp(directory, "auto") == 0 ? choose_directory(t->path, why, sizeof(why))
					    : open(directory, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		medium_of(fd, &m);
		close(fd);
	}
	if (!medium_device_path(&m, t->path))
		return json_error(77, ENODEV, "%s: no block device beneath %s: name one with device=",
				  run->benchmark->id, why);
	snprintf(t->chosen, sizeof(t->chosen), "the device beneath %.460s", why);
	return 0;
}

static int check_may_overwrite(struct run *run, struct target *t)
{
	const char *id = run->benchmark->id;
	const char *point;

	if (!arg_is(&run->args, "overwrite", "yes"))
		return json_error(2, EPERM, "%s: all that is on %s would be lost: say overwrite=yes if "
					    "that is meant", id, t->path);
	if (arg_is(&run->args, "device", "beneath"))
		return json_error(2, EPERM, "%s: device=beneath is for reading: name a device", id);
	if (!t->medium.disk[0])
		return json_error(77, ENODEV, "%s: /sys does not show what %s belongs to, so nothing is "
					      "written to it", id, t->path);
	point = medium_mounted_at(&t->medium);
	if (point)
		return json_error(77, EBUSY, "%s: %s belongs to a disk from which %s is mounted, so "
					     "nothing is written to it: choose a disk that is not in use",
				  id, t->path, point);
	return 0;
}

static int open_device(struct run *run, struct target *t, const struct target_use *use)
{
	const char *id = run->benchmark->id;
	uint64_t bytes = 0;
	struct stat s;
	int status;

	t->kind = TARGET_DEVICE;
	snprintf(t->path, sizeof(t->path), "%s", arg_text(&run->args, "device"));
	status = 0;
	if (strcmp(t->path, "beneath") == 0)
		status = device_beneath(run, t);
	else if (!arg_is(&run->args, "file", "auto"))
		status = json_error(2, EINVAL, "%s: file= and device= contradict each other", id);
	if (status)
		return status;
	if (stat(t->path, &s) < 0)
		return json_error(2, errno, "%s: device=%s cannot be found", id, t->path);
	if (!S_ISBLK(s.st_mode))
		return json_error(2, ENOTBLK, "%s: device=%s is not a block device (a file is named "
					      "with file=)", id, t->path);
	t->fd = open(t->path, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0)
		return json_error(77, errno, "%s: %s cannot be opened: %s", id, t->path,
				  geteuid() == 0 ? "this system refuses it even to root"
						 : "it takes root, or the group that owns it");
	medium_of(t->fd, &t->medium);
	if (use->write) {
		status = check_may_overwrite(run, t);
		if (status)
			return status;
		close(t->fd);
		/* exclusive: refused while it is mounted or part of something, and mounting is
		 * refused while we hold it */
		t->fd = open(t->path, O_RDWR | O_EXCL | O_CLOEXEC);
		if (t->fd < 0)
			return json_error(77, errno, "%s: %s cannot be opened for writing: it is in "
						     "use, or write-protected", id, t->path);
	}
	if (ioctl(t->fd, BLKGETSIZE64, &bytes) < 0)
		return json_error(77, errno, "%s: %s does not tell its size", id, t->path);
	return clip_area(run, t, use, bytes);
}

/* --- past the page cache --------------------------------------------------------------------- */

/* O_DIRECT is taken by some file systems that go through the page cache all the same (UBIFS, tmpfs
 * since 6.6, btrfs that compresses): one block is moved, and must not be in memory then. */
static int check_direct(struct run *run, struct target *t, const struct target_use *use)
{
	struct io io = {.fd = t->fd, .write = use->write, .block = use->block, .blocks = 1,
			.depth = 1};
	int error = io_open(&io, "sync");
	double resident;

	cache_drop(t->fd, t->area, false);
	if (error == 0)
		error = io_run(&io, 1);
	io_close(&io);
	if (error)
		return target_failed(run, t, error, "direct I/O");
	resident = cache_resident(t->fd, 0, use->block);
	if (resident > 0)
		return json_error(77, EOPNOTSUPP, "%s: direct I/O goes through the page cache on %s: "
						  "choose another mode", run->benchmark->id, where(t));
	return 0;
}

static int set_direct(struct run *run, struct target *t, const struct target_use *use)
{
	uint32_t sector = medium_sector(&t->medium);
	int flags = fcntl(t->fd, F_GETFL);

	t->direct = use->direct;
	if (t->kind == TARGET_DEVICE)
		ioctl(t->fd, BLKSSZGET, &sector);
	if (use->direct && sector && use->block % sector)
		return json_error(77, EINVAL, "%s: block=%s is no multiple of the %u bytes that direct "
					      "I/O needs on %s", run->benchmark->id,
				  arg_text(&run->args, "block"), sector, where(t));
	/* a kept file may have it from another process */
	if (fcntl(t->fd, F_SETFL, use->direct ? flags | O_DIRECT : flags & ~O_DIRECT) < 0)
		return target_failed(run, t, -errno, "opening for direct I/O");
	return use->direct ? check_direct(run, t, use) : 0;
}

/* --- all ------------------------------------------------------------------------------------- */

int target_open(struct run *run, struct target *t, const struct target_use *use)
{
	int status;

	t->fd = t->directory = -1;
	if (!arg_is(&run->args, "device", "none"))
		status = open_device(run, t, use);
	else if (arg_is(&run->args, "file", "auto"))
		status = open_auto(run, t, use);
	else
		status = open_file(run, t, use);
	return status ? status : set_direct(run, t, use);
}

void target_close(struct target *t)
{
	if (t->name[0])
		unlinkat(t->directory, t->name, 0);
	if (t->fd >= 0)
		close(t->fd);
	if (t->directory >= 0)
		close(t->directory);
}
