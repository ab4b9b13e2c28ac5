/* What network interfaces are set to, by ethtool's ioctl and by netlink. See facts.h. */
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "state/facts.h"
#include "state/netlink.h"

enum { NAMES_MAX = 512 };

static int control = -1; /* any socket */

static int ask(const char *nic, void *data)
{
	struct ifreq request = {.ifr_data = data};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", nic);
	return ioctl(control, SIOCETHTOOL, &request) < 0 ? errno : 0;
}

/* The command is the first member of every structure of ethtool. Begins the fact's value; false
 * after a fact that says why there is none. */
static bool begin(struct json *j, const char *fact, const char *nic, void *data)
{
	int error = ask(nic, data);

	if (error) {
		fact_na(j, fact, nic, error, "");
		return false;
	}
	fact_begin(j, fact, nic);
	json_open(j, "value", '{');
	return true;
}

static void end(struct json *j)
{
	json_close(j, '}');
	fact_send(j);
}

static void fact_driver(struct json *j, const char *nic)
{
	struct ethtool_drvinfo d = {.cmd = ETHTOOL_GDRVINFO};

	if (!begin(j, "nic_driver", nic, &d))
		return;
	d.driver[sizeof(d.driver) - 1] = d.version[sizeof(d.version) - 1] = '\0';
	d.fw_version[sizeof(d.fw_version) - 1] = '\0';
	json_string(j, "driver", d.driver);
	json_string(j, "version", d.version);
	json_string(j, "firmware", d.fw_version);
	end(j);
}

/* The kernel first says how many words of link modes it wants to write behind the structure. */
static void fact_link(struct json *j, const char *nic)
{
	static union {
		struct ethtool_link_settings s;
		uint32_t words[sizeof(struct ethtool_link_settings) / 4 + 3 * 127];
	} u;

	memset(&u, 0, sizeof(u));
	u.s.cmd = ETHTOOL_GLINKSETTINGS;
	if (ask(nic, &u) == 0 && u.s.link_mode_masks_nwords < 0)
		u.s.link_mode_masks_nwords = (int8_t)-u.s.link_mode_masks_nwords;
	u.s.cmd = ETHTOOL_GLINKSETTINGS;
	if (!begin(j, "nic_link", nic, &u))
		return;
	json_signed(j, "speed", (int32_t)u.s.speed);
	json_string(j, "duplex", u.s.duplex == DUPLEX_FULL   ? "full"
				 : u.s.duplex == DUPLEX_HALF ? "half" : "unknown");
	json_string(j, "autoneg", u.s.autoneg ? "on" : "off");
	json_unsigned(j, "port", u.s.port);
	end(j);
}

static void fact_rings(struct json *j, const char *nic)
{
	struct ethtool_ringparam r = {.cmd = ETHTOOL_GRINGPARAM};

	if (!begin(j, "nic_rings", nic, &r))
		return;
	json_unsigned(j, "rx", r.rx_pending);
	json_unsigned(j, "tx", r.tx_pending);
	json_unsigned(j, "rx_max", r.rx_max_pending);
	json_unsigned(j, "tx_max", r.tx_max_pending);
	end(j);
}

static void fact_coalesce(struct json *j, const char *nic)
{
	struct ethtool_coalesce c = {.cmd = ETHTOOL_GCOALESCE};

	if (!begin(j, "nic_coalesce", nic, &c))
		return;
	json_unsigned(j, "rx_usecs", c.rx_coalesce_usecs);
	json_unsigned(j, "rx_frames", c.rx_max_coalesced_frames);
	json_unsigned(j, "tx_usecs", c.tx_coalesce_usecs);
	json_unsigned(j, "tx_frames", c.tx_max_coalesced_frames);
	json_unsigned(j, "adaptive_rx", c.use_adaptive_rx_coalesce);
	json_unsigned(j, "adaptive_tx", c.use_adaptive_tx_coalesce);
	end(j);
}

static void fact_pause(struct json *j, const char *nic)
{
	struct ethtool_pauseparam p = {.cmd = ETHTOOL_GPAUSEPARAM};

	if (!begin(j, "nic_pause", nic, &p))
		return;
	json_unsigned(j, "autoneg", p.autoneg);
	json_unsigned(j, "rx", p.rx_pause);
	json_unsigned(j, "tx", p.tx_pause);
	end(j);
}

static void fact_channels(struct json *j, const char *nic)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};

	if (!begin(j, "nic_channels", nic, &c))
		return;
	json_unsigned(j, "rx", c.rx_count);
	json_unsigned(j, "tx", c.tx_count);
	json_unsigned(j, "combined", c.combined_count);
	json_unsigned(j, "combined_max", c.max_combined);
	end(j);
}

static void fact_eee(struct json *j, const char *nic)
{
	struct ethtool_eee e = {.cmd = ETHTOOL_GEEE};

	if (!begin(j, "nic_eee", nic, &e))
		return;
	json_unsigned(j, "enabled", e.eee_enabled);
	json_unsigned(j, "active", e.eee_active);
	json_unsigned(j, "tx_lpi_enabled", e.tx_lpi_enabled);
	json_unsigned(j, "tx_lpi_timer", e.tx_lpi_timer);
	end(j);
}

/* The names of features or statistics; NULL with *error set when there are none. */
static struct ethtool_gstrings *names_of(const char *nic, unsigned set, int *error)
{
	union {
		struct ethtool_sset_info info;
		uint32_t words[sizeof(struct ethtool_sset_info) / 4 + 1];
	} u = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << set}};
	struct ethtool_gstrings *names;
	uint32_t count;

	*error = ask(nic, &u);
	count = u.words[sizeof(struct ethtool_sset_info) / 4];
	if (*error == 0 && (u.info.sset_mask == 0 || count == 0 || count > NAMES_MAX))
		*error = EOPNOTSUPP;
	if (*error)
		return NULL;
	names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	if (!names) {
		*error = ENOMEM;
		return NULL;
	}
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = set;
	names->len = count;
	*error = ask(nic, names);
	if (*error == 0 && names->len <= count)
		return names;
	free(names);
	return NULL;
}

static const char *name_at(const struct ethtool_gstrings *names, uint32_t i)
{
	static char name[ETH_GSTRING_LEN + 1];

	memcpy(name, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
	return name;
}

static void fact_features(struct json *j, const char *nic)
{
	static union {
		struct ethtool_gfeatures f;
		uint32_t words[2 + 4 * NAMES_MAX / 32];
	} u;
	int error;
	struct ethtool_gstrings *names = names_of(nic, ETH_SS_FEATURES, &error);

	if (!names) {
		fact_na(j, "nic_features", nic, error, "");
		return;
	}
	memset(&u, 0, sizeof(u));
	u.f.cmd = ETHTOOL_GFEATURES;
	u.f.size = (names->len + 31) / 32;
	if (begin(j, "nic_features", nic, &u)) {
		for (uint32_t i = 0; i < names->len; i++) {
			const struct ethtool_get_features_block *b = &u.f.features[i / 32];
			bool on = b->active >> i % 32 & 1;
			bool fixed = !(b->available >> i % 32 & 1) ||
				     (b->never_changed >> i % 32 & 1);
			if (name_at(names, i)[0])
				json_string(j, name_at(names, i),
					    on ? (fixed ? "on, fixed" : "on")
					       : (fixed ? "off, fixed" : "off"));
		}
		end(j);
	}
	free(names);
}

static void fact_statistics(struct json *j, const char *nic)
{
	static union {
		struct ethtool_stats s;
		uint64_t words[1 + NAMES_MAX];
	} u;
	int error;
	struct ethtool_gstrings *names = names_of(nic, ETH_SS_STATS, &error);

	if (!names) {
		fact_na(j, "nic_statistics", nic, error, "");
		return;
	}
	memset(&u, 0, sizeof(u));
	u.s.cmd = ETHTOOL_GSTATS;
	u.s.n_stats = names->len;
	if (begin(j, "nic_statistics", nic, &u)) {
		for (uint32_t i = 0; i < names->len; i++)
			if (name_at(names, i)[0])
				json_unsigned(j, name_at(names, i), u.s.data[i]);
		end(j);
	}
	free(names);
}

static void describe_nic(struct json *j, const char *nic)
{
	fact_driver(j, nic);
	fact_link(j, nic);
	fact_rings(j, nic);
	fact_coalesce(j, nic);
	fact_pause(j, nic);
	fact_channels(j, nic);
	fact_eee(j, nic);
	fact_features(j, nic);
	fact_statistics(j, nic);
}

/* Those of hardware first: containers may have made hundreds of others. */
static void describe_nics(struct json *j)
{
	enum { MOST = 12, TOTAL_NS = 250000000 }; /* some drivers ask a slow bus */
	uint64_t begin_ns = clock_ns();
	int described = 0;

	for (int hardware = 1; hardware >= 0; hardware--) {
		DIR *dir = opendir("/sys/class/net");
		struct dirent *entry;
		while (dir && described < MOST && clock_ns() - begin_ns < TOTAL_NS &&
		       (entry = readdir(dir))) {
			char path[320];
			snprintf(path, sizeof(path), "/sys/class/net/%s/device", entry->d_name);
			if (entry->d_name[0] == '.' || (access(path, F_OK) == 0) != hardware)
				continue;
			describe_nic(j, entry->d_name);
			described++;
		}
		if (dir)
			closedir(dir);
	}
}

static void fact_qdisc(struct json *j, const struct nlmsghdr *message)
{
	const struct tcmsg *tc = NLMSG_DATA(message);
	const struct rtattr *a = (const void *)((const char *)tc + NLMSG_ALIGN(sizeof(*tc)));
	int left = (int)NLMSG_PAYLOAD(message, sizeof(*tc));
	char nic[IF_NAMESIZE];

	if (!if_indextoname((unsigned)tc->tcm_ifindex, nic))
		return;
	fact_begin(j, "qdisc", nic);
	json_open(j, "value", '{');
	json_unsigned(j, "handle", tc->tcm_handle);
	json_unsigned(j, "parent", tc->tcm_parent);
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		const unsigned char *data = RTA_DATA(a);
		size_t length = RTA_PAYLOAD(a);
		if (a->rta_type == TCA_KIND && length > 0 && data[length - 1] == '\0')
			json_string(j, "kind", (const char *)data);
		if (a->rta_type == TCA_OPTIONS && length <= 256) {
			char text[2 * 256 + 1] = "";
			for (size_t i = 0; i < length; i++)
				snprintf(text + 2 * i, 3, "%02x", data[i]);
			json_string(j, "options", text);
		}
	}
	json_close(j, '}');
	fact_send(j);
}

static int take_qdisc(void *context, const struct nlmsghdr *message)
{
	if (message->nlmsg_type == RTM_NEWQDISC &&
	    message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct tcmsg)))
		fact_qdisc(context, message);
	return 0;
}

static void describe_qdiscs(struct json *j)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = {
		.head = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETQDISC,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.tc = {.tcm_family = AF_UNSPEC},
	};
	int error = netlink_ask(NETLINK_ROUTE, &request, sizeof(request), take_qdisc, j);

	if (error)
		fact_na(j, "qdisc", NULL, -error, "");
}

void facts_network(struct json *j)
{
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (control < 0)
		control = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (control < 0) {
		fact_na(j, "nic_driver", NULL, errno, "no network");
	} else {
		describe_nics(j);
		close(control);
	}
	describe_qdiscs(j);
}
