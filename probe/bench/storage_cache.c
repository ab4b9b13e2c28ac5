/* The page cache of one file. See storage_cache.h. */
#include "bench/storage_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int cache_drop(int fd, uint64_t bytes, bool all)
{
	int file, error;

	/* Dirty pages are not dropped. A device or a file of others may refuse this: then what
	 * remains is seen by cache_resident. */
	fdatasync(fd);
	error = posix_fadvise(fd, 0, (off_t)bytes, POSIX_FADV_DONTNEED);
	if (error < 0) /* POSIX wants the error returned; the C library of zig 0.17 sets errno */
		error = errno;
	if (error || !all)
		return -error;
	sync();
	file = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	error = write(file, "3\n", 2) < 0 ? -errno : 0;
	close(file);
	return error;
}

/* Pages of a window that are in memory, or -1. Mapping touches none of them. */
static int64_t resident_pages(int fd, uint64_t from, size_t bytes, size_t page)
{
	enum { MOST_PAGES = 16384 };
	static unsigned char in_memory[MOST_PAGES];
	size_t pages = (bytes + page - 1) / page;
	int64_t count = 0;
	void *window;

	if (pages > MOST_PAGES)
		return -1;
	window = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)from);
	if (window == MAP_FAILED)
		return -1;
	if (mincore(window, bytes, in_memory) < 0)
		count = -1;
	for (size_t i = 0; i < pages && count >= 0; i++)
		count += in_memory[i] & 1;
	munmap(window, bytes);
	return count;
}

double cache_resident(int fd, uint64_t from, uint64_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t window = (uint64_t)page * 4096; /* small enough for 32 bits of addresses */
	uint64_t end = from + bytes;
	int64_t resident = 0, pages = 0;
	struct stat s;

	from -= from % page;
	for (uint64_t at = from; at < end; at += window) {
		uint64_t left = end - at < window ? end - at : window;
		int64_t count = resident_pages(fd, at, (size_t)left, page);
		if (count < 0)
			return -1;
		resident += count;
		pages += (int64_t)((left + page - 1) / page);
	}
	if (resident == pages && fstat(fd, &s) == 0 && s.st_uid != geteuid())
		return -1;
	return pages ? (double)resident / (double)pages : 0;
}
