/* trace.dat, version 7, uncompressed: what trace-cmd and KernelShark read. */
#ifndef BV_TRACE_DATFILE_H
#define BV_TRACE_DATFILE_H

#include "trace/bytes.h"

/* One CPU's part of the file. */
struct dat_cpu {
	int cpu;
	uint64_t bytes;
	const char *stats; /* text of per_cpu/cpuN/stats */
};

/* What the head of the file says. The five texts are whole sections, without their headers. */
struct dat {
	struct bytes header_page, header_event, ftrace_formats, formats, kallsyms, printk, cmdlines;
	const char *clock;       /* its name */
	const char *clock_text;  /* text of trace_clock, with the one in force in brackets */
	int64_t offset_ns;       /* of CLOCK_REALTIME to the trace's clock; 0: not written */
	uint32_t page_size;      /* of the machine */
	uint32_t subbuffer_size;
	uint32_t cpu_count;      /* that the system has */
	const struct dat_cpu *cpus;
	int count;
};

/* Everything before the first CPU's data. Each CPU's data follow in order, padded by
 * dat_padding(). Returns the length of the whole file. */
uint64_t dat_head(const struct dat *dat, struct bytes *out);

/* Zeros to be written after that many bytes of a CPU's data. */
uint64_t dat_padding(const struct dat *dat, uint64_t bytes);

#endif
