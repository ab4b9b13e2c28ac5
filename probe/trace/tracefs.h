/* The kernel's trace files, and an instance of its ring buffers that is ours alone. */
#ifndef BV_TRACEFS_H
#define BV_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SETTINGS = 8, WAS = 0, WANTED = 1 };

/* A file below `root` that is written for the time of a recording. */
struct setting {
	char file[40];
	char values[2][128]; /* WAS, WANTED */
};

/* `root` is where tracefs is, `base` what is recorded in: an instance below it, or `root` itself on
 * kernels without instances, whose settings are then put back. */
struct tracefs {
	char root[256];
	char base[384];
	char instance[64]; /* its name; empty: the top level is used */
	bool mounted;      /* by us, where only this process and its children see it */
	int outer;         /* the mount namespace before that, or -1 */
	bool taken;        /* something is to be given back */
	bool tracer;       /* the tracer too */
	bool functions;    /* and its filter */
	bool graph;        /* and those of graphs */
	char old_clock[32];
	char old_on[8];
	char old_kb[32];
	struct setting settings[SETTINGS]; /* of a tracer */
	int setting_count;
};

/* Finds tracefs, mounting it if need be, and makes an instance. With `root`, that directory is
 * taken for it. With `graph`, the top level is used, as the graph tracer works there alone on most
 * kernels. Of `settings`, FILE=VALUE separated by semicolons, it reads what is to be restored.
 * Returns 0, or an exit code after an error line: 77 where it cannot be had. */
int tracefs_open(struct tracefs *fs, const char *root, bool graph, const char *settings);

/* Writes the settings, as they are WANTED or as each WAS. Returns 0 or a negative errno. */
int tracefs_set(const struct tracefs *fs, int which);

/* Ends tracing and puts everything back as it was. Returns 0 or the negative errno of what could
 * not be put back. May be called more than once. */
int tracefs_release(struct tracefs *fs);

/* Removes the instances of recorders that were killed; returns how many. */
int tracefs_remove_stale(const struct tracefs *fs);

/* From here on events are those of this thread and of what it starts, with switches and wake-ups that
 * they have part in. False where the kernel cannot do that. */
bool tracefs_restrict(const struct tracefs *fs);

/* Joins the mount namespace that was before, for a child that is to see what everybody sees. */
void tracefs_leave(const struct tracefs *fs);

/* Files below `base`: writing gives 0, reading the length (white space at the end is cut), both a
 * negative errno. */
int tracefs_write(const struct tracefs *fs, const char *file, const char *value);
ssize_t tracefs_read(const struct tracefs *fs, const char *file, char *text, size_t size);

/* The clock in force, which the kernel shows in brackets. */
int tracefs_clock(const struct tracefs *fs, char *clock, size_t size);

/* The name of the instance of a recorder; and whether a name is that of one that is gone. */
void tracefs_own_name(char *name, size_t size);
bool tracefs_is_stale(const char *name);

#endif
