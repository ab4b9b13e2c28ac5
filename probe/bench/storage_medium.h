/* What a file lies on: its file system, and the device beneath. */
#ifndef BV_STORAGE_MEDIUM_H
#define BV_STORAGE_MEDIUM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/json.h"

enum nature { NATURE_UNKNOWN, NATURE_STORAGE, NATURE_MEMORY, NATURE_NETWORK };

struct medium {
	enum nature nature;
	bool read_only;
	char type[80];    /* of the file system ("ext4", "overlay on ext4"); empty for a device */
	char point[256];  /* where it is mounted */
	char options[256];
	char device[128]; /* as the mount names it; empty: none */
	unsigned major, minor; /* of the device; 0:0 when there is none */
	char disk[PATH_MAX];   /* the whole disk in /sys; empty when there is none */
};

/* Finds out about what an open file lies on; what cannot be found stays empty. */
void medium_of(int fd, struct medium *m);

/* Adds file system and device to an open object, each item a value or why there is none. */
void medium_describe(const struct medium *m, struct json *j);

/* Whether it is a loop device whose backing file has a page cache of its own (`losetup` without
 * --direct-io): that is not emptied with the device's. */
bool medium_backing_is_cached(const struct medium *m);

/* Bytes that the whole device has read and written so far, by its own account; a negative errno
 * when it keeps none. */
int64_t medium_traffic(const struct medium *m);

/* The size of the device's sectors; 4096 when it cannot be told. */
uint32_t medium_sector(const struct medium *m);

/* The path of the device itself (of a partition if it is one); false when there is none. */
bool medium_device_path(const struct medium *m, char path[PATH_MAX]);

/* Where something is mounted from the disk that the device lies on, or from a part of it; NULL when
 * nothing is. */
const char *medium_mounted_at(const struct medium *m);

#endif
