/* The page cache of one file. */
#ifndef BV_STORAGE_CACHE_H
#define BV_STORAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Writes out what is dirty and drops what is cached of the first `bytes`, or with `all` every
 * clean page, directory entry and inode of the system, which needs root. Returns 0 or a negative
 * errno. */
int cache_drop(int fd, uint64_t bytes, bool all);

/* How much of that range is in memory, from 0 to 1; negative when the kernel does not tell: since
 * 5.2 it tells only those who own the file or may write it, and says to others that all of it is. */
double cache_resident(int fd, uint64_t from, uint64_t bytes);

#endif
