/* Areas of swap: /proc/swaps/!dev!sda2 holds `off`, `on`, or the priority that somebody gave it. Those
 * that are used are listed, and those that /etc/fstab names; any other file or device with the
 * signature of an area can be asked for.
 *
 * zram: /proc/swaps/zram0/algorithm and .../size, of a device that is used for swap or not at all.
 * Both change by taking it out of use, and making and using it anew. swapoff(2) fails with ENOMEM
 * where what was swapped out has no room; nothing has changed then. */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "core/files.h"
#include "state/trees.h"

enum { AREAS_MAX = 16, SIGNATURE = 10, HEAD_AT = 1024, ZRAM_MAX = 8, ALGORITHM_MAX = 32 };

struct area {
	char path[TREE_NAME_MAX];
	int priority;
};

/* Those that are used, as the kernel lists them. */
static int used(struct area areas[AREAS_MAX])
{
	FILE *file = fopen("/proc/swaps", "re");
	char line[512], path[TREE_NAME_MAX];
	int count = 0, priority;

	while (file && count < AREAS_MAX && fgets(line, sizeof(line), file)) {
		if (line[0] != '/' || sscanf(line, "%255s %*s %*s %*s %d", path, &priority) != 2)
			continue;
		snprintf(areas[count].path, TREE_NAME_MAX, "%s", path);
		areas[count++].priority = priority;
	}
	if (file)
		fclose(file);
	return count;
}

static const struct area *find(const struct area *areas, int count, const char *path)
{
	for (int i = 0; i < count; i++)
		if (strcmp(areas[i].path, path) == 0)
			return &areas[i];
	return NULL;
}

/* What the kernel chose is below zero, and another one each time. */
static void describe(const struct area *area, char *value, size_t size)
{
	if (!area)
		snprintf(value, size, "off");
	else if (area->priority < 0)
		snprintf(value, size, "on");
	else
		snprintf(value, size, "%d", area->priority);
}

/* Whether there is an area at a path; it is at the end of a page, whose size may be another. */
static bool is_area(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char signature[SIGNATURE];
	struct stat state;
	bool found = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &state) == 0 && (S_ISREG(state.st_mode) || S_ISBLK(state.st_mode)))
		for (long page = 4096; page <= 65536 && !found; page *= 2)
			found = pread(fd, signature, SIGNATURE, page - SIGNATURE) == SIGNATURE &&
				memcmp(signature, "SWAPSPACE2", SIGNATURE) == 0;
	close(fd);
	return found;
}

static int report_fstab(const struct area *areas, int count, tree_report *report, void *context)
{
	FILE *fstab = setmntent("/etc/fstab", "re");
	const struct mntent *m;
	char name[TREE_NAME_MAX];
	int status = 0;

	while (fstab && !status && (m = getmntent(fstab)))
		if (strcmp(m->mnt_type, "swap") == 0 && m->mnt_fsname[0] == '/' &&
		    !find(areas, count, m->mnt_fsname) && is_area(m->mnt_fsname) &&
		    tree_name_of(m->mnt_fsname, name))
			status = report(context, name, "off");
	if (fstab)
		endmntent(fstab);
	return status;
}

/* -- zram ------------------------------------------------------------------------------------- */

static int zram_read(const char *device, const char *file, char *text, size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/block/%s/%s", device, file);
	return file_read(path, text, size) < 0 ? -ENOENT : 0;
}

static int zram_write(const char *device, const char *file, const char *text)
{
	char path[96];
	int fd, error = 0;

	snprintf(path, sizeof(path), "/sys/block/%s/%s", device, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

/* `zram` and a digit or two. */
static bool is_zram(const char *device)
{
	size_t digits = strspn(device + (strncmp(device, "zram", 4) ? 0 : 4), "0123456789");

	return strncmp(device, "zram", 4) == 0 && digits >= 1 && digits <= 2 && !device[4 + digits];
}

/* A file system on one would be lost. */
static bool is_for_swap(const char *device, const char *path)
{
	char size[32];

	return zram_read(device, "disksize", size, sizeof(size)) == 0 &&
	       (strcmp(size, "0") == 0 || is_area(path));
}

static int zram_value(const char *device, const char *file, char *value, size_t size)
{
	char path[TREE_NAME_MAX], text[256];
	char *chosen;

	snprintf(path, sizeof(path), "/dev/%s", device);
	if (!is_zram(device) || !is_for_swap(device, path))
		return -ENOENT;
	if (strcmp(file, "size") == 0)
		return zram_read(device, "disksize", value, size);
	if (strcmp(file, "algorithm") || zram_read(device, "comp_algorithm", text, sizeof(text)))
		return -ENOENT;
	chosen = strchr(text, '[');
	if (!chosen)
		return -ENOENT;
	snprintf(value, size, "%.*s", (int)strcspn(chosen + 1, "]"), chosen + 1);
	return 0;
}

/* The head of an area, as mkswap(8) writes it: version, last page, no bad ones, and the signature. */
static int make_area(const char *path, uint64_t bytes)
{
	long page = sysconf(_SC_PAGESIZE);
	uint32_t head[3] = {1, (uint32_t)(bytes / (uint64_t)page - 1), 0};
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;
	char *data = calloc(1, (size_t)page);

	if (fd >= 0 && data) {
		memcpy(data + HEAD_AT, head, sizeof(head));
		memcpy(data + page - SIGNATURE, "SWAPSPACE2", SIGNATURE);
		if (pwrite(fd, data, (size_t)page, 0) != page || fsync(fd) < 0)
			error = -errno;
	} else {
		error = -errno;
	}
	free(data);
	if (fd >= 0)
		close(fd);
	return error;
}

static int use(const char *path, int priority)
{
	int flags = priority < 0 ? 0 : SWAP_FLAG_PREFER | (priority & SWAP_FLAG_PRIO_MASK);

	return swapon(path, flags) < 0 ? -errno : 0;
}

/* It is brought back to what it was where something refuses. */
static int zram_make(const char *device, const char *path, const char *algorithm, const char *size)
{
	int error = zram_write(device, "reset", "1");

	if (!error)
		error = zram_write(device, "comp_algorithm", algorithm);
	if (!error && strcmp(size, "0") != 0) {
		error = zram_write(device, "disksize", size);
		if (!error)
			error = make_area(path, strtoull(size, NULL, 10));
	}
	return error;
}

static int zram_set(const char *device, const char *file, const char *value)
{
	char path[TREE_NAME_MAX], algorithm[ALGORITHM_MAX], size[32];
	char old_algorithm[ALGORITHM_MAX], old_size[32];
	struct area areas[AREAS_MAX];
	const struct area *area;
	int error;

	snprintf(path, sizeof(path), "/dev/%s", device);
	if (zram_value(device, "algorithm", old_algorithm, sizeof(old_algorithm)) ||
	    zram_value(device, "size", old_size, sizeof(old_size)))
		return -ENOENT;
	snprintf(algorithm, sizeof(algorithm), "%s",
		 strcmp(file, "algorithm") == 0 ? value : old_algorithm);
	snprintf(size, sizeof(size), "%s", strcmp(file, "size") == 0 ? value : old_size);
	area = find(areas, used(areas), path);
	if (area && strcmp(size, "0") == 0)
		return -EBUSY; /* what is used cannot have no size: it is taken out of use first */
	if (area && swapoff(path) < 0)
		return -errno;
	error = zram_make(device, path, algorithm, size);
	if (error)
		zram_make(device, path, old_algorithm, old_size);
	return area && use(path, area->priority) && !error ? -errno : error;
}

static int report_zram(tree_report *report, void *context)
{
	static const char *const files[] = {"algorithm", "size"};
	int status = 0;

	for (int i = 0; i < ZRAM_MAX && !status; i++)
		for (int f = 0; f < 2 && !status; f++) {
			char device[16], name[32], value[64];
			snprintf(device, sizeof(device), "zram%d", i);
			if (zram_value(device, files[f], value, sizeof(value)))
				continue;
			snprintf(name, sizeof(name), "%s/%s", device, files[f]);
			status = report(context, name, value);
		}
	return status;
}

/* -- the tree --------------------------------------------------------------------------------- */

static int list(tree_report *report, void *context)
{
	struct area areas[AREAS_MAX];
	int count = used(areas), status = 0;

	for (int i = 0; i < count && !status; i++) {
		char name[TREE_NAME_MAX], value[16];
		describe(&areas[i], value, sizeof(value));
		if (tree_name_of(areas[i].path, name))
			status = report(context, name, value);
	}
	if (!status)
		status = report_fstab(areas, count, report, context);
	return status ? status : report_zram(report, context);
}

/* "zram0/size" in its two parts. */
static bool is_of_zram(const char *name, char device[16], const char **file)
{
	const char *slash = strchr(name, '/');

	if (!slash || slash - name >= 16)
		return false;
	snprintf(device, 16, "%.*s", (int)(slash - name), name);
	*file = slash + 1;
	return true;
}

static int value_of(const char *name, char *value, size_t size)
{
	struct area areas[AREAS_MAX];
	char path[TREE_NAME_MAX], device[16];
	const struct area *area;
	const char *file;

	if (is_of_zram(name, device, &file))
		return zram_value(device, file, value, size);
	tree_path_of(name, path);
	area = find(areas, used(areas), path);
	if (!area && (path[0] != '/' || !is_area(path)))
		return -ENOENT;
	describe(area, value, size);
	return 0;
}

static int write_area(const char *name, const char *value)
{
	char path[TREE_NAME_MAX], device[16], now[16];
	const char *file;
	char *end;
	long priority = -1;
	int error;

	if (is_of_zram(name, device, &file))
		return zram_set(device, file, value);
	tree_path_of(name, path);
	error = value_of(name, now, sizeof(now));
	if (error || strcmp(now, value) == 0)
		return error;
	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0) {
		priority = strtol(value, &end, 10);
		if (*end || end == value || priority < 0 || priority > SWAP_FLAG_PRIO_MASK)
			return -EINVAL;
	}
	if (strcmp(now, "off") != 0 && swapoff(path) < 0)
		return -errno;
	return strcmp(value, "off") == 0 ? 0 : use(path, (int)priority);
}

const struct tree swaps_tree = {"/proc/swaps/", list, value_of, write_area};
