/* Bytes of which each tells its place in a stream, so that a reader can prove that it got them all,
 * in order, and as they were written. They are lines of one character, as GNU yes prints them. */
#ifndef BV_STREAM_H
#define BV_STREAM_H

#include <stddef.h>
#include <stdint.h>

/* Makes the bytes at that position of the stream. */
void stream_make(char *data, uint64_t position, size_t size);

/* How many bytes are as stream_make() makes them there: size, or the index of the first wrong. */
size_t stream_compare(const char *data, uint64_t position, size_t size);

/* Reads that many bytes of the stream's beginning, at most `room` at a time, and compares each.
 * Returns 0, -EBADMSG when one is wrong, -EPIPE when there were no more, or another negative errno;
 * *position is then how many were right. */
int stream_check(int fd, char *buffer, size_t room, uint64_t bytes, uint64_t *position);

#endif
