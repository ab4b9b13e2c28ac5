/* Which events are recorded: sets, systems and single events are found, what is not there is
 * refused or, of a set, noted; names lead nowhere else; and instances of others are not stale. */
#include "trace/events.h"
#include "tests/check.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(full, sizeof(full), "%s/%.*s", root, (int)(slash - path), path);
		mkdir(full, 0700);
	}
	snprintf(full, sizeof(full), "%s/%s", root, path);
	file = fopen(full, "w");
	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_tree(void)
{
	make("events/sched/enable", "0\n");
	make("events/sched/sched_switch/enable", "0\n");
	make("events/sched/sched_switch/format", "name: sched_switch\n");
	make("events/sched/sched_waking/enable", "0\n");
	make("events/sched/sched_waking/format", "name: sched_waking\n");
	make("events/net/enable", "0\n");
	make("events/ftrace/print/format", "name: print\n");
}

static void formats(const struct tracefs *fs)
{
	struct events e;
	struct bytes b = {0};
	uint32_t n;

	CHECK(events_choose(&e, fs, "sched/sched_waking,net") == 0);
	events_formats(&e, fs, &b);
	memcpy(&n, b.data, 4);
	CHECK(n == 2);
	CHECK_TEXT(b.data + 4, "sched");
	memcpy(&n, b.data + 10, 4);
	CHECK(n == 1 && b.data[14] == (char)strlen("name: sched_waking\n"));
	CHECK(memcmp(b.data + 22, "name: sched_waking\n", 19) == 0);
	b.length = 0;
	CHECK(events_choose(&e, fs, "sched,sched/sched_waking") == 0);
	events_formats(&e, fs, &b); /* the whole system, once */
	memcpy(&n, b.data, 4);
	CHECK(n == 1);
	memcpy(&n, b.data + 10, 4);
	CHECK(n == 2);
	b.length = 0;
	events_ftrace_formats(fs, &b);
	memcpy(&n, b.data, 4);
	CHECK(n == 1);
	bytes_free(&b);
}

static void instances(void)
{
	char own[64];

	tracefs_own_name(own, sizeof(own));
	CHECK(!tracefs_is_stale(own));
	CHECK(tracefs_is_stale("benchvise-999999999-7"));
	snprintf(own, sizeof(own), "benchvise-%ld-1", (long)getpid()); /* an earlier one's number */
	CHECK(tracefs_is_stale(own));
	CHECK(!tracefs_is_stale("benchvise"));
	CHECK(!tracefs_is_stale("benchvise-1-2-3"));
	CHECK(!tracefs_is_stale("perf"));
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	(void)about, (void)kind, (void)at;
	return remove(path);
}

int main(void)
{
	struct tracefs fs = {.outer = -1};
	struct events e;
	int out;

	snprintf(root, sizeof(root), "%s/bvtrace-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	CHECK(mkdtemp(root) != NULL);
	snprintf(fs.base, sizeof(fs.base), "%s", root);
	make_tree();
	CHECK(events_choose(&e, &fs, "sched,net") == 0);
	CHECK(e.count == 2 && e.absent_count == 1);
	CHECK_TEXT(e.absent[0], "napi");
	CHECK(events_choose(&e, &fs, "sched:sched_switch,sched,") == 0 && e.count == 2);
	CHECK_TEXT(e.names[0], "sched/sched_switch");
	formats(&fs);
	instances();
	out = capture();
	CHECK(events_choose(&e, &fs, "sched/sched_other") == 2);
	CHECK(events_choose(&e, &fs, "../events/sched") == 2);
	CHECK(events_choose(&e, &fs, "sched/../net") == 2);
	CHECK(events_choose(&e, &fs, "block,power") == 77);
	CHECK(strstr(captured(out), "\"exit\":77"));
	CHECK(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
	return 0;
}
