/* Takes what standard input brings, for so many bytes, at most a block at a time, and forgets it: by
 * read, or by splice to /dev/null. Prints bytes a second from the first 64 KiB on, so that the
 * writer's start is not counted. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 1 << 20, START = 64 << 10 };

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char *argv[])
{
	static char data[LARGEST];
	size_t block = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

	if (block < 1 || block > LARGEST || (strcmp(argv[1], "read") && strcmp(argv[1], "splice"))) {
		fprintf(stderr, "usage: writer | drain read|splice bytes block\n");
		return 2;
	}
	int splices = strcmp(argv[1], "splice") == 0;
	unsigned long long wanted = strtoull(argv[2], NULL, 10), got = 0, before = 0;
	int null = open("/dev/null", O_WRONLY);
	double begin = 0;

	while (got < wanted) {
		ssize_t n = splices ? splice(STDIN_FILENO, NULL, null, NULL, block, 0)
				    : read(STDIN_FILENO, data, block);
		if (n <= 0) {
			perror("drain");
			return 1;
		}
		got += (unsigned long long)n;
		if (begin == 0 && got >= START) {
			begin = seconds();
			before = got;
		}
	}
	printf("%.9g\n", (double)(got - before) / (seconds() - begin));
	return 0;
}
