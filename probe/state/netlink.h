/* Requests to the kernel by netlink(7). */
#ifndef BV_NETLINK_H
#define BV_NETLINK_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

/* Called with each message of an answer; what is not 0 ends it. */
typedef int netlink_take(void *context, const struct nlmsghdr *message);

/* Sends `length` bytes of messages and reads until the end of a dump or an acknowledgement, which
 * one of them has to ask for. `take` may be NULL. Returns 0, what `take` returned, or a negative
 * errno: that of the first error, or -ETIMEDOUT. */
int netlink_ask(int protocol, const void *request, size_t length, netlink_take *take, void *context);

/* Adds an attribute to a message that has room for it. */
void netlink_add(struct nlmsghdr *message, uint16_t type, const void *data, size_t length);

/* The attribute of a type behind `head` bytes of a message's payload, or NULL; *length is that of
 * its data. */
const void *netlink_find(const struct nlmsghdr *message, size_t head, uint16_t type, size_t *length);

#endif
