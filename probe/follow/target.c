/* What a system call is about. See target.h. */
#include "follow/target.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/files.h"

enum { NAMED = 3, SOCKETS = 256, PAGE_BYTES = 4096, SET_BYTES = 128, LINK_BYTES = 64 };

/* Where sockets are connected to, by the link of their descriptor; the oldest goes first. */
static struct {
	char link[LINK_BYTES];
	char address[TARGET_MAX];
} sockets[SOCKETS];
static unsigned next_socket;

/* Bytes of another process's memory; how many there were, up to the first page that is not. */
static size_t read_memory(pid_t tid, uint64_t address, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t left = PAGE_BYTES - (size_t)((address + done) % PAGE_BYTES);
		size_t part = left < size - done ? left : size - done;
		struct iovec here = {(char *)to + done, part};
		struct iovec there = {(void *)(uintptr_t)(address + done), part};

		if (process_vm_readv(tid, &here, 1, &there, 1, 0) != (ssize_t)part)
			break;
		done += part;
	}
	return done;
}

static void path_at(pid_t tid, uint64_t address, char text[TARGET_MAX])
{
	size_t length = 0;

	/* A page at a time: what lies behind the end of the text may not be mapped. */
	while (address && length < TARGET_MAX - 1) {
		size_t left = PAGE_BYTES - (size_t)((address + length) % PAGE_BYTES);
		size_t part = left < TARGET_MAX - 1 - length ? left : TARGET_MAX - 1 - length;
		size_t n = read_memory(tid, address + length, text + length, part);

		if (memchr(text + length, '\0', n))
			return;
		length += n;
		if (n < part)
			break;
	}
	text[length] = '\0';
}

/* The link of a descriptor: a path, or a name such as socket:[4711]. */
static bool link_of(pid_t tid, int fd, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)tid, fd);
	n = readlink(path, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Makes a path that begins in a directory one that begins at the root: what it is called by then is
 * the same wherever it is opened from. Longer ones stay as they are. */
static void make_absolute(pid_t tid, int directory, char text[TARGET_MAX])
{
	char base[TARGET_MAX], path[64];
	const char *rest = text;
	ssize_t n;

	if (!text[0] || text[0] == '/')
		return;
	if (directory == AT_FDCWD) {
		snprintf(path, sizeof(path), "/proc/%ld/cwd", (long)tid);
		n = readlink(path, base, sizeof(base) - 1);
		base[n > 0 ? n : 0] = '\0';
	} else if (!link_of(tid, directory, base, sizeof(base))) {
		return;
	}
	while (rest[0] == '.' && rest[1] == '/')
		rest += 2;
	if (strcmp(rest, ".") == 0)
		rest += 1;
	if (base[0] != '/' || strlen(base) + strlen(rest) + 1 >= TARGET_MAX)
		return;
	if (rest[0])
		snprintf(base + strlen(base), sizeof(base) - strlen(base), "%s%s",
			 base[1] ? "/" : "", rest);
	memcpy(text, base, TARGET_MAX);
}

/* The descriptor of the directory that a path of a call begins in. */
static int directory_of(const struct call *call, const uint64_t arguments[6])
{
	bool begins_there = call->argument > 0 && strcmp(call->name, "symlink") != 0 &&
			    strcmp(call->name, "link") != 0;

	return begins_there ? (int)arguments[call->argument - 1] : AT_FDCWD;
}

static void file_at(pid_t tid, int fd, char text[TARGET_MAX])
{
	char *inode;

	if (fd < 0 || !link_of(tid, fd, text, TARGET_MAX))
		return;
	if (strncmp(text, "socket:[", 8) == 0) {
		for (int i = 0; i < SOCKETS; i++)
			if (strcmp(sockets[i].link, text) == 0) {
				memcpy(text, sockets[i].address, TARGET_MAX);
				return;
			}
	}
	/* of what has no path, the number says nothing */
	inode = text[0] == '/' ? NULL : strchr(text, ':');
	if (inode && strncmp(text, "anon_inode:", 11) != 0)
		*inode = '\0';
}

static void keep_address(pid_t tid, int fd, const char address[TARGET_MAX])
{
	char link[LINK_BYTES];

	if (!link_of(tid, fd, link, sizeof(link)))
		return;
	for (int i = 0; i < SOCKETS; i++)
		if (strcmp(sockets[i].link, link) == 0) {
			memcpy(sockets[i].address, address, TARGET_MAX);
			return;
		}
	memcpy(sockets[next_socket].link, link, LINK_BYTES);
	memcpy(sockets[next_socket].address, address, TARGET_MAX);
	next_socket = (next_socket + 1) % SOCKETS;
}

static void describe_address(const struct sockaddr_storage *any, size_t length,
			     char text[TARGET_MAX])
{
	const struct sockaddr_in *v4 = (const void *)any;
	const struct sockaddr_in6 *v6 = (const void *)any;
	const struct sockaddr_un *un = (const void *)any;
	char name[INET6_ADDRSTRLEN];

	if (any->ss_family == AF_INET && length >= sizeof(*v4)) {
		inet_ntop(AF_INET, &v4->sin_addr, name, sizeof(name));
		snprintf(text, TARGET_MAX, "%s:%u", name, ntohs(v4->sin_port));
	} else if (any->ss_family == AF_INET6 && length >= sizeof(*v6)) {
		inet_ntop(AF_INET6, &v6->sin6_addr, name, sizeof(name));
		snprintf(text, TARGET_MAX, "[%s]:%u", name, ntohs(v6->sin6_port));
	} else if (any->ss_family == AF_UNIX && length > sizeof(un->sun_family)) {
		size_t size = length - sizeof(un->sun_family);
		bool is_abstract = un->sun_path[0] == '\0';
		snprintf(text, TARGET_MAX, "%s%.*s", is_abstract ? "@" : "",
			 (int)(size - is_abstract), un->sun_path + is_abstract);
	} else if (any->ss_family == AF_NETLINK) {
		snprintf(text, TARGET_MAX, "netlink");
	}
}

static void address_at(pid_t tid, int fd, uint64_t address, uint64_t length, char text[TARGET_MAX])
{
	struct sockaddr_storage any = {0};
	size_t size = length < sizeof(any) ? (size_t)length : sizeof(any);

	if (address == 0 || size < sizeof(any.ss_family) ||
	    read_memory(tid, address, &any, size) != size) {
		file_at(tid, fd, text);
		return;
	}
	describe_address(&any, size, text);
	if (text[0])
		keep_address(tid, fd, text);
}

/* Adds what a descriptor is to a list, each once. */
static void add_file(pid_t tid, int fd, int *count, char text[TARGET_MAX])
{
	char one[TARGET_MAX] = "";
	size_t length = strlen(text);

	file_at(tid, fd, one);
	if (*count >= NAMED || !one[0] || strstr(text, one))
		return;
	snprintf(text + length, TARGET_MAX - length, "%s%s", length ? ", " : "", one);
	++*count;
}

static void polled_at(pid_t tid, uint64_t address, uint64_t length, char text[TARGET_MAX])
{
	struct pollfd fds[NAMED + 1];
	size_t wanted = length < NAMED + 1 ? (size_t)length : NAMED + 1;
	size_t n = read_memory(tid, address, fds, wanted * sizeof(fds[0])) / sizeof(fds[0]);
	int count = 0;

	for (size_t i = 0; i < n; i++)
		add_file(tid, fds[i].fd, &count, text);
}

static void selected_at(pid_t tid, const uint64_t arguments[6], char text[TARGET_MAX])
{
	int most = arguments[0] < 8 * SET_BYTES ? (int)arguments[0] : 8 * SET_BYTES;
	unsigned char set[SET_BYTES];
	int count = 0;

	for (int i = 1; i <= 3; i++) {
		size_t size = (size_t)(most + 7) / 8;
		if (arguments[i] == 0 || read_memory(tid, arguments[i], set, size) != size)
			continue;
		/* long words, in which the order of bytes counts: right on little ends, as all are */
		for (int fd = 0; fd < most && count < NAMED; fd++)
			if (set[fd / 8] >> (fd % 8) & 1)
				add_file(tid, fd, &count, text);
	}
}

static void epoll_at(pid_t tid, int fd, char text[TARGET_MAX])
{
	char path[64], content[2048];
	const char *at = content;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%d", (long)tid, fd);
	if (file_read(path, content, sizeof(content)) <= 0)
		return;
	while (count < NAMED && (at = strstr(at, "tfd:")))
		add_file(tid, (int)strtol(at += 4, NULL, 10), &count, text);
}

void target_of(const struct call *call, pid_t tid, const uint64_t arguments[6],
	       char text[TARGET_MAX])
{
	uint64_t argument = arguments[call->argument];

	memset(text, 0, TARGET_MAX);
	switch (call->about) {
	case ABOUT_NOTHING:
		break;
	case ABOUT_PATH:
		path_at(tid, argument, text);
		make_absolute(tid, directory_of(call, arguments), text);
		break;
	case ABOUT_FILE:
		file_at(tid, (int)argument, text);
		break;
	case ABOUT_ADDRESS:
		address_at(tid, (int)arguments[0], argument, arguments[call->argument + 1], text);
		break;
	case ABOUT_POLLED:
		polled_at(tid, argument, arguments[1], text);
		break;
	case ABOUT_SELECTED:
		selected_at(tid, arguments, text);
		break;
	case ABOUT_EPOLL:
		epoll_at(tid, (int)argument, text);
		break;
	}
}
