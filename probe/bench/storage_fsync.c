/* storage.fsync: how often a second something can be put to the device for sure. */
#include <errno.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/storage.h"

static int setup(struct run *run)
{
	bool append = arg_is(&run->args, "write", "append");
	uint64_t block = arg_number(&run->args, "block");
	int status = storage_keep_to_cap(run);
	uint64_t area = append ? run->most_iterations * block : arg_number(&run->args, "size");
	struct target_use use = {.write = true, .filled = !append, .area = area, .block = block};
	struct storage *s;

	if (status == 0 && append && !arg_is(&run->args, "device", "none"))
		status = json_error(2, EINVAL, "storage.fsync: a device does not grow: write=append is "
					       "for files");
	if (status == 0)
		status = storage_open(run, &use);
	if (status)
		return status;
	s = run->state;
	s->most_written += arg_number(&run->args, "cap");
	s->io.timed = true;
	s->io.flush = arg_is(&run->args, "call", "fsync") ? fsync : fdatasync;
	s->cache = "written through it, and out to the device with each write";
	return storage_start(run, "sync");
}

static int batch(struct run *run, uint64_t iterations)
{
	struct storage *s = run->state;

	if (arg_is(&run->args, "write", "append")) {
		if (ftruncate(s->io.fd, 0) < 0 || fsync(s->io.fd) < 0)
			return target_failed(run, &s->target, -errno, "emptying");
		s->io.next = 0;
	}
	return storage_batch(run, iterations);
}

static const struct param params[] = {
	FILE_PARAM,
	DEVICE_PARAM,
	OVERWRITE_PARAM,
	{"call", PARAM_CHOICE, "fdatasync", 0, 0, "fdatasync fsync",
	 "fdatasync leaves out what is not needed to read the data again (time stamps)"},
	{"write", PARAM_CHOICE, "overwrite", 0, 0, "overwrite append",
	 "overwrite: blocks that the file has already; append: at its end, so that the file system "
	 "writes its own records too"},
	{"block", PARAM_SIZE, "4K", 512, BLOCK_MAX, NULL, "bytes of one write"},
	{"size", PARAM_SIZE, "4M", 4096, 1ull << 40, NULL,
	 "bytes that are overwritten in order, again from the beginning"},
	{"cap", PARAM_SIZE, "64M", 4096, 1ull << 44, NULL,
	 "most bytes that a process writes, as flash wears: batches are made so short that this holds "
	 "(the file system's own records come on top)"},
	{0},
};

static const struct initial initials[] = {{"batches", "7"}, {"batch_ms", "250"}, {0}};

const struct benchmark storage_fsync = {
	.id = "storage.fsync",
	.summary = "how many small writes a second can be made sure of, one after the other",
	.unit = "1/s",
	.better = "higher",
	.counted = "a write and its flush",
	.method = "writes a block of random bytes and calls fdatasync before the next, as a database "
		  "or a log does with each commit",
	.pitfalls = "drives that only pretend to flush are tens of times faster and lose data when "
		    "power goes; file system and its mount options (journal, barriers, sync) decide as "
		    "much as the device; in a virtual machine the host decides what a flush means",
	.not_measured = "commits of several programs at a time, which are flushed together; whether "
			"data outlives a power cut",
	.reference = "fio rw=write bs=4k overwrite=1 fdatasync=1: within 30 %; pg_test_fsync overwrites "
		"blocks of 8 KiB",
	.params = params,
	.initials = initials,
	.figures = write_latency_figures,
	.loads_others = true,
	.blocks = true,
	.setup = setup,
	.batch = batch,
	.value = storage_operations_per_second,
	.describe = storage_describe,
	.detail = storage_detail,
	.teardown = storage_teardown,
};
