/* The queueing discipline that an interface sends by: /proc/net/dev/eth0/qdisc. It holds `default`
 * for what the kernel puts there by itself, or the kind, its handle (`7:`) where somebody chose that,
 * and its options as netlink has them, in hex: what the kernel says of one is what makes the same
 * again (tc-netlink, pkt_sched.h).
 *
 * One with classes, filters or disciplines below it is more than that, so it is shown as such, and
 * not replaced: it could not be put back. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/netlink.h"
#include "state/trees.h"

enum { KIND_MAX = 16, OPTIONS_MAX = 512, INTERFACES_MAX = 64, JITTER_AT = 20 };
static const uint32_t CHOSEN_BY_KERNEL = 0x80000000; /* the first of those handles */

struct qdisc {
	unsigned interface;
	uint32_t handle;
	char kind[KIND_MAX];
	unsigned char options[OPTIONS_MAX];
	size_t length;
	bool more; /* than its kind and its options */
};

struct qdiscs {
	unsigned only; /* one interface; 0 for all */
	int count;
	struct qdisc found[INTERFACES_MAX];
	uint32_t parents[INTERFACES_MAX * 4]; /* of those that are no roots */
	unsigned interfaces[INTERFACES_MAX * 4];
	int below;
};

/* Those that have no classes of their own making. */
static const char plain[] = " pfifo bfifo pfifo_fast fq fq_codel fq_pie codel pie sfq tbf netem cake "
			    "red sfb choke hhf noqueue ";

static bool is_plain(const char *kind)
{
	char word[KIND_MAX + 2];

	snprintf(word, sizeof(word), " %s ", kind);
	return strstr(plain, word) != NULL;
}

static int take_qdisc(void *context, const struct nlmsghdr *m)
{
	struct qdiscs *all = context;
	const struct tcmsg *tc = NLMSG_DATA(m);
	size_t length;
	const char *kind = netlink_find(m, sizeof(*tc), TCA_KIND, &length);

	if (m->nlmsg_type != RTM_NEWQDISC || !kind || !length || length > KIND_MAX ||
	    kind[length - 1] || (all->only && (unsigned)tc->tcm_ifindex != all->only))
		return 0;
	if (tc->tcm_parent == TC_H_ROOT && all->count < INTERFACES_MAX) {
		struct qdisc *q = &all->found[all->count++];
		const void *options = netlink_find(m, sizeof(*tc), TCA_OPTIONS, &length);
		memset(q, 0, sizeof(*q));
		q->interface = (unsigned)tc->tcm_ifindex;
		q->handle = tc->tcm_handle;
		snprintf(q->kind, sizeof(q->kind), "%s", kind);
		q->more = options && length > OPTIONS_MAX;
		q->length = options && !q->more ? length : 0;
		if (q->length)
			memcpy(q->options, options, q->length);
	} else if (tc->tcm_parent != TC_H_INGRESS && all->below < INTERFACES_MAX * 4) {
		all->interfaces[all->below] = (unsigned)tc->tcm_ifindex;
		all->parents[all->below++] = tc->tcm_parent;
	}
	return 0;
}

static int ask(uint16_t type, unsigned interface, uint32_t parent, netlink_take *take, void *context)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = {
		.head = {.nlmsg_len = sizeof(request), .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.tc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)interface, .tcm_parent = parent},
	};

	return netlink_ask(NETLINK_ROUTE, &request, sizeof(request), take, context);
}

static int count_filter(void *context, const struct nlmsghdr *m)
{
	*(int *)context += m->nlmsg_type == RTM_NEWTFILTER;
	return 0;
}

/* What the kernel has put there has no handle. */
static bool is_default(const struct qdisc *q)
{
	return TC_H_MAJ(q->handle) == 0;
}

static void look_below(const struct qdiscs *all, struct qdisc *q)
{
	int filters = 0;

	for (int i = 0; i < all->below; i++)
		q->more |= all->interfaces[i] == q->interface &&
			   TC_H_MAJ(all->parents[i]) == TC_H_MAJ(q->handle);
	q->more |= !is_plain(q->kind);
	/* The table that jitter is drawn from is not told. */
	if (strcmp(q->kind, "netem") == 0 && q->length >= JITTER_AT + 4) {
		uint32_t jitter;
		memcpy(&jitter, q->options + JITTER_AT, sizeof(jitter));
		q->more |= jitter != 0;
	}
	if (!q->more && ask(RTM_GETTFILTER, q->interface, q->handle, count_filter, &filters) == 0)
		q->more = filters > 0;
}

static int find(unsigned only, struct qdiscs *all)
{
	int error;

	memset(all, 0, sizeof(*all));
	all->only = only;
	error = ask(RTM_GETQDISC, 0, 0, take_qdisc, all);
	for (int i = 0; i < all->count; i++)
		if (!is_default(&all->found[i]))
			look_below(all, &all->found[i]);
	return error;
}

static void describe(const struct qdisc *q, char *value, size_t size)
{
	size_t at;

	if (is_default(q)) {
		snprintf(value, size, "default");
		return;
	}
	at = (size_t)snprintf(value, size, "%s%s", q->kind, q->more ? " with more below it" : "");
	if (!q->more && q->handle < CHOSEN_BY_KERNEL)
		at += (size_t)snprintf(value + at, size - at, " %x:", q->handle >> 16);
	for (size_t i = 0; i < q->length && !q->more && at + 4 < size; i++)
		at += (size_t)snprintf(value + at, size - at, "%s%02x", i ? "" : " ", q->options[i]);
}

static struct qdiscs all_qdiscs;

static int list(tree_report *report, void *context)
{
	int status = 0;

	if (find(0, &all_qdiscs))
		return 0;
	for (int i = 0; i < all_qdiscs.count && !status; i++) {
		const struct qdisc *q = &all_qdiscs.found[i];
		char interface[IF_NAMESIZE], name[IF_NAMESIZE + 8], value[TREE_VALUE_MAX];
		if (is_default(q) || !if_indextoname(q->interface, interface))
			continue;
		snprintf(name, sizeof(name), "%s/qdisc", interface);
		describe(q, value, sizeof(value));
		status = report(context, name, value);
	}
	return status;
}

static unsigned interface_of(const char *name)
{
	const char *slash = strchr(name, '/');
	char interface[IF_NAMESIZE];

	if (!slash || strcmp(slash, "/qdisc") != 0 || slash - name >= IF_NAMESIZE)
		return 0;
	snprintf(interface, sizeof(interface), "%.*s", (int)(slash - name), name);
	return if_nametoindex(interface);
}

static int value_of(const char *name, char *value, size_t size)
{
	unsigned interface = interface_of(name);
	int error = interface ? find(interface, &all_qdiscs) : -ENOENT;

	if (error)
		return error;
	/* An interface that is down may have none yet. */
	if (all_qdiscs.count)
		describe(&all_qdiscs.found[0], value, size);
	else
		snprintf(value, size, "default");
	return 0;
}

/* Bytes of hex digits; -1 where they are none, or too many. */
static int bytes_of(const char *text, unsigned char *bytes)
{
	int count = 0;

	for (; text[0]; text += 2) {
		unsigned byte;
		char digits[3] = {text[0], text[1], '\0'}, rest;
		if (!text[1] || count == OPTIONS_MAX || sscanf(digits, "%2x%c", &byte, &rest) != 1)
			return -1;
		bytes[count++] = (unsigned char)byte;
	}
	return count;
}

static int remove_root(unsigned interface)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = {
		.head = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_DELQDISC,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.tc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)interface,
		       .tcm_parent = TC_H_ROOT},
	};
	int error = netlink_ask(NETLINK_ROUTE, &request, sizeof(request), NULL, NULL);

	return error == -ENOENT || error == -EINVAL ? 0 : error; /* it is the kernel's own */
}

static int write_root(const char *name, const char *value)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
		char attributes[OPTIONS_MAX + KIND_MAX + 64];
	} request = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			 .nlmsg_type = RTM_NEWQDISC,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
		.tc = {.tcm_family = AF_UNSPEC, .tcm_parent = TC_H_ROOT},
	};
	unsigned interface = interface_of(name);
	unsigned char options[OPTIONS_MAX];
	char kind[KIND_MAX], *end;
	unsigned long handle;
	int length, error;

	if (!interface)
		return -ENOENT;
	if (strcmp(value, "default") == 0)
		return remove_root(interface);
	snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(value, " "), value);
	value += strlen(kind);
	handle = strtoul(value, &end, 16);
	if (*end == ':') {
		request.tc.tcm_handle = (uint32_t)handle << 16;
		value = end + 1;
	}
	length = value[0] ? bytes_of(value + 1, options) : 0;
	if (length < 0 || !is_plain(kind))
		return -EINVAL;
	/* What is there may be of the same kind, which is then changed and not made anew. */
	error = remove_root(interface);
	request.tc.tcm_ifindex = (int)interface;
	netlink_add(&request.head, TCA_KIND, kind, strlen(kind) + 1);
	if (length)
		netlink_add(&request.head, TCA_OPTIONS, options, (size_t)length);
	return error ? error : netlink_ask(NETLINK_ROUTE, &request, request.head.nlmsg_len, NULL, NULL);
}

const struct tree qdiscs_tree = {"/proc/net/dev/", list, value_of, write_root};
