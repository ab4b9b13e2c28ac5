/* The tightest CPU quota on the way up counts, in both versions of control groups. */
#include <math.h>
#include <sys/stat.h>

#include "core/quota.h"
#include "tests/check.h"

static char root[64] = "/tmp/bvprobe-quota-XXXXXX";

static void make(const char *directory)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", root, directory);
	CHECK(mkdir(path, 0700) == 0);
}

static void put(const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, file);
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool find(struct quota *quota, const char *groups)
{
	char text[512];

	snprintf(text, sizeof(text), "%s", groups);
	return quota_find(quota, text, root);
}

static bool is(const struct quota *quota, double cpus, uint64_t period_ns)
{
	return fabs(quota->cpus - cpus) < 1e-9 && quota->period_ns == period_ns;
}

static void clean_up(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	CHECK(system(command) == 0);
}

int main(void)
{
	struct quota q;

	CHECK(mkdtemp(root) != NULL);
	atexit(clean_up);
	make("/a");
	make("/a/b");
	make("/cpu");
	make("/cpu/x");
	put("/a/cpu.max", "50000 100000\n");
	put("/a/b/cpu.max", "max 100000\n");
	put("/cpu/x/cpu.cfs_quota_us", "-1\n");
	put("/cpu/x/cpu.cfs_period_us", "100000\n");

	CHECK(find(&q, "0::/a/b\n") && is(&q, 0.5, 100000000));
	CHECK(!find(&q, "0::/\n"));
	CHECK(!find(&q, "0::/nowhere/else\n"));
	CHECK(!find(&q, "4:cpu,cpuacct:/x\n"));
	put("/cpu/x/cpu.cfs_quota_us", "1000\n");
	put("/cpu/x/cpu.cfs_period_us", "4000\n");
	CHECK(find(&q, "9:memory:/x\n4:cpuacct,cpu:/x\n0::/\n") && is(&q, 0.25, 4000000));
	CHECK(!find(&q, "4:cpuset:/x\n3:cpuacct:/x\n"));
	put("/a/b/cpu.max", "10000 100000\n");
	CHECK(find(&q, "0::/a/b\n") && is(&q, 0.1, 100000000));
	put("/a/b/cpu.max", "0 0\nx");
	CHECK(find(&q, "0::/a/b\n") && is(&q, 0.5, 100000000));
	CHECK(!find(&q, "") && !find(&q, "garbage\n::\n:\n") && !find(&q, "0::"));
	return 0;
}
