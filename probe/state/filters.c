/* Tables of nftables: /proc/net/netlink/inet!bans holds `active` or `dormant`. The rules of a dormant
 * table are kept, with their counters and sets, and no packet meets them (nft(8)): so nothing has to
 * be saved to have it active again. Those that iptables-nft makes are such tables too. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>

#include "state/netlink.h"
#include "state/trees.h"

static const struct {
	const char *name;
	uint8_t number;
} families[] = {
	{"ip", NFPROTO_IPV4},    {"ip6", NFPROTO_IPV6},       {"inet", NFPROTO_INET},
	{"arp", NFPROTO_ARP},    {"bridge", NFPROTO_BRIDGE},  {"netdev", NFPROTO_NETDEV},
};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

struct listing {
	tree_report *report;
	void *context;
	const char *wanted; /* NULL for all */
	char *value;
	size_t size;
};

static const char *family_of(uint8_t number)
{
	for (int i = 0; i < FAMILIES; i++)
		if (families[i].number == number)
			return families[i].name;
	return NULL;
}

static int take_table(void *context, const struct nlmsghdr *m)
{
	struct listing *l = context;
	const struct nfgenmsg *head = NLMSG_DATA(m);
	size_t length;
	const char *table = netlink_find(m, sizeof(*head), NFTA_TABLE_NAME, &length);
	const char *family = family_of(head->nfgen_family);
	const char *value;
	char name[TREE_NAME_MAX], path[TREE_NAME_MAX];
	const void *flags;
	uint32_t word = 0;

	if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE) || !table || !length ||
	    table[length - 1] || !family || strchr(table, '/') ||
	    snprintf(path, sizeof(path), "%s/%s", family, table) >= TREE_NAME_MAX ||
	    !tree_name_of(path, name))
		return 0;
	flags = netlink_find(m, sizeof(*head), NFTA_TABLE_FLAGS, &length);
	if (flags && length == sizeof(word))
		memcpy(&word, flags, sizeof(word));
	value = ntohl(word) & NFT_TABLE_F_DORMANT ? "dormant" : "active";
	if (!l->wanted)
		return l->report(l->context, name, value);
	if (strcmp(name, l->wanted) == 0)
		snprintf(l->value, l->size, "%s", value);
	return 0;
}

static int ask(struct listing *l)
{
	struct {
		struct nlmsghdr head;
		struct nfgenmsg nf;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.nf = {.nfgen_family = NFPROTO_UNSPEC},
	};

	return netlink_ask(NETLINK_NETFILTER, &request, sizeof(request), take_table, l);
}

static int list(tree_report *report, void *context)
{
	struct listing l = {report, context, NULL, NULL, 0};
	int status = ask(&l);

	return status < 0 ? 0 : status; /* a kernel without nftables has no tables */
}

static int value_of(const char *name, char *value, size_t size)
{
	struct listing l = {NULL, NULL, name, value, size};
	int error;

	value[0] = '\0';
	error = ask(&l);
	return error ? error : value[0] ? 0 : -ENOENT;
}

static struct nlmsghdr *begin(char *at, uint16_t type, uint16_t flags, uint8_t family, uint16_t id)
{
	struct nlmsghdr *m = (void *)at;
	struct nfgenmsg *nf = NLMSG_DATA(m);

	memset(m, 0, NLMSG_LENGTH(sizeof(*nf)));
	m->nlmsg_len = NLMSG_LENGTH(sizeof(*nf));
	m->nlmsg_type = type;
	m->nlmsg_flags = flags;
	nf->nfgen_family = family;
	nf->res_id = htons(id);
	return m;
}

/* One transaction: the table as it is, with other flags. */
static int set_flags(uint8_t family, const char *table, uint32_t flags)
{
	static char data[TREE_NAME_MAX + 256] __attribute__((aligned(NLMSG_ALIGNTO)));
	uint32_t word = htonl(flags);
	size_t length = 0;
	struct nlmsghdr *m = begin(data, NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST, AF_UNSPEC,
				   NFNL_SUBSYS_NFTABLES);

	length += NLMSG_ALIGN(m->nlmsg_len);
	m = begin(data + length, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE,
		  NLM_F_REQUEST | NLM_F_ACK, family, 0);
	netlink_add(m, NFTA_TABLE_NAME, table, strlen(table) + 1);
	netlink_add(m, NFTA_TABLE_FLAGS, &word, sizeof(word));
	length += NLMSG_ALIGN(m->nlmsg_len);
	m = begin(data + length, NFNL_MSG_BATCH_END, NLM_F_REQUEST, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	length += NLMSG_ALIGN(m->nlmsg_len);
	return netlink_ask(NETLINK_NETFILTER, data, length, NULL, NULL);
}

static int write_table(const char *name, const char *value)
{
	const char *table = strchr(name, '!');
	bool dormant = strcmp(value, "dormant") == 0;
	char now[16];
	int error = value_of(name, now, sizeof(now)); /* one that is not there is not made */

	if (error || !table)
		return error ? error : -ENOENT;
	if (!dormant && strcmp(value, "active") != 0)
		return -EINVAL;
	for (int i = 0; i < FAMILIES; i++)
		if (strlen(families[i].name) == (size_t)(table - name) &&
		    strncmp(families[i].name, name, (size_t)(table - name)) == 0)
			return set_flags(families[i].number, table + 1,
					 dormant ? NFT_TABLE_F_DORMANT : 0);
	return -ENOENT;
}

const struct tree filters_tree = {"/proc/net/netlink/", list, value_of, write_table};
