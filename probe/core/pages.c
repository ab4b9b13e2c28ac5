/* What the memory of processes is made of. See pages.h. */
#include "core/pages.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files.h"

enum { AREAS_MAX = 4096, PROCESSES_MAX = 4096, ENTRIES = 8192 };

/* What a sanitizer reserves for its shadow, say, is larger: looking through it would take minutes. */
#define LARGEST_AREA (UINT64_C(64) << 30)

/* Of an entry of pagemap, Documentation/admin-guide/mm/pagemap.rst. */
#define PRESENT (UINT64_C(1) << 63)
#define FRAME ((UINT64_C(1) << 55) - 1) /* 0 without the right to know it */

/* A range of private memory without a file. */
struct area {
	uint64_t begin, end;
	uint64_t rss, huge;
	bool may_be_huge;
};

static void path_of(char *path, size_t size, pid_t pid, const char *file)
{
	if (pid)
		snprintf(path, size, "/proc/%d/%s", (int)pid, file);
	else
		snprintf(path, size, "/proc/self/%s", file);
}

/* Whether a line of maps is that of memory whose pages can be the page of zeros: readable, private,
 * without a file or of /dev/zero; not the kernel's own (vdso, vvar), whose pages are no process's. */
static bool is_anonymous(const char *flags, unsigned long long inode, const char *name)
{
	if (flags[0] != 'r' || flags[3] != 'p')
		return false;
	if (name[0] == '[')
		return strncmp(name, "[v", 2) != 0 && strncmp(name, "[uprobes", 8) != 0;
	return inode == 0 || strcmp(name, "/dev/zero") == 0;
}

/* Reads smaps: the areas with what they have of their own. Returns their number or -errno. */
static int read_areas(pid_t pid, struct area *areas, uint64_t *rss, uint64_t *huge)
{
	char path[64], line[4352];
	struct area *area = NULL;
	int count = 0;
	FILE *file;

	*rss = *huge = 0;
	path_of(path, sizeof(path), pid, "smaps");
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		uint64_t begin, end, kib;
		unsigned long long inode;
		char flags[5];
		int name = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %llu %n", &begin, &end, flags,
			   &inode, &name) == 4) {
			line[strcspn(line, "\n")] = '\0';
			area = NULL;
			if (count < AREAS_MAX && end - begin <= LARGEST_AREA &&
			    is_anonymous(flags, inode, line + name)) {
				area = &areas[count++];
				*area = (struct area){.begin = begin, .end = end,
						      .may_be_huge = true};
			}
		} else if (sscanf(line, "Rss: %" SCNu64, &kib) == 1) {
			*rss += kib << 10;
			if (area)
				area->rss = kib << 10;
		} else if (sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1) {
			*huge += kib << 10;
			if (area)
				area->huge = kib << 10;
		} else if (sscanf(line, "THPeligible: %" SCNu64, &kib) == 1 && area) {
			area->may_be_huge = kib != 0;
		}
	}
	int error = ferror(file) ? EIO : 0;
	fclose(file);
	return error ? -error : count;
}

static uint64_t huge_page_bytes(void)
{
	int64_t bytes;

	if (file_number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", &bytes) < 0)
		return (uint64_t)sysconf(_SC_PAGESIZE); /* a kernel without huge pages */
	return (uint64_t)bytes;
}

/* The frames of the kernel's pages of zeros; 0 where they are not known, or not in use. */
struct frames {
	uint64_t small, huge, huge_count;
};

/* The frame of a page of ours that is read here and never written. */
static uint64_t frame_of(int pagemap, const volatile char *page)
{
	uint64_t entry = 0, number = (uint64_t)(uintptr_t)page / (uint64_t)sysconf(_SC_PAGESIZE);

	(void)*page;
	if (pread(pagemap, &entry, sizeof(entry), (off_t)(number * sizeof(entry))) != sizeof(entry))
		return 0;
	return entry & PRESENT ? entry & FRAME : 0;
}

/* Root is told which frames pages lie in. All pages of zeros are one, so those of ours tell which;
 * a huge one shows by two neighbours. */
static struct frames find_frames(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), huge = (size_t)huge_page_bytes();
	size_t size = 2 * huge + page;
	struct frames found = {.huge_count = huge / page};
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pagemap >= 0 && data != MAP_FAILED) {
		char *aligned = data + (huge - (uintptr_t)data % huge) % huge;
		uint64_t first, second;

		madvise(aligned, huge, MADV_HUGEPAGE);
		madvise(aligned + huge, page, MADV_NOHUGEPAGE);
		first = frame_of(pagemap, aligned);
		second = frame_of(pagemap, aligned + page);
		found.small = frame_of(pagemap, aligned + huge);
		found.huge = huge > page && first && second == first + 1 ? first : 0;
	}
	if (data != MAP_FAILED)
		munmap(data, size);
	if (pagemap >= 0)
		close(pagemap);
	return found;
}

struct present {
	uint64_t bytes;
	uint64_t zero_bytes; /* of those, in the frames of zeros */
	int error;
};

static struct present present_in(int pagemap, const struct area *area, const struct frames *zeros)
{
	static uint64_t entries[ENTRIES];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = area->begin / page, last = area->end / page;
	struct present found = {0};

	while (at < last) {
		size_t wanted = last - at < ENTRIES ? (size_t)(last - at) : ENTRIES;
		ssize_t n = pread(pagemap, entries, wanted * 8, (off_t)(at * 8));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			found.error = -errno;
		if (n <= 0)
			break; /* at 0 the process has ended */
		for (size_t i = 0; i < (size_t)n / 8; i++) {
			uint64_t frame = entries[i] & FRAME;
			if (!(entries[i] & PRESENT))
				continue;
			found.bytes += page;
			if ((zeros->small && frame == zeros->small) ||
			    (zeros->huge && frame - zeros->huge < zeros->huge_count))
				found.zero_bytes += page;
		}
		at += (size_t)n / 8;
	}
	return found;
}

/* The page faults of a process so far, those served from memory: field 10 of stat, after a name
 * that may hold anything. */
static uint64_t faults_of(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long faults;
	const char *rest;

	path_of(path, sizeof(path), pid, "stat");
	if (file_read(path, text, sizeof(text)) <= 0 || !(rest = strrchr(text, ')')) ||
	    sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %llu", &faults) != 1)
		return 0;
	return faults;
}

static const struct area *same_area(const struct area *areas, int count, const struct area *wanted)
{
	for (int i = 0; i < count; i++)
		if (areas[i].begin == wanted->begin && areas[i].end == wanted->end)
			return &areas[i];
	return NULL;
}

/* What is present and not its own, before or after; less what may have been written, counted as
 * present, and given back between the looks. */
static uint64_t zero_bytes(const struct area *before, const struct area *after, uint64_t present,
			   uint64_t faults)
{
	uint64_t own = before->rss > after->rss ? before->rss : after->rss;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t doubt = faults * (after->may_be_huge ? huge_page_bytes() : page);

	own += doubt;
	return present > own ? present - own : 0;
}

/* For those who are not told of frames. */
static int64_t compared(pid_t pid, const struct area *before, const struct present *present,
			int count, uint64_t faults_before)
{
	static struct area after[AREAS_MAX];
	uint64_t rss, huge, faults;
	int64_t sum = 0;
	int count_after = read_areas(pid, after, &rss, &huge);

	if (count_after <= 0)
		return count_after < 0 ? count_after : -ESRCH;
	faults = faults_of(pid) - faults_before;
	for (int i = 0; i < count; i++) {
		const struct area *now = same_area(after, count_after, &before[i]);
		if (now)
			sum += (int64_t)zero_bytes(&before[i], now, present[i].bytes, faults);
	}
	return sum;
}

int pages_of(pid_t pid, struct pages *pages)
{
	static struct area areas[AREAS_MAX];
	static struct present present[AREAS_MAX];
	struct frames zeros = find_frames();
	uint64_t rss, huge, faults = faults_of(pid);
	int64_t sum = 0;
	char path[64];
	int pagemap, count;

	path_of(path, sizeof(path), pid, "pagemap");
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		return -errno;
	count = read_areas(pid, areas, &rss, &huge);
	for (int i = 0; i < count; i++) {
		present[i] = present_in(pagemap, &areas[i], &zeros);
		sum += (int64_t)present[i].zero_bytes;
		if (present[i].error)
			count = present[i].error;
	}
	close(pagemap);
	if (count <= 0)
		return count < 0 ? count : -ESRCH; /* ended, and nobody has waited for it yet */
	if (!zeros.small)
		sum = compared(pid, areas, present, count, faults);
	if (sum < 0)
		return (int)sum;
	pages->zero_bytes += (uint64_t)sum;
	pages->rss_bytes += rss;
	pages->anon_huge_bytes += huge;
	return 0;
}

struct process {
	pid_t pid, parent;
	bool inside;
};

static int list_processes(struct process *list)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return -errno;
	while (count < PROCESSES_MAX && (entry = readdir(dir))) {
		char path[288], text[512];
		const char *rest;
		int parent;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if (file_read(path, text, sizeof(text)) <= 0 || !(rest = strrchr(text, ')')) ||
		    sscanf(rest + 1, " %*c %d", &parent) != 1)
			continue;
		list[count++] = (struct process){.pid = atoi(entry->d_name), .parent = parent};
	}
	closedir(dir);
	return count;
}

/* Marks the root and its descendants: each round those whose parent was marked, until none is. */
static void mark_tree(struct process *list, int count, pid_t root)
{
	bool more = true;

	for (int i = 0; i < count; i++)
		list[i].inside = list[i].pid == root;
	while (more) {
		more = false;
		for (int i = 0; i < count; i++)
			for (int k = 0; k < count && !list[i].inside; k++)
				if (list[k].inside && list[k].pid == list[i].parent)
					more = list[i].inside = true;
	}
}

int pages_of_tree(pid_t root, struct pages *pages)
{
	static struct process list[PROCESSES_MAX];
	int count = list_processes(list), seen = 0, error = -ESRCH;

	if (count < 0)
		return count;
	mark_tree(list, count, root);
	*pages = (struct pages){0};
	for (int i = 0; i < count; i++) {
		int status = list[i].inside ? pages_of(list[i].pid, pages) : -ESRCH;
		if (status == 0)
			seen++;
		else if (status != -ESRCH && status != -ENOENT)
			error = status;
	}
	return seen ? seen : error;
}

enum { FIRST_LOOK_NS = 2000000, LONGEST_PAUSE_NS = 500000000, SHARE = 4 };

void pages_watch_begin(struct pages_watch *watch, uint64_t now_ns)
{
	*watch = (struct pages_watch){.next_ns = now_ns + FIRST_LOOK_NS, .pause_ns = FIRST_LOOK_NS};
}

static void keep_larger(uint64_t *most, uint64_t seen)
{
	if (seen > *most)
		*most = seen;
}

void pages_watch_look(struct pages_watch *watch, pid_t root)
{
	uint64_t begin = clock_ns(), took;
	struct pages now = {0};
	int seen;

	if (begin < watch->next_ns)
		return;
	seen = pages_of_tree(root, &now);
	if (seen > 0) {
		watch->looks++;
		keep_larger(&watch->most.zero_bytes, now.zero_bytes);
		keep_larger(&watch->most.rss_bytes, now.rss_bytes);
		keep_larger(&watch->most.anon_huge_bytes, now.anon_huge_bytes);
	} else {
		watch->error = seen;
	}
	took = clock_ns() - begin;
	watch->pause_ns += watch->pause_ns / 2;
	if (watch->pause_ns > LONGEST_PAUSE_NS)
		watch->pause_ns = LONGEST_PAUSE_NS;
	if (watch->pause_ns < took * SHARE)
		watch->pause_ns = took * SHARE;
	watch->next_ns = begin + took + watch->pause_ns;
}

static void describe(struct json *j, const struct pages *pages, const char *na)
{
	const struct {
		const char *key;
		uint64_t bytes;
	} figures[] = {
		{"zero_page_bytes", pages->zero_bytes},
		{"rss_bytes", pages->rss_bytes},
		{"anon_huge_bytes", pages->anon_huge_bytes},
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (na)
			json_na(j, figures[i].key, na);
		else
			json_unsigned(j, figures[i].key, figures[i].bytes);
	}
}

static const char *reason_of(int error)
{
	switch (error) {
	case 0:
	case -ESRCH:
		return "it ended before it could be looked at";
	case -EACCES:
	case -EPERM:
		return "not permitted: its memory belongs to another user";
	case -ENOENT:
		return "this kernel has no pagemap (CONFIG_PROC_PAGE_MONITOR)";
	default:
		return errno_name(-error);
	}
}

void pages_watch_describe(const struct pages_watch *watch, struct json *j)
{
	describe(j, &watch->most, watch->looks ? NULL : reason_of(watch->error));
	json_unsigned(j, "looks", watch->looks);
}

/* Twice, as the first look touches the tables above, and its page faults are doubts. */
void pages_describe_own(struct json *j)
{
	struct pages first = {0}, own = {0};
	int error = pages_of(0, &first);

	if (error == 0)
		error = pages_of(0, &own);
	describe(j, &own, error ? reason_of(error) : NULL);
}
