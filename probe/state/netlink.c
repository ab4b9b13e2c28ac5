/* Requests to the kernel by netlink. See netlink.h. */
#include "state/netlink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 500 };

/* Returns 0 when more is to come, 1 at the end, or a negative errno or what `take` says. */
static int take_all(char *data, ssize_t length, netlink_take *take, void *context, int *result)
{
	struct nlmsghdr *m = (void *)data;

	for (; NLMSG_OK(m, (unsigned)length); m = NLMSG_NEXT(m, length)) {
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = NLMSG_DATA(m);
			*result = error->error;
			return 1;
		}
		*result = take ? take(context, m) : 0;
		if (*result)
			return 1;
	}
	return 0;
}

static int answer(int fd, netlink_take *take, void *context)
{
	static char data[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct pollfd in = {.fd = fd, .events = POLLIN};
	int result = 0;

	for (;;) {
		ssize_t n = poll(&in, 1, WAIT_MS) > 0 ? recv(fd, data, sizeof(data), 0) : 0;
		if (n <= 0)
			return n < 0 ? -errno : -ETIMEDOUT;
		if (take_all(data, n, take, context, &result))
			return result;
	}
}

int netlink_ask(int protocol, const void *request, size_t length, netlink_take *take, void *context)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), result;

	if (fd < 0)
		return -errno;
	if (sendto(fd, request, length, 0, (void *)&kernel, sizeof(kernel)) < 0)
		result = -errno;
	else
		result = answer(fd, take, context);
	close(fd);
	return result;
}

void netlink_add(struct nlmsghdr *message, uint16_t type, const void *data, size_t length)
{
	char *end = (char *)message + NLMSG_ALIGN(message->nlmsg_len);
	struct nlattr head = {.nla_len = (uint16_t)(NLA_HDRLEN + length), .nla_type = type};

	memset(end, 0, NLA_HDRLEN + NLA_ALIGN(length));
	memcpy(end, &head, sizeof(head));
	if (length)
		memcpy(end + NLA_HDRLEN, data, length);
	message->nlmsg_len = (uint32_t)(end - (char *)message + NLA_HDRLEN + NLA_ALIGN(length));
}

const void *netlink_find(const struct nlmsghdr *message, size_t head, uint16_t type, size_t *length)
{
	const char *at = (const char *)NLMSG_DATA(message) + NLMSG_ALIGN(head);
	const char *end = (const char *)message + message->nlmsg_len;

	while (at + NLA_HDRLEN <= end) {
		struct nlattr a;
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || at + a.nla_len > end)
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type) {
			*length = (size_t)a.nla_len - NLA_HDRLEN;
			return at + NLA_HDRLEN;
		}
		at += NLA_ALIGN(a.nla_len);
	}
	return NULL;
}
