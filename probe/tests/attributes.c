/* Attributes are taken out of the words, given to this process, and inherited by what it starts;
 * what is none is refused in one line that names it. */
#include "core/attributes.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static int out;

/* What is left of the words, joined. */
static char left[256];

static int take(bool *again, const char *const *words)
{
	static char text[8][128];
	char *argv[9] = {0};
	int argc = 0, status;

	for (; words[argc]; argc++) {
		snprintf(text[argc], sizeof(text[argc]), "%s", words[argc]);
		argv[argc] = text[argc];
	}
	status = attributes_take(&argc, argv, again);
	left[0] = '\0';
	for (int i = 0; status == 0 && i < argc; i++) {
		strcat(left, argv[i]);
		strcat(left, " ");
	}
	CHECK(status || argv[argc] == NULL);
	return status;
}

#define TAKE(again, ...) take(again, (const char *const[]){__VA_ARGS__, NULL})

static void refused(int status, const char *text, const char *message)
{
	bool again;
	const char *line;

	CHECK(TAKE(&again, "--as", text) == status);
	line = captured(out);
	if (!strstr(line, message) || strchr(line, '\n') != line + strlen(line) - 1) {
		fprintf(stderr, "%s: %s", text, line);
		exit(1);
	}
}

static void test_words(void)
{
	bool again;

	CHECK(TAKE(&again, "--size", "4K") == 0 && !again);
	CHECK_TEXT(left, "--size 4K ");
	CHECK(TAKE(&again, "--size", "4K", "--as", "nice=0", "--batches", "3") == 0 && !again);
	CHECK_TEXT(left, "--size 4K --batches 3 ");
	CHECK(TAKE(&again, "--batches") == 0); /* args_parse says what is wrong with it */
	CHECK_TEXT(left, "--batches ");
	CHECK(TAKE(&again, "--as", "aslr=off") == 0 && again);
	CHECK(TAKE(&again, "--as", "aslr=on") == 0 && again);
}

static void test_effects(void)
{
	bool again;
	cpu_set_t mine;
	char list[64];
	int first = 0;

	CHECK(sched_getaffinity(0, sizeof(mine), &mine) == 0);
	while (!CPU_ISSET(first, &mine))
		first++;
	snprintf(list, sizeof(list), "cpus=%d,%d-%d,thp=off,nice=7", first, first, first);
	CHECK(TAKE(&again, "--as", list, "--as", "timer_slack=123456,sched=batch") == 0);
	CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 123456);
	CHECK(getpriority(PRIO_PROCESS, 0) == 7);
	CHECK(sched_getscheduler(0) == SCHED_BATCH);
	CHECK(sched_getaffinity(0, sizeof(mine), &mine) == 0);
	CHECK(CPU_COUNT(&mine) == 1 && CPU_ISSET(first, &mine));
	CHECK(TAKE(&again, "--as", "aslr=off") == 0);
	CHECK(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
	CHECK(TAKE(&again, "--as", "thp=on") == 0);
	CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0);
	CHECK(TAKE(&again, "--as", "ioprio=be:7") == 0);
}

/* Variables may hold what separates pairs, and be taken away; limits are soft ones. */
static void test_environment_and_limits(void)
{
	bool again;
	struct rlimit before, now;

	CHECK(TAKE(&again, "--as", "env.LC_ALL=C.UTF-8,env.ODD=a%2Cb%3Dc%20%25,nice=7") == 0);
	CHECK_TEXT(getenv("LC_ALL"), "C.UTF-8");
	CHECK_TEXT(getenv("ODD"), "a,b=c %");
	CHECK(TAKE(&again, "--as", "env.ODD=,env.LC_ALL=%") == 0);
	CHECK_TEXT(getenv("ODD"), "");
	CHECK(getenv("LC_ALL") == NULL);
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(TAKE(&again, "--as", "limit.nofile=99,limit.locks=5") == 2);
	CHECK(strstr(captured(out), "--as limit.locks=5: it takes a number or unlimited") != NULL);
	CHECK(TAKE(&again, "--as", "limit.nofile=99") == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0);
	CHECK(now.rlim_cur == 99 && now.rlim_max == before.rlim_max);
	CHECK(TAKE(&again, "--as", "limit.nofile=88:90") == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 88 && now.rlim_max == 90);
	CHECK(TAKE(&again, "--as", "limit.cpu=unlimited") == 0);
	CHECK(getrlimit(RLIMIT_CPU, &now) == 0 && now.rlim_cur == RLIM_INFINITY);
}

/* A kernel without the flag says so; one with it takes it. */
static void test_advised(void)
{
	bool again;
	int status = TAKE(&again, "--as", "thp=advised");

	CHECK(status == 0 || (status == 77 && strstr(captured(out), "this kernel is too old for it")));
}

/* Whatever was given is given to children too, and to what they execute. */
static void test_inherited(void)
{
	bool again;
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (TAKE(&again, "--as", "timer_slack=77777") != 0)
			_exit(1);
		execl("/bin/sh", "sh", "-c", "test \"$(cat /proc/$$/timerslack_ns 2>/dev/null || "
		      "echo 77777)\" = 77777", NULL);
		_exit(2);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	out = capture();
	test_words();
	/* user-mode emulators do not know these */
	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) >= 0 && prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) > 0) {
		test_inherited();
		test_effects();
		test_advised();
	}
	test_environment_and_limits();
	refused(2, "", "that is not NAME=VALUE");
	refused(2, "thp", "--as thp: that is not NAME=VALUE");
	refused(2, "=off", "that is not NAME=VALUE");
	refused(2, "hugs=off", "--as hugs=off: there is no such attribute");
	refused(2, "thp=perhaps", "--as thp=perhaps: it takes off, advised or on");
	refused(2, "timer_slack=0", "it takes nanoseconds from 1");
	refused(2, "timer_slack=-5", "it takes nanoseconds from 1");
	refused(2, "nice=20", "it takes a number from -20 to 19");
	refused(2, "nice=5x", "it takes a number from -20 to 19");
	refused(2, "cpus=", "it takes a list such as 0-2,4");
	refused(2, "cpus=a", "it takes a list such as 0-2,4");
	refused(2, "cpus=99999", "it takes a list such as 0-2,4");
	refused(77, "cpus=1023", "--as cpus=1023 is not possible here: there is no such CPU");
	refused(2, "sched=fifo:100", "it takes other, batch, idle, fifo:N");
	refused(2, "sched=fifox", "it takes other, batch, idle, fifo:N");
	refused(2, "ioprio=be:8", "it takes idle, be:N or rt:N");
	refused(2, "dma_latency=-1", "it takes microseconds");
	refused(2, "limit.nofile=-5", "it takes a number or unlimited");
	refused(2, "limit.nofile=5x", "it takes a number or unlimited");
	refused(2, "limit.nofile=91:90", "the hard limit after a colon");
	refused(2, "limit.nofile=80:unlimited5", "the hard limit after a colon");
	refused(2, "limit.=5", "it takes a number or unlimited");
	refused(2, "env.=x", "it takes a text with %XX");
	refused(2, "env.1X=x", "it takes a text with %XX");
	refused(2, "env.A-B=x", "it takes a text with %XX");
	refused(2, "env.X=%2", "it takes a text with %XX");
	refused(2, "env.X=%00", "it takes a text with %XX");
	refused(2, "preload=all", "it takes none");
	refused(2, "file.etc/hosts=x", "it takes a text with %XX for bytes, after the path");
	refused(2, "directory./tmp=disk", "it takes memory or copy, after the path");
	return 0;
}
