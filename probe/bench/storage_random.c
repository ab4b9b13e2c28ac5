/* storage.random_read and storage.random_write: small blocks in random order. */
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/storage.h"

static int batch(struct run *run, uint64_t iterations)
{
	return storage_batch(run, iterations);
}

/* What both have in common, up to the engine. */
static int open_random(struct run *run, bool write)
{
	struct target_use use = {.write = write,
			    .filled = true,
			    .direct = arg_is(&run->args, "mode", "direct"),
			    .area = arg_number(&run->args, "size"),
			    .block = arg_number(&run->args, "block")};
	int status = storage_open(run, &use);
	struct storage *s = run->state;

	if (status)
		return status;
	s->io.random = true;
	s->io.timed = true;
	s->io.depth = (uint32_t)arg_number(&run->args, "depth");
	s->io.seed = arg_number(&run->args, "seed");
	return 0;
}

static int setup_read(struct run *run)
{
	int status = open_random(run, false);
	struct storage *s = run->state;

	if (status)
		return status;
	status = storage_start(run, arg_text(&run->args, "engine"));
	if (status)
		return status;
	s->cache = "bypassed by O_DIRECT";
	if (s->target.direct)
		return 0;
	s->cache = "emptied before each batch, of this file (POSIX_FADV_DONTNEED)";
	run->counted = "reads through the page cache";
	run->most_iterations = s->io.blocks; /* no block is read twice in a batch */
	return storage_begin_cold(run);
}

static const struct param read_params[] = {
	FILE_PARAM,
	DEVICE_PARAM,
	{"mode", PARAM_CHOICE, "direct", 0, 0, "direct buffered",
	 "direct: past the page cache (O_DIRECT); buffered: through it, empty before each batch, "
	 "and without read-ahead (POSIX_FADV_RANDOM)"},
	{"block", PARAM_SIZE, "4K", 512, BLOCK_MAX, NULL, "bytes of one read"},
	{"depth", PARAM_INTEGER, "1", 1, DEPTH_MAX, NULL, "reads at a time (queue depth)"},
	{"size", PARAM_SIZE, "128M", 4096, 1ull << 44, NULL,
	 "bytes of the area that is read in; a file of ours is written first (once in a session)"},
	ENGINE_PARAM,
	SEED_PARAM,
	{0},
};

static const struct initial initials[] = {{"batches", "7"}, {"batch_ms", "250"}, {0}};

static const struct figure read_figures[] = {
	LATENCY_FIGURES, TRAFFIC_FIGURES, RESIDENT_FIGURE, {0},
};

const struct benchmark storage_random_read = {
	.id = "storage.random_read",
	.summary = "how many small blocks a second are read in random order (IOPS), and how long each "
		   "takes",
	.unit = "1/s",
	.better = "higher",
	.counted = "reads, past the page cache",
	.method = "keeps `depth` reads of one block going, in an order in which each block of the area "
		  "comes once before any comes again; each read is timed from being asked for to being "
		  "seen done",
	.pitfalls = "depth decides: at 1 it is the latency that counts, at 32 what the device does side "
		    "by side; size decides: within a small area a drive's own cache and its map of "
		    "blocks answer sooner; percentiles of a batch contain only what happened in it "
		    "(p99.9 takes 1000 reads); the host's cache answers for a virtual disk",
	.not_measured = "reads that the page cache answers; reading in order (storage.read); mixed "
			"reading and writing",
	.reference = "within 5 %: fio rw=randread direct=1 with the same bs, size and iodepth (ioengine "
		"psync at 1, io_uring beyond)",
	.params = read_params,
	.initials = initials,
	.figures = read_figures,
	.loads_others = true,
	.blocks = true,
	.setup = setup_read,
	.batch = batch,
	.value = storage_operations_per_second,
	.describe = storage_describe,
	.detail = storage_detail,
	.teardown = storage_teardown,
};

static int setup_write(struct run *run)
{
	bool each = arg_is(&run->args, "sync", "each");
	bool end = arg_is(&run->args, "sync", "end");
	int status = storage_keep_to_cap(run);
	struct storage *s;

	if (status == 0)
		status = open_random(run, true);
	if (status)
		return status;
	s = run->state;
	s->most_written += arg_number(&run->args, "cap");
	s->io.flush = each ? fdatasync : NULL;
	s->flush = end ? fdatasync : NULL;
	s->cache = s->target.direct ? "bypassed by O_DIRECT"
		   : each ? "written through it, and out to the device with each write (fdatasync)"
		   : end  ? "written through it, and out to the device within the batch (fdatasync)"
			  : "written into it, and no further";
	if (each)
		run->counted = "writes, each flushed to the device";
	else if (!end)
		run->counted = "writes, not flushed";
	if (!each && !end)
		run_caveat(run, s->target.direct
					? "the device was not asked to write out its own cache: what is "
					  "counted may not have reached flash or disk"
					: "measures memory and CPU rather than the device: nothing waits "
					  "until the data has left the page cache");
	return storage_start(run, arg_text(&run->args, "engine"));
}

static const struct param write_params[] = {
	FILE_PARAM,
	DEVICE_PARAM,
	OVERWRITE_PARAM,
	{"mode", PARAM_CHOICE, "direct", 0, 0, "direct buffered",
	 "direct: past the page cache (O_DIRECT); buffered: through it"},
	{"sync", PARAM_CHOICE, "end", 0, 0, "end each none",
	 "fdatasync: once at the end of each batch, within its time; after each write; or not at all"},
	{"block", PARAM_SIZE, "4K", 512, BLOCK_MAX, NULL, "bytes of one write"},
	{"depth", PARAM_INTEGER, "1", 1, DEPTH_MAX, NULL, "writes at a time (queue depth)"},
	{"size", PARAM_SIZE, "64M", 4096, 1ull << 44, NULL,
	 "bytes of the area that is written in; a file of ours is written whole first (once in a "
	 "session)"},
	ENGINE_PARAM,
	SEED_PARAM,
	{"cap", PARAM_SIZE, "128M", 4096, 1ull << 44, NULL,
	 "most bytes that a process writes, as flash wears, besides making the file: batches are made "
	 "so short that this holds"},
	{0},
};

const struct benchmark storage_random_write = {
	.id = "storage.random_write",
	.summary = "how many small blocks a second are overwritten in random order (IOPS), and how "
		   "long each takes",
	.unit = "1/s",
	.better = "higher",
	.counted = "writes, flushed to the device at the end",
	.method = "keeps `depth` writes of one block of random bytes going over an "
		  "initialised area, in an order in which each block comes once before any comes again; "
		  "each write is timed from being asked for to being seen done",
	.pitfalls = "a drive's own write cache answers at first and is slower when full: only "
		    "sync=each waits for the medium with every write; depth and size decide; memory "
		    "cards erase whole megabytes to write 4 KiB, so the value can fall a hundredfold "
		    "outside the range that they keep open, and every run wears them",
	.not_measured = "writing new files (storage.write); a commit as of a database "
			"(storage.fsync); a drive's steady state after hours of writing",
	.reference = "within 30 %: fio rw=randwrite direct=1 overwrite=1 end_fsync=1 with the same bs, size "
		"and iodepth",
	.params = write_params,
	.initials = initials,
	.figures = write_latency_figures,
	.loads_others = true,
	.blocks = true,
	.setup = setup_write,
	.batch = batch,
	.value = storage_operations_per_second,
	.describe = storage_describe,
	.detail = storage_detail,
	.teardown = storage_teardown,
};
