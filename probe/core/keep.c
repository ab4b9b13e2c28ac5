/* Files that outlive the process of one benchmark. See keep.h. */
#include "core/keep.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char variable[] = "BVPROBE_KEPT"; /* descriptors: to offer by, then one a place */

static int own_end = -1, offers = -1;
static int kept[KEPT] = {-1, -1};

union control { /* aligned as a control message must be */
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

static void announce(void)
{
	char text[64];

	snprintf(text, sizeof(text), "%d,%d,%d", offers, kept[0], kept[1]);
	setenv(variable, text, 1);
}

void keep_begin(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		return; /* nothing will be kept, which only takes longer */
	own_end = ends[0];
	offers = ends[1];
	fcntl(own_end, F_SETFD, FD_CLOEXEC);
	announce();
}

/* A new file in a place supersedes the old one. */
static void take(int place, int fd)
{
	if (place < 0 || place >= KEPT) {
		close(fd);
		return;
	}
	if (kept[place] >= 0)
		close(kept[place]);
	kept[place] = fd;
}

void keep_collect(void)
{
	for (;;) {
		union control control;
		int place = -1, fd = -1;
		struct iovec data = {&place, sizeof(place)};
		struct msghdr message = {.msg_iov = &data,
					 .msg_iovlen = 1,
					 .msg_control = control.bytes,
					 .msg_controllen = sizeof(control.bytes)};
		struct cmsghdr *header;

		if (own_end < 0 || recvmsg(own_end, &message, MSG_DONTWAIT) != sizeof(place))
			break;
		header = CMSG_FIRSTHDR(&message);
		if (!header || header->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
		take(place, fd);
		announce();
	}
}

/* Number `index` of the variable; -1 when there is none. */
static int announced(int index)
{
	const char *at = getenv(variable);

	for (int i = 0; at && i < index; i++) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return at ? atoi(at) : -1;
}

int kept_file(int place)
{
	int fd = announced(1 + place);

	return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

void keep_file(int place, int fd)
{
	union control control = {0};
	struct iovec data = {&place, sizeof(place)};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	int socket = announced(0);

	if (socket < 0)
		return;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
