/* Options of mounts are read and written as files, each alone: nothing else of a mount changes. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "core/json.h"
#include "state/state.h"
#include "tests/check.h"

static char point[] = "/tmp/bvmounts XXXXXX";
static char base[128]; /* what stands for it in paths */
static int out;

static int keep(void *context, const char *path, const char *value)
{
	char *line = context;

	snprintf(line + strlen(line), 2048 - strlen(line), "%s=%s\n", path, value);
	return 0;
}

/* The value of an option by the file, empty where there is none. */
static const char *value_of(const char *option)
{
	static char lines[2048];
	char path[256];
	char *equals;

	lines[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", base, option);
	if (mounts_each(path, keep, lines) != 1)
		return "";
	lines[strlen(lines) - 1] = '\0';
	equals = strrchr(lines, '=');
	return equals + 1;
}

static int set(const char *option, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", base, option);
	return mounts_write(path, value);
}

/* The mount's own options and those of its file system, as the kernel has them. */
static const char *kernel_has(void)
{
	static char text[512];
	char line[1024], own[256], super[256];
	FILE *file = fopen("/proc/self/mountinfo", "r");

	CHECK(file != NULL);
	text[0] = '\0';
	while (fgets(line, sizeof(line), file)) {
		char *rest = strstr(line, " - ");
		if (!strstr(line, "bvmounts\\040") || !rest)
			continue;
		CHECK(sscanf(line, "%*s %*s %*s %*s %*s %255s", own) == 1);
		CHECK(sscanf(rest, " - %*s %*s %255s", super) == 1);
		snprintf(text, sizeof(text), "%s %s", own, strstr(rest, ",sync") ? "sync" : "async");
	}
	fclose(file);
	return text;
}

static void test_options(void)
{
	CHECK_TEXT(kernel_has(), "rw,nosuid,relatime async");
	CHECK_TEXT(value_of("sync"), "async");
	CHECK_TEXT(value_of("atime"), "relatime");
	CHECK_TEXT(value_of("diratime"), "diratime");
	CHECK_TEXT(value_of("discard"), ""); /* tmpfs has none */
	CHECK(set("sync", "sync") == 0);
	CHECK_TEXT(kernel_has(), "rw,nosuid,relatime sync");
	CHECK(set("atime", "noatime") == 0);
	CHECK_TEXT(kernel_has(), "rw,nosuid,noatime sync");
	CHECK(set("sync", "async") == 0);
	CHECK_TEXT(kernel_has(), "rw,nosuid,noatime async");
	CHECK(set("atime", "strictatime") == 0);
	CHECK_TEXT(kernel_has(), "rw,nosuid async");
	CHECK_TEXT(value_of("atime"), "strictatime");
	CHECK(set("atime", "relatime") == 0 && set("diratime", "nodiratime") == 0);
	CHECK_TEXT(kernel_has(), "rw,nosuid,nodiratime,relatime async");
	CHECK(set("diratime", "diratime") == 0);
	CHECK_TEXT(kernel_has(), "rw,nosuid,relatime async");
}

static void test_refused(void)
{
	CHECK(set("sync", "perhaps") == -EINVAL);
	CHECK(set("sync", "sync,ro") == -EINVAL);
	CHECK(set("discard", "discard") == -ENOENT);
	CHECK(set("nothing", "1") == -ENOENT);
	CHECK(mounts_write("/proc/self/mountinfo/!no!such!place/sync", "sync") == -ENOENT);
	CHECK_TEXT(kernel_has(), "rw,nosuid,relatime async");
}

static void test_lines(void)
{
	char path[256], wanted[512];

	snprintf(path, sizeof(path), "%s/sync", base);
	snprintf(wanted, sizeof(wanted), "{\"type\":\"value\",\"path\":\"%s\",\"value\":\"async\"}\n",
		 path);
	CHECK(state_read(path, 4096) == 0);
	CHECK_TEXT(captured(out), wanted);
	CHECK(state_write(path, "sync") == 0);
	CHECK(strstr(captured(out), "\"old\":\"async\",\"now\":\"sync\"}") != NULL);
	CHECK(state_read("/proc/self/mountinfo/!no!such/sync", 4096) == 0);
	CHECK(strstr(captured(out), "\"error\":\"ENOENT\"") != NULL);
}

int main(void)
{
	out = capture();
	CHECK(mounts_is_path("/proc/self/mountinfo/*/sync"));
	CHECK(!mounts_is_path("/proc/self/mountinfo"));
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		SKIP("needs root, and a mount namespace of its own");
	CHECK(mkdtemp(point) != NULL);
	if (mount("tmpfs", point, "tmpfs", MS_NOSUID, NULL) < 0) {
		rmdir(point);
		SKIP("no tmpfs can be mounted here");
	}
	snprintf(base, sizeof(base), "/proc/self/mountinfo/!tmp!%s", point + strlen("/tmp/"));
	test_options();
	test_refused();
	test_lines();
	CHECK(umount(point) == 0 && rmdir(point) == 0);
	return 0;
}
