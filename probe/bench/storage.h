/* What the storage benchmarks share. */
#ifndef BV_STORAGE_H
#define BV_STORAGE_H

#include "bench/storage_io.h"
#include "bench/storage_target.h"
#include "core/batch.h"

struct storage {
	struct target target;
	struct io io;
	const char *cache;     /* the state of the page cache, in words */
	uint64_t most_written; /* bytes that this process writes at most */
	bool cold, drop_all;   /* the cache is emptied before each batch, of this file or of all */
	int (*flush)(int fd);  /* after each batch, within its time; NULL: none */
	/* of the batch last measured */
	double resident; /* negative: not known */
	uint64_t bytes;
	double cpu_s;
	int64_t device_bytes; /* negative: not known */
};

/* Allocates run->state and opens the target for blocks of `block` bytes. */
int storage_open(struct run *run, const struct target_use *use);

/* Makes the buffers and starts the engine, after what s->io is to do has been set. */
int storage_start(struct run *run, const char *engine);

/* Empties the page cache of the target and sees that it is empty, as before each batch from now
 * on. */
int storage_begin_cold(struct run *run);

/* A batch of `count` operations; sets run->elapsed_ns. */
int storage_batch(struct run *run, uint64_t count);

/* Operations a batch may have so that calibration and all batches together write at most
 * `cap` bytes. */
uint64_t storage_most_iterations(const struct run *run, uint64_t cap, uint64_t block);

/* Sets run->most_iterations by that from the parameters. Returns 0, or 2 after an error line when
 * there could be none. */
int storage_keep_to_cap(struct run *run);

double storage_bytes_per_second(const struct run *run);
double storage_operations_per_second(const struct run *run);
void storage_describe(const struct run *run, struct json *j);
void storage_detail(const struct run *run, struct json *j);
void storage_teardown(struct run *run);

extern const char file_summary[], device_summary[];

#define FILE_PARAM {"file", PARAM_TEXT, "auto", 1, 4095, NULL, file_summary}
#define DEVICE_PARAM {"device", PARAM_TEXT, "none", 1, 4095, NULL, device_summary}
#define OVERWRITE_PARAM                                                                    \
	{"overwrite", PARAM_CHOICE, "no", 0, 0, "no yes",                                  \
	 "yes: all that is on the device named by device= may be lost"}
#define ENGINE_PARAM {"engine", PARAM_CHOICE, "auto", 0, 0, engine_choices, engine_summary}
#define SEED_PARAM                                                                         \
	{"seed", PARAM_INTEGER, "1", 0, UINT32_MAX, NULL,                                  \
	 "which order of the blocks: the same in every process and on every board"}

#define TRAFFIC_FIGURES                                                                    \
	{"cpu_s_per_gb", "s/GB", "lower", "median",                                        \
	 "CPU time of the process and of the kernel on its behalf, for 1e9 bytes: without "  \
	 "interrupts, and without the kernel's own threads, which do much of the work of "  \
	 "writing, of memory cards and of encryption"},                                    \
	{"bytes", "B", "", "sum", "bytes read or written by the batch"},                   \
	{"device_bytes", "B", "", "sum",                                                   \
	 "bytes that the whole device moved meanwhile, by its own account: less than bytes " \
	 "came from a cache; more is read-ahead, the file system's own, or other work"}
#define RESIDENT_FIGURE                                                                    \
	{"resident", "%", "", "max",                                                       \
	 "how much of the area was in the page cache just before the batch"}
#define LATENCY_FIGURES                                                                    \
	{"p50_ns", "ns", "lower", "median", "half of the operations took no longer"},      \
	{"p95_ns", "ns", "lower", "median", "95 % took no longer"},                        \
	{"p99_ns", "ns", "lower", "median", "99 % took no longer"},                        \
	{"p999_ns", "ns", "lower", "median",                                               \
	 "99.9 % took no longer; na in a batch of fewer than 1000"},                       \
	{"max_ns", "ns", "lower", "max", "the longest: the more there are the longer"}

/* Of what writes, and tells how long each took. */
extern const struct figure write_latency_figures[];

#endif
