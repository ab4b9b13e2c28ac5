/* Bytes under construction: what precedes the data of a trace.dat. */
#ifndef BV_TRACE_BYTES_H
#define BV_TRACE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
	char *data;
	size_t length, size;
};

void bytes_add(struct bytes *b, const void *data, size_t length);

/* With the NUL at its end. */
void bytes_text(struct bytes *b, const char *text);

/* Numbers in the order of this machine, which the head of the file names. */
void bytes_u16(struct bytes *b, uint16_t n);
void bytes_u32(struct bytes *b, uint32_t n);
void bytes_u64(struct bytes *b, uint64_t n);

/* A number that was not known when its place was written. */
void bytes_set_u32(struct bytes *b, size_t at, uint32_t n);
void bytes_set_u64(struct bytes *b, size_t at, uint64_t n);

/* Appends a whole file, of which /proc and /sys do not know the size; returns its length, 0 when
 * it cannot be read. */
size_t bytes_file(struct bytes *b, const char *path);

void bytes_free(struct bytes *b);

#endif
