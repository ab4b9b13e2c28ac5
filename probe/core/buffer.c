/* Memory whose pages are known. See buffer.h. */
#include "core/buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/files.h"

const char pages_choices[] = "default 4k huge";
const char pages_summary[] =
	"pages behind the buffers: as the system decides, base pages only, or huge pages asked for "
	"by madvise (begin.memory says what was granted)";

enum { ALIGNMENT = 2 << 20 };

static size_t huge_page_size(void)
{
	int64_t size;

	if (file_number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", &size) < 0 ||
	    size < ALIGNMENT)
		return ALIGNMENT;
	return (size_t)size;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

uint64_t buffer_footprint(size_t size, const char *pages)
{
	/* A huge page is granted only when all of it lies inside the mapping. */
	return round_up(size, strcmp(pages, "huge") == 0 ? huge_page_size() : 65536);
}

int buffer_map(struct buffer *b, size_t size, const char *pages)
{
	bool huge = strcmp(pages, "huge") == 0;
	size_t alignment = huge ? huge_page_size() : ALIGNMENT;
	size_t length = (size_t)buffer_footprint(size, pages);
	char *mapping = mmap(NULL, length + alignment, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *data;

	if (mapping == MAP_FAILED)
		return -errno;
	data = (char *)round_up((size_t)mapping, alignment);
	/* What is left over at both ends goes back at once. It also keeps two buffers apart: the
	 * kernel would join neighbours to one mapping and count their huge pages together. */
	if (data > mapping)
		munmap(mapping, (size_t)(data - mapping));
	if (data < mapping + alignment)
		munmap(data + length, (size_t)(mapping + alignment - data));
	/* Kernels without huge pages refuse the advice; then there are none, which `4k` is happy
	 * with and `huge` finds out from what is granted. */
	if (huge)
		madvise(data, length, MADV_HUGEPAGE);
	else if (strcmp(pages, "4k") == 0)
		madvise(data, length, MADV_NOHUGEPAGE);
	*b = (struct buffer){.data = data, .size = size, .mapped = length};
	return 0;
}

void buffer_unmap(struct buffer *b)
{
	if (b->data)
		munmap(b->data, b->mapped);
	b->data = NULL;
}

const char *buffer_huge_caveat(const struct buffer *b)
{
	int64_t granted = buffer_huge_bytes(b);

	if (granted < 0)
		return "huge pages were asked for, but this kernel does not tell whether they were "
		       "granted";
	if (granted < (int64_t)b->size)
		return "huge pages were asked for but not granted for all of the buffer: see "
		       "begin.memory";
	return NULL;
}

uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

void buffer_write_random(struct buffer *b)
{
	uint64_t state = 0x9e3779b97f4a7c15ull;
	uint64_t *word = b->data;

	for (size_t i = 0; i < b->size / sizeof(*word); i++)
		word[i] = random_next(&state);
}

void buffer_write_zero(struct buffer *b)
{
	memset(b->data, 0, b->size);
}

int64_t buffer_huge_bytes(const struct buffer *b)
{
	uint64_t first = (uint64_t)(uintptr_t)b->data;
	uint64_t last = first + b->size;
	int64_t total = 0;
	bool inside = false;
	char line[512];
	FILE *file = fopen("/proc/self/smaps", "re");

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		uint64_t from, to;
		unsigned long long kib;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			inside = from < last && to > first;
		else if (inside && sscanf(line, "AnonHugePages: %llu kB", &kib) == 1)
			total += (int64_t)kib * 1024;
	}
	fclose(file);
	return total < (int64_t)b->size ? total : (int64_t)b->size;
}

void buffer_describe(const struct buffer *b, const char *name, struct json *j)
{
	int64_t huge = buffer_huge_bytes(b);

	json_open(j, NULL, '{');
	json_string(j, "name", name);
	json_unsigned(j, "bytes", b->size);
	if (huge >= 0)
		json_signed(j, "huge_bytes", huge);
	else
		json_na(j, "huge_bytes", "no /proc/self/smaps");
	json_close(j, '}');
}

int64_t memory_available(void)
{
	static const char *const fields[] = {"MemAvailable:", "MemFree:"}; /* 3.14 has the first */
	char text[4096];
	ssize_t n = file_read("/proc/meminfo", text, sizeof(text));

	if (n < 0)
		return n;
	for (int i = 0; i < 2; i++) {
		char *at = strstr(text, fields[i]);
		if (at)
			return strtoll(at + strlen(fields[i]), NULL, 10) * 1024;
	}
	return -ENODATA;
}
