/* The system as the probe sees it. */
#ifndef BV_HOST_H
#define BV_HOST_H

#include "core/json.h"

#define PROBE_VERSION "0.1.0"
#define PROBE_PROTOCOL 1

const char *host_arch(void);

/* Begins a `host` line about the system; model, caches and governor are those of CPU cpu (-1: the
 * first). */
void host_describe(struct json *j, int cpu);

/* The name of a CPU by the text of /proc/cpuinfo; false when it holds none. */
bool host_cpu_model(const char *cpuinfo, int cpu, char *model, size_t size);

#endif
