/* Small reads of /proc and /sys. */
#ifndef BV_FILES_H
#define BV_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads at most size - 1 bytes and terminates them; trailing white space is cut.
 * Returns the length or a negative errno. */
ssize_t file_read(const char *path, char *text, size_t size);

/* Reads one byte, waiting for it also where the descriptor does not block. Returns 1, 0 at the end,
 * or a negative errno. */
int file_read_byte(int fd, char *byte);

/* A decimal number at the head of a file: 0 or a negative errno. */
int file_number(const char *path, int64_t *number);

/* The same, with a printf path. */
int file_numberf(int64_t *number, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Calls each(cpu, context) for every CPU of a list such as "0-3,8"; returns how many. */
int for_each_cpu(const char *list, void (*each)(int cpu, void *context), void *context);

#endif
