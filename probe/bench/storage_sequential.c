/* storage.read and storage.write: one block after the other. */
#include <errno.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/storage.h"
#include "bench/storage_cache.h"

static int batch(struct run *run, uint64_t iterations)
{
	return storage_batch(run, iterations);
}

/* --- reading --------------------------------------------------------------------------------- */

static int warm_cache(struct run *run)
{
	struct storage *s = run->state;
	int error = io_run(&s->io, s->io.blocks);
	double resident;

	if (error)
		return target_failed(run, &s->target, error, "reading");
	resident = cache_resident(s->io.fd, 0, s->target.area);
	if (resident >= 0 && resident < 0.99)
		return json_error(77, ENOMEM, "storage.read: only %d %% of %llu MiB stays in the page "
					      "cache: choose a smaller size for mode=cached",
				  (int)(resident * 100), (unsigned long long)(s->target.area >> 20));
	return 0;
}

static int setup_read(struct run *run)
{
	bool cached = arg_is(&run->args, "mode", "cached");
	bool direct = arg_is(&run->args, "mode", "direct");
	struct target_use use = {.filled = true,
			    .direct = direct,
			    .area = arg_number(&run->args, "size"),
			    .block = arg_number(&run->args, "block")};
	int status = storage_open(run, &use);
	struct storage *s = run->state;

	if (status)
		return status;
	s->io.depth = (uint32_t)arg_number(&run->args, "depth");
	s->drop_all = arg_is(&run->args, "drop", "all");
	s->cache = cached ? "warm: all of it was read before"
		   : direct ? "bypassed by O_DIRECT"
		   : s->drop_all ? "emptied before each batch, of the whole system (drop_caches)"
				 : "emptied before each batch, of this file (POSIX_FADV_DONTNEED)";
	status = storage_start(run, arg_text(&run->args, "engine"));
	if (status)
		return status;
	if (cached) {
		run->counted = "read, from the page cache: nothing comes from the device";
		run_caveat(run, "measures memory and CPU, not the device: all that is read lies in the "
				"page cache");
		return warm_cache(run);
	}
	if (direct) {
		run->counted = "read from the device, past the page cache";
		return 0;
	}
	/* a second pass would find in the cache what the first has read */
	run->most_iterations = s->io.blocks;
	return storage_begin_cold(run);
}

static const struct param read_params[] = {
	FILE_PARAM,
	DEVICE_PARAM,
	{"mode", PARAM_CHOICE, "buffered", 0, 0, "buffered direct cached",
	 "buffered: through the page cache, which is empty (with the kernel's read-ahead); direct: "
	 "past it (O_DIRECT); cached: from a full page cache"},
	{"block", PARAM_SIZE, "1M", 512, BLOCK_MAX, NULL, "bytes of one read"},
	{"size", PARAM_SIZE, "128M", 4096, 1ull << 44, NULL,
	 "bytes read over, in order and again from the beginning, a multiple of block; a file of ours "
	 "is written first (once in a session)"},
	{"depth", PARAM_INTEGER, "1", 1, DEPTH_MAX, NULL, "reads at a time"},
	ENGINE_PARAM,
	{"drop", PARAM_CHOICE, "file", 0, 0, "file all",
	 "what is dropped before each batch when mode=buffered: the pages of this file, or all "
	 "clean pages and file-system metadata of the system (takes root, slows everything else "
	 "for a while)"},
	{0},
};

static const struct initial sequential_initials[] = {{"batches", "7"}, {"batch_ms", "250"}, {0}};

static const struct figure read_figures[] = {TRAFFIC_FIGURES, RESIDENT_FIGURE, {0}};

const struct benchmark storage_read = {
	.id = "storage.read",
	.summary = "how fast a file or a device is read from beginning to end",
	.unit = "B/s",
	.better = "higher",
	.counted = "read from the device, through the page cache",
	.method = "reads block after block of a file of random bytes and goes on where the batch "
		  "before ended; buffered, the file's pages are dropped before each batch and the "
		  "kernel is asked whether they are gone",
	.pitfalls = "a page cache that is not empty measures memory (metric resident; mode=cached "
		    "does it on purpose); buffered reads go with the kernel's read-ahead, which keeps "
		    "several requests going, so they may beat direct reads at depth 1: state mode, "
		    "block and depth with every value; the cache of a drive or of a virtual "
		    "machine's host cannot be emptied from here, and a virtual machine that gave free "
		    "memory back fills its page cache several times slower at first; a fresh file says "
		    "little about one that was overwritten many times",
	.not_measured = "random access (storage.random_read); finding and opening files; other parts "
			"of the device than those that the file lies on",
	.reference = "within 5 %: fio rw=read direct=1 with the same bs, size and iodepth; dd "
		"iflag=direct; hdparm -t DEVICE is mode=buffered,block=2M,device=DEVICE and prints MiB "
		"as MB; hdparm -T is mode=cached,block=2M,size=2M, but also touches what it has "
		"read and shows up to a fifth less; dd after drop_caches is mode=buffered",
	.params = read_params,
	.initials = sequential_initials,
	.figures = read_figures,
	.loads_others = true,
	.blocks = true,
	.setup = setup_read,
	.batch = batch,
	.value = storage_bytes_per_second,
	.describe = storage_describe,
	.detail = storage_detail,
	.teardown = storage_teardown,
};

/* --- writing --------------------------------------------------------------------------------- */

static int setup_write(struct run *run)
{
	bool direct = arg_is(&run->args, "sync", "direct");
	bool flush = arg_is(&run->args, "sync", "fdatasync");
	uint64_t cap = arg_number(&run->args, "cap");
	uint64_t batches = arg_number(&run->args, "batches");
	struct target_use use = {.write = true,
			    .direct = direct,
			    .area = arg_number(&run->args, "size"),
			    .block = arg_number(&run->args, "block")};
	struct storage *s;
	int status;

	if (batches > cap / use.area)
		return json_error(2, E2BIG, "storage.write: %llu batches of %llu bytes are more than "
					    "cap=%s, which spares memory cards: choose fewer batches, a "
					    "smaller size or a larger cap",
				  (unsigned long long)batches, (unsigned long long)use.area,
				  arg_text(&run->args, "cap"));
	status = storage_open(run, &use);
	s = run->state;
	if (status)
		return status;
	s->most_written += batches * s->target.area + (direct ? use.block : 0);
	s->flush = flush ? fdatasync : NULL;
	s->cache = flush    ? "written through it, and out to the device within the batch (fdatasync)"
		   : direct ? "bypassed by O_DIRECT"
			    : "written into it, and no further";
	if (direct) {
		run->counted = "written, past the page cache";
		run_caveat(run, "the device was not asked to write out its own cache: what is counted "
				"may not have reached flash or disk");
	} else if (!flush) {
		run->counted = "written into the page cache";
		run_caveat(run, "measures memory and CPU rather than the device: nothing waits until "
				"the data has left the page cache");
	}
	run->most_iterations = 1; /* all of the area: how much it is decides the figure */
	return storage_start(run, "sync");
}

/* Each batch writes the file anew, as dd does. What the batch before has left must be out. */
static int batch_write(struct run *run, uint64_t iterations)
{
	struct storage *s = run->state;

	if (s->target.kind == TARGET_OWN &&
	    (ftruncate(s->io.fd, 0) < 0 || fsync(s->io.fd) < 0))
		return target_failed(run, &s->target, -errno, "emptying");
	return storage_batch(run, iterations * s->io.blocks);
}

static const struct param write_params[] = {
	FILE_PARAM,
	DEVICE_PARAM,
	OVERWRITE_PARAM,
	{"sync", PARAM_CHOICE, "fdatasync", 0, 0, "fdatasync none direct",
	 "fdatasync: once at the end of each batch, within its time; none: into the page cache "
	 "only; direct: past the page cache (O_DIRECT), without a flush"},
	{"block", PARAM_SIZE, "1M", 512, BLOCK_MAX, NULL, "bytes of one write"},
	{"size", PARAM_SIZE, "32M", 4096, 1ull << 40, NULL,
	 "bytes of a batch: the file is written anew each time, a device from its beginning"},
	{"cap", PARAM_SIZE, "512M", 4096, 1ull << 44, NULL,
	 "most bytes that a process writes, as flash wears: more than this is refused"},
	{0},
};

static const struct initial write_initials[] = {{"batches", "4"}, {0}};

static const struct figure write_figures[] = {TRAFFIC_FIGURES, {0}};

const struct benchmark storage_write = {
	.id = "storage.write",
	.summary = "how fast a file is written, and how long until it is on the device",
	.unit = "B/s",
	.better = "higher",
	.counted = "written, and flushed to the device",
	.method = "writes `size` random bytes to an empty file, block after block, and flushes it "
		  "(fdatasync) before the clock is stopped; the file is emptied, and that is flushed, "
		  "between batches",
	.pitfalls = "without a flush (sync=none) it measures memory; zeros are compressed by some "
		    "drives and file systems, so the data is random and no sector is like another; "
		    "size decides: small ones fit a drive's fast cache (SLC, DRAM), which is full after "
		    "some gigabytes; a full or worn card is slower; every run wears flash "
		    "(begin.storage.most_bytes_written)",
	.not_measured = "overwriting (storage.random_write); sustained writing beyond a drive's cache, "
			"unless size asks for it; what the kernel's own threads cost in CPU time",
	.reference = "within 30 %: dd bs=1M conv=fdatasync from a file of random bytes in the page cache",
	.params = write_params,
	.initials = write_initials,
	.figures = write_figures,
	.loads_others = true,
	.blocks = true,
	.setup = setup_write,
	.batch = batch_write,
	.value = storage_bytes_per_second,
	.describe = storage_describe,
	.detail = storage_detail,
	.teardown = storage_teardown,
};
