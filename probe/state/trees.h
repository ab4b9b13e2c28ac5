/* State of the running system that no file shows, as files that are read and written like those of
 * /proc/sys: areas of swap, queueing disciplines, tables of nftables, routes, services and their
 * files, processes. Each kind is a tree, below a path that is a regular file, so that no real file can have
 * such a path: /proc/swaps/!swapfile. "!" stands for "/", as sysfs writes names with slashes.
 *
 * What a file holds is what would have to be written to have it so again. */
#ifndef BV_TREES_H
#define BV_TREES_H

#include <stdbool.h>
#include <stddef.h>

enum { TREE_NAME_MAX = 256, TREE_VALUE_MAX = 1200 };

/* Returns 0, or what ends the listing. */
typedef int tree_report(void *context, const char *path, const char *value);

/* `list` reports each name below `root` with its value: those that are not as a system has them by
 * itself; NULL where none are listed. `value_of` knows others too; it and `write` return 0 or a negative errno, -ENOENT for a
 * name that is none. */
struct tree {
	const char *root; /* with a slash at its end */
	int (*list)(tree_report *report, void *context);
	int (*value_of)(const char *name, char *value, size_t size);
	int (*write)(const char *name, const char *value);
};

extern const struct tree swaps_tree, qdiscs_tree, filters_tree, routes_tree, services_tree,
	service_files_tree, processes_tree;

/* Whether a path, or a glob, is of a tree. */
bool tree_is_path(const char *path);

/* Reports each file that a glob matches; returns how many, or -1 once a report is not 0. */
int tree_each(const char *pattern, tree_report *report, void *context);

/* 0 or a negative errno. */
int tree_write(const char *path, const char *value);

/* A name as a path that begins with "/", and back; false where it is too long, or has a character
 * that a glob or the name of a file cannot have. */
bool tree_name_of(const char *path, char name[TREE_NAME_MAX]);
void tree_path_of(const char *name, char path[TREE_NAME_MAX]);

#endif
