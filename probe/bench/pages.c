/* os.page_fault and os.mmap. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/buffer.h"
#include "core/clock.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

static size_t page_size;

/* A huge page is one fault for hundreds of pages: none in this process, of whatever size. Kernels
 * without huge pages refuse. */
static void forbid_huge_pages(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

static int check_memory(const struct run *run)
{
	int64_t available = memory_available();
	uint64_t size = arg_number(&run->args, "size");

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	if (available >= 0 && size > (uint64_t)available / 10 * 9)
		return json_error(77, ENOMEM, "%s: size=%s is more than the memory that can be "
					      "had: choose a smaller one", run->benchmark->id,
				  arg_text(&run->args, "size"));
	return 0;
}

static void write_pages(char *data, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		*(volatile char *)(data + i * page_size) = 1;
}

static void read_pages(const char *data, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		(void)*(const volatile char *)(data + i * page_size);
}

/* --- os.page_fault --------------------------------------------------------------------------- */

struct faults {
	char *data;
	size_t mapped;
	size_t pages;
	int file;
	bool reads;
	long taken; /* faults of the batch last measured */
};

static long faults_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* A file that lies in memory alone. Where memory may not be executed the seal is demanded; kernels
 * before 6.3 do not know it. */
static int memory_file(void)
{
	int fd = (int)syscall(SYS_memfd_create, "bvprobe", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_memfd_create, "bvprobe", MFD_CLOEXEC);
	return fd;
}

/* Gives the file its pages by a mapping, as a write(2) might be served with huge ones. */
static bool fill_file(const struct faults *f)
{
	char *data;

	if (f->file < 0 || ftruncate(f->file, (off_t)f->mapped) < 0)
		return false;
	data = mmap(NULL, f->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
	if (data == MAP_FAILED)
		return false;
	write_pages(data, f->pages);
	munmap(data, f->mapped);
	return true;
}

static int setup_faults(struct run *run)
{
	struct faults *f = calloc(1, sizeof(*f));
	bool in_file = !arg_is(&run->args, "kind", "anonymous");
	int status = check_memory(run);

	run->state = f;
	if (!f)
		return json_error(1, ENOMEM, "os.page_fault: no memory");
	f->file = -1;
	if (status)
		return status;
	forbid_huge_pages();
	f->reads = arg_is(&run->args, "kind", "file");
	f->pages = (size_t)((arg_number(&run->args, "size") + page_size - 1) / page_size);
	f->mapped = f->pages * page_size;
	if (in_file)
		f->file = memory_file();
	if (in_file && !fill_file(f))
		return json_error(77, errno, "os.page_fault: kind=%s needs a file in memory "
					     "(memfd_create), which this system does not give: "
					     "kind=anonymous needs none",
				  arg_text(&run->args, "kind"));
	f->data = mmap(NULL, f->mapped, f->reads ? PROT_READ : PROT_READ | PROT_WRITE,
		       (f->reads ? MAP_SHARED : MAP_PRIVATE) | (in_file ? 0 : MAP_ANONYMOUS),
		       f->file, 0);
	if (f->data != MAP_FAILED)
		return 0;
	f->data = NULL;
	return json_error(77, errno, "os.page_fault: no memory for size=%s: choose a smaller one",
			  arg_text(&run->args, "size"));
}

/* Pages are taken away again between the parts that are timed. */
static int batch_faults(struct run *run, uint64_t iterations)
{
	struct faults *f = run->state;

	f->taken = 0;
	run->elapsed_ns = 0;
	while (iterations > 0) {
		size_t pages = iterations < f->pages ? (size_t)iterations : f->pages;
		long before = faults_so_far();
		uint64_t begin = clock_ns();

		if (f->reads)
			read_pages(f->data, pages);
		else
			write_pages(f->data, pages);
		run->elapsed_ns += clock_ns() - begin;
		f->taken += faults_so_far() - before;
		if (madvise(f->data, f->mapped, MADV_DONTNEED) < 0)
			return json_error(77, errno, "os.page_fault: this kernel takes no pages "
						     "back (CONFIG_ADVISE_SYSCALLS)");
		iterations -= pages;
	}
	return 0;
}

static void detail_faults(const struct run *run, struct json *j)
{
	const struct faults *f = run->state;

	json_number(j, "faults_per_page", (double)f->taken / (double)run->iterations);
}

static void teardown_faults(struct run *run)
{
	struct faults *f = run->state;

	if (f && f->data)
		munmap(f->data, f->mapped);
	if (f && f->file >= 0)
		close(f->file);
	free(f);
}

static const struct param faults_params[] = {
	{"kind", PARAM_CHOICE, "anonymous", 0, 0, "anonymous file copy",
	 "anonymous: a first write, the kernel gives a page of zeros; file: a read of a file that is "
	 "in the page cache; copy: a write to a private mapping of such a file, the kernel copies "
	 "the page"},
	{"size", PARAM_SIZE, "1M", 4096, 1 << 30, NULL,
	 "pages touched, in order, before they are given back"},
	{0},
};

static const struct figure faults_figures[] = {
	{"faults_per_page", "1", "", "median",
	 "faults that the kernel took for a page; under 1 where it maps neighbours too"},
	{NULL, NULL, NULL, NULL, NULL},
};

const struct benchmark os_page_fault = {
	.id = "os.page_fault",
	.summary = "how long it takes until a page is there that was not",
	.unit = "ns",
	.better = "lower",
	.counted = "a page (host.page_size) touched for the first time",
	.method = "one access a page in ascending order, in base pages; the pages are given back "
		  "between the parts that are timed; the file lies in memory (memfd)",
	.pitfalls = "a fault on a file maps up to 16 pages at once (fault-around), so a page is "
		    "cheaper than a fault: faults_per_page tells; pages just given back are still "
		    "in the caches, a larger size has them cold; clearing the page is most of "
		    "kind=anonymous",
	.not_measured = "huge pages, which are switched off here; reading from a disk; page tables, "
			"which are there already (os.mmap makes them)",
	.reference = "a loop over mmap'ed pages: within 10 %; lat_pagefault takes pages of a file in "
		"random order",
	.params = faults_params,
	.figures = faults_figures,
	.faults = true,
	.setup = setup_faults,
	.batch = batch_faults,
	.value = value_ns_per_iteration,
	.detail = detail_faults,
	.teardown = teardown_faults,
};

/* --- os.mmap --------------------------------------------------------------------------------- */

struct mappings {
	size_t size;
	size_t touched; /* pages */
};

static bool map_and_unmap(const struct mappings *m)
{
	char *data = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		return false;
	write_pages(data, m->touched);
	return munmap(data, m->size) == 0;
}

static int no_mapping(const struct run *run)
{
	return json_error(77, errno, "os.mmap: cannot map size=%s: choose a smaller one",
			  arg_text(&run->args, "size"));
}

static int setup_mmap(struct run *run)
{
	struct mappings *m = calloc(1, sizeof(*m));
	int status = check_memory(run);

	run->state = m;
	if (!m)
		return json_error(1, ENOMEM, "os.mmap: no memory");
	if (status)
		return status;
	forbid_huge_pages();
	m->size = (size_t)arg_number(&run->args, "size");
	m->touched = arg_is(&run->args, "touch", "none")    ? 0
		     : arg_is(&run->args, "touch", "first") ? 1
							    : (m->size + page_size - 1) / page_size;
	return map_and_unmap(m) ? 0 : no_mapping(run);
}

static int batch_mmap(struct run *run, uint64_t iterations)
{
	const struct mappings *m = run->state;
	uint64_t begin = clock_ns();

	while (iterations--)
		if (!map_and_unmap(m))
			return no_mapping(run);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static void teardown_mmap(struct run *run)
{
	free(run->state);
}

static const struct param mmap_params[] = {
	{"size", PARAM_SIZE, "1M", 4096, 1 << 30, NULL, "bytes of the mapping"},
	{"touch", PARAM_CHOICE, "first", 0, 0, "none first all",
	 "pages to write, and then the mapping is removed"},
	{0},
};

const struct benchmark os_mmap = {
	.id = "os.mmap",
	.summary = "how long it takes to map memory, touch it and give it back",
	.unit = "ns",
	.better = "lower",
	.counted = "a mapping of the whole size: mmap, the writes asked for, munmap",
	.method = "private anonymous memory in base pages, mapped, written and unmapped, over and "
		  "over",
	.pitfalls = "touch decides: none is two system calls; first adds a fault and the page "
		    "tables; all grows with size, most of it the clearing of pages",
	.not_measured = "files; huge pages, which are switched off here; what unmapping costs the "
			"other CPUs of a process with many threads",
	.reference = "a loop of mmap and munmap: within 10 %; stress-ng and lat_mmap map files",
	.params = mmap_params,
	.faults = true,
	.setup = setup_mmap,
	.batch = batch_mmap,
	.value = value_ns_per_iteration,
	.teardown = teardown_mmap,
};
