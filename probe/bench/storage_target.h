/* What is read or written: a file of our own, a file that is there, or a device. */
#ifndef BV_STORAGE_TARGET_H
#define BV_STORAGE_TARGET_H

#include "bench/storage_medium.h"
#include "core/batch.h"

enum target_kind { TARGET_OWN, TARGET_FOREIGN, TARGET_DEVICE };

/* What a benchmark wants to do with it. */
struct target_use {
	bool write;
	bool filled;    /* own file: written whole beforehand */
	bool direct;    /* past the page cache */
	uint64_t area;  /* bytes to move in */
	uint64_t block; /* bytes moved at a time */
};

struct target {
	int fd;
	enum target_kind kind;
	bool direct;
	bool kept;         /* own file: written by an earlier process of this session */
	uint64_t area;     /* bytes to move in: as asked, but no more than there are */
	uint64_t prepared; /* bytes written to make it */
	int directory;     /* of an own file; -1: none */
	char name[40];     /* of an own file that could not lose its name yet, or empty */
	char path[PATH_MAX];
	char chosen[512];  /* how `auto` came to it, or empty */
	struct medium medium;
};

/* Opens what the parameters `file` and `device` name. Returns 0 or an exit code after an error
 * line. */
int target_open(struct run *run, struct target *t, const struct target_use *use);
void target_close(struct target *t);

/* An error line about a failed operation, by its negative errno; returns the exit code. */
int target_failed(const struct run *run, const struct target *t, int error, const char *doing);

/* A directory for an own file, and why that one: the first that is on storage and may be written.
 * Returns a descriptor, or -1. */
int choose_directory(char path[PATH_MAX], char *why, size_t size);

/* Own files. Opens a new one without a name, or with one that the file system does not
 * release while it is open; first takes away what killed processes have left there. Returns a descriptor
 * or a negative errno. */
int own_file(int directory, char *name, size_t size);

/* Writes random bytes from `from` to `to`, and out to the device. -ETIME: it takes too long. */
int own_file_fill(int fd, uint64_t from, uint64_t to);

/* Bytes that may be written to the file system of fd and leave enough for others: a tenth of it, or
 * 64 MiB where that is less. */
uint64_t room_for_files(int fd);

#endif
