/* Bytes under construction. See bytes.h. */
#include "trace/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void make_room(struct bytes *b, size_t more)
{
	size_t size = b->size ? b->size : 4096;
	char *data;

	while (size < b->length + more)
		size *= 2;
	if (size == b->size)
		return;
	data = realloc(b->data, size);
	if (!data)
		abort(); /* a few MB: the guard puts back what was set */
	b->data = data;
	b->size = size;
}

void bytes_add(struct bytes *b, const void *data, size_t length)
{
	make_room(b, length);
	memcpy(b->data + b->length, data, length);
	b->length += length;
}

void bytes_text(struct bytes *b, const char *text)
{
	bytes_add(b, text, strlen(text) + 1);
}

void bytes_u16(struct bytes *b, uint16_t n)
{
	bytes_add(b, &n, sizeof(n));
}

void bytes_u32(struct bytes *b, uint32_t n)
{
	bytes_add(b, &n, sizeof(n));
}

void bytes_u64(struct bytes *b, uint64_t n)
{
	bytes_add(b, &n, sizeof(n));
}

void bytes_set_u32(struct bytes *b, size_t at, uint32_t n)
{
	memcpy(b->data + at, &n, sizeof(n));
}

void bytes_set_u64(struct bytes *b, size_t at, uint64_t n)
{
	memcpy(b->data + at, &n, sizeof(n));
}

size_t bytes_file(struct bytes *b, const char *path)
{
	enum { AT_ONCE = 65536 };
	size_t begin = b->length;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0) {
		make_room(b, AT_ONCE);
		ssize_t n = read(fd, b->data + b->length, AT_ONCE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		b->length += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	return b->length - begin;
}

void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}
