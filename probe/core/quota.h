/* The CPU quota of the control groups that this process is in. */
#ifndef BV_QUOTA_H
#define BV_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* CPUs' worth of time in each period. */
struct quota {
	double cpus;
	uint64_t period_ns;
};

/* The tightest quota on the way up to the root group: version 2 (cpu.max) or 1
 * (cpu.cfs_quota_us). `groups` is the text of /proc/self/cgroup, which it cuts up, and `root` where
 * control groups are mounted. False when there is none, or none can be seen. */
bool quota_find(struct quota *quota, char *groups, const char *root);

/* That of this process. */
bool quota_read(struct quota *quota);

#endif
