/* What every test program uses. A program tests one behaviour and ends with 0 (as it should be),
 * 1 (it is not; standard error says where) or 77 (cannot be tested here; it says why). */
#ifndef BV_CHECK_H
#define BV_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                   \
	do {                                                                               \
		if (!(condition)) {                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

#define CHECK_TEXT(is, wanted)                                                             \
	do {                                                                               \
		const char *is_ = (is), *wanted_ = (wanted);                               \
		if (strcmp(is_, wanted_) != 0) {                                           \
			fprintf(stderr, "%s:%d: is     %s\n%s:%d: wanted %s\n", __FILE__,  \
				__LINE__, is_, __FILE__, __LINE__, wanted_);               \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

#define SKIP(reason)                                                                       \
	do {                                                                               \
		puts(reason);                                                              \
		exit(77);                                                                  \
	} while (0)

/* An emulator takes many times as long: there a test may try fewer of the sizes, depths and numbers
 * that it goes through natively. */
static inline bool is_emulated(void)
{
	return getenv("EMULATED") != NULL;
}

/* From here on standard output is kept; returns what to hand to captured(). */
static inline int capture(void)
{
	FILE *file = tmpfile();

	CHECK(file != NULL);
	fflush(stdout);
	CHECK(dup2(fileno(file), STDOUT_FILENO) == STDOUT_FILENO);
	return fileno(file);
}

/* What was written to standard output since; the next call gives what comes after. */
static inline const char *captured(int fd)
{
	static char text[65536];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	CHECK(n >= 0);
	text[n] = '\0';
	CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return text;
}

#endif
