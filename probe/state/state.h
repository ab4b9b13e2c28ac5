/* Reading and writing single files of /proc and /sys, as the host asks. The host keeps the
 * catalogue of what they mean and the list of what may be written. */
#ifndef BV_STATE_H
#define BV_STATE_H

#include <stdbool.h>
#include <sys/types.h>

enum {
	STATE_VALUE_MAX = 65536,
	STATE_LIMIT_MAX = 491520, /* of `read --limit`: a line of twice that is under 1 MiB */
};

/* Answers one glob with lines; returns 0, or 1 when nobody reads them. */
typedef int state_answer(const char *glob_pattern, size_t limit);

/* A `value` line for each file that the glob matches, one with the reason for a glob without match.
 * Files are cut after `limit` bytes, at most STATE_LIMIT_MAX. */
state_answer state_read;

/* The same with `link` lines: where symbolic links lead. */
state_answer state_links;

/* Answers globs, which are given or stand on standard input one a line, by `read` or `links` with
 * its arguments: [--limit SIZE]. Returns 0, 1, or 2 after an error line. */
int state_globs(const char *command, int argc, char *const argv[], char *const globs[], int count);
int state_stdin(const char *command, int argc, char *const argv[]);

/* What no regular file tells, a `fact` line each. Returns 0 or 1. */
int state_facts(void);
int state_facts_log(void); /* the kernel log alone: cheap enough to be asked again and again */

/* Writes value and reads it back; one `write` line. Returns 0 or 1. */
int state_write(const char *path, const char *value);

/* Options of mounts, as files (see mounts.c). `mounts_is_path`: whether a path, or a glob, is of
 * these. `mounts_each` reports each that a glob matches, and returns how many, or -1 once a report is
 * not 0. `mounts_write` returns 0 or a negative errno. */
typedef int mounts_report(void *context, const char *path, const char *value);
bool mounts_is_path(const char *path);
int mounts_each(const char *glob_pattern, mounts_report *report, void *context);
int mounts_write(const char *path, const char *value);

/* 0 for a regular file, as all of /proc and /sys are, else a negative errno: EISDIR, EINVAL for a
 * device, a FIFO or a socket, or why it cannot be looked at. */
int state_check(const char *path);

/* The bytes of a regular file, at most `limit`; data has one byte more. Reading ends after some
 * seconds. *cut is set when there was more. Returns their number or a negative errno. */
ssize_t state_read_file(const char *path, char *data, size_t limit, bool *cut);

#endif
