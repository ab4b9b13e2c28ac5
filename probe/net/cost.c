/* CPU time. See cost.h. */
#include "net/cost.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/files.h"

uint64_t cost_own_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
}

int64_t cost_system_ns(void)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq;
	char text[256]; /* the first line sums all CPUs */
	ssize_t n = file_read("/proc/stat", text, sizeof(text));

	if (n < 0)
		return n;
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
		   &wait, &irq, &softirq) != 7)
		return -ENODATA;
	return (int64_t)((user + nice + system + irq + softirq) * 1000000000ull /
			 (unsigned long long)sysconf(_SC_CLK_TCK));
}
