/* What the storage benchmarks share. See storage.h. */
#include "bench/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/storage_cache.h"
#include "core/clock.h"

const char file_summary[] =
	"where: a directory (a file of ours is made in it, and goes away), or a file that is there, "
	"which is only ever read; auto: the first of the probe's own directory, /var/tmp, HOME and "
	"/tmp that is on storage and not in memory (begin.storage.chosen)";
const char device_summary[] =
	"instead of a file, a block device (/dev/…), from its beginning; beneath: the one that the "
	"directory of file= lies on, to read; none";

const struct figure write_latency_figures[] = {LATENCY_FIGURES, TRAFFIC_FIGURES, {0}};

/* --- setting up ------------------------------------------------------------------------------ */

int storage_open(struct run *run, const struct target_use *use)
{
	struct storage *s = calloc(1, sizeof(*s));
	int status;

	run->state = s;
	if (!s)
		return json_error(1, ENOMEM, "%s: no memory", run->benchmark->id);
	s->target.fd = s->target.directory = -1;
	if (use->area % use->block)
		return json_error(2, EINVAL, "%s: size is no multiple of block", run->benchmark->id);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error to tell */
	status = target_open(run, &s->target, use);
	if (medium_backing_is_cached(&s->target.medium))
		run_caveat(run, "lies on a loop device without direct I/O: the page cache of its backing "
				"file serves what is read and takes what is not flushed, so this may be the "
				"speed of memory (losetup --direct-io=on)");
	s->io.fd = s->target.fd;
	s->io.write = use->write;
	s->io.block = use->block;
	s->io.blocks = s->target.area / use->block;
	s->io.depth = 1;
	s->most_written = s->target.prepared;
	return status;
}

int storage_start(struct run *run, const char *engine)
{
	const char *id = run->benchmark->id;
	struct storage *s = run->state;
	uint32_t depth = s->io.depth;
	int error;

	if (depth * s->io.block > 64u << 20)
		return json_error(2, EINVAL, "%s: depth times block is more than 64 MiB: choose less",
				  id);
	posix_fadvise(s->io.fd, 0, 0, s->io.random ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
	error = io_open(&s->io, engine);
	if (error == -EINVAL)
		return json_error(2, EINVAL, "%s: engine=%s cannot do that: sync does one operation at "
					     "a time, and io_uring does not flush after each", id, engine);
	if (error)
		return json_error(77, -error, "%s: engine=%s is not possible here (engine=auto takes "
					      "what is)", id, engine);
	return 0;
}

static int drop(struct run *run)
{
	struct storage *s = run->state;
	int error = cache_drop(s->io.fd, s->target.area, s->drop_all);

	if (error == 0)
		return 0;
	if (s->drop_all)
		return json_error(77, -error, "%s: drop=all takes root and /proc/sys/vm/drop_caches",
				  run->benchmark->id);
	return target_failed(run, &s->target, error, "emptying the page cache");
}

int storage_begin_cold(struct run *run)
{
	struct storage *s = run->state;
	double resident;
	int status;

	s->cold = true;
	status = drop(run);
	if (status)
		return status;
	resident = cache_resident(s->io.fd, 0, s->target.area);
	if (resident > 0.05)
		return json_error(77, EBUSY, "%s: %d %% of %s stays in the page cache (another program "
					     "has it mapped?): choose mode=direct, or another file",
				  run->benchmark->id, (int)(resident * 100), s->target.path);
	return 0;
}

uint64_t storage_most_iterations(const struct run *run, uint64_t cap, uint64_t block)
{
	/* Calibration doubles up to a size below the largest, each size at most twice (4), then tries
	 * at most four sizes below it, and a last one, each twice (10). */
	enum { CALIBRATION = 14 };

	return cap / block / (arg_number(&run->args, "batches") + CALIBRATION);
}

int storage_keep_to_cap(struct run *run)
{
	run->most_iterations = storage_most_iterations(run, arg_number(&run->args, "cap"),
						       arg_number(&run->args, "block"));
	if (run->most_iterations)
		return 0;
	return json_error(2, E2BIG, "%s: so many batches of even one write could be more than cap=%s: "
				    "choose fewer batches or a larger cap", run->benchmark->id,
			  arg_text(&run->args, "cap"));
}

/* --- a batch --------------------------------------------------------------------------------- */

/* All threads of the process, io_uring's workers too (since 5.12). */
static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int storage_batch(struct run *run, uint64_t count)
{
	struct storage *s = run->state;
	int64_t traffic;
	double cpu;
	uint64_t begin;
	int error = s->cold ? drop(run) : 0;

	if (error)
		return error;
	/* a cold batch in random order must not meet what it has read itself in the order before */
	if (s->cold && s->io.random && s->io.next % s->io.blocks + count > s->io.blocks)
		s->io.next += s->io.blocks - s->io.next % s->io.blocks;
	s->resident = s->io.write ? -1 : cache_resident(s->io.fd, 0, s->target.area);
	io_latencies_clear(&s->io);
	traffic = medium_traffic(&s->target.medium);
	cpu = cpu_seconds();
	begin = clock_ns();
	error = io_run(&s->io, count);
	if (error == 0 && s->flush && s->flush(s->io.fd) < 0)
		error = -errno;
	run->elapsed_ns = clock_ns() - begin;
	s->cpu_s = cpu_seconds() - cpu;
	s->device_bytes = traffic < 0 ? traffic : medium_traffic(&s->target.medium) - traffic;
	s->bytes = count * s->io.block;
	return error ? target_failed(run, &s->target, error, s->io.write ? "writing" : "reading") : 0;
}

double storage_bytes_per_second(const struct run *run)
{
	const struct storage *s = run->state;

	return (double)s->bytes / (double)run->elapsed_ns * 1e9;
}

double storage_operations_per_second(const struct run *run)
{
	return (double)run->iterations / (double)run->elapsed_ns * 1e9;
}

/* --- telling --------------------------------------------------------------------------------- */

static const char *origin(const struct target *t)
{
	if (t->kind == TARGET_DEVICE)
		return "a device";
	if (t->kind == TARGET_FOREIGN)
		return "a file that was there";
	if (t->kept)
		return "our own file, written by an earlier process of this session";
	return t->prepared ? "our own file, written by this process beforehand"
			   : "our own file, new";
}

void storage_describe(const struct run *run, struct json *j)
{
	const struct storage *s = run->state;
	const struct target *t = &s->target;

	json_open(j, "storage", '{');
	json_string(j, "path", t->path);
	if (t->chosen[0])
		json_string(j, "chosen", t->chosen);
	json_string(j, "origin", origin(t));
	json_unsigned(j, "area_bytes", t->area);
	json_string(j, "cache", s->cache);
	json_string(j, "engine", s->io.engine->name);
	if (s->io.why[0])
		json_string(j, "engine_reason", s->io.why);
	json_unsigned(j, "most_bytes_written", s->most_written);
	if (t->kind == TARGET_DEVICE)
		json_na(j, "free_bytes", "a device, not a file");
	else
		json_unsigned(j, "free_bytes", room_for_files(t->fd));
	medium_describe(&t->medium, j);
	json_close(j, '}');
}

static void describe_latencies(const struct latencies *l, struct json *j)
{
	latencies_describe(l, j, "p50_ns", 500);
	latencies_describe(l, j, "p95_ns", 950);
	latencies_describe(l, j, "p99_ns", 990);
	latencies_describe(l, j, "p999_ns", 999);
	json_unsigned(j, "max_ns", l->max_ns);
}

void storage_detail(const struct run *run, struct json *j)
{
	struct storage *s = run->state;

	if (s->io.timed)
		describe_latencies(io_latencies(&s->io), j);
	json_number(j, "cpu_s_per_gb", s->cpu_s / (double)s->bytes * 1e9);
	json_unsigned(j, "bytes", s->bytes);
	if (s->device_bytes >= 0)
		json_signed(j, "device_bytes", s->device_bytes);
	else
		json_na(j, "device_bytes", "the device keeps no account that can be seen from here");
	if (s->io.write)
		return;
	if (s->resident >= 0)
		json_number(j, "resident", s->resident * 100);
	else
		json_na(j, "resident", "the kernel tells only those who may write the file");
}

void storage_teardown(struct run *run)
{
	struct storage *s = run->state;

	if (!s)
		return;
	io_close(&s->io);
	target_close(&s->target);
	free(s);
}
