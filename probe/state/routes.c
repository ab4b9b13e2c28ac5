/* Routes to one destination, and the rules that choose among tables, as ip(8) has them:
 * /proc/net/route/4,main,10.9.0.0!16 holds `10.9.0.0/16 via 10.0.0.1 dev eth0 metric 5`, and
 * /proc/net/route/4,rules, `pref 0 from all lookup local; pref 100 from all lookup 7`; `none` where
 * there are none. Writing takes away what is no longer in it, and adds what is new.
 *
 * The way back to who is logged in stays as it is: what would change it is undone at once (EBUSY). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/services.h"
#include "state/trees.h"

enum { WORDS_MAX = 48, WAY_MAX = 256 };
static const char none[] = "none";

struct routes {
	char family[3], table[64], destination[TREE_NAME_MAX];
	bool rules;
};

static bool parse(const char *name, struct routes *r)
{
	char rest[TREE_NAME_MAX];

	if ((name[0] != '4' && name[0] != '6') ||
	    sscanf(name + 1, ",%63[^,],%255s", r->table, rest) < 1)
		return false;
	snprintf(r->family, sizeof(r->family), "-%c", name[0]);
	r->rules = strcmp(name + 2, "rules,") == 0;
	r->destination[0] = '\0';
	if (!r->rules)
		tree_path_of(strrchr(name, ',') + 1, r->destination);
	return r->rules || (r->destination[0] && strlen(name) < TREE_NAME_MAX);
}

/* Lines become parts with "; " between them. */
static int look(const struct routes *r, char *value, size_t size)
{
	static char output[TREE_VALUE_MAX];
	char *show[] = {"ip", (char *)r->family, "route", "show", "table", (char *)r->table, "exact",
			(char *)r->destination, NULL};
	char *list[] = {"ip", (char *)r->family, "rule", NULL};
	char *line, *word, *rest = NULL, *more;
	size_t at = 0;
	int error = run_as_init(r->rules ? list : show, output, sizeof(output));

	if (error == -EIO && !r->rules) /* a table without any */
		output[0] = '\0';
	else if (error || strlen(output) + 1 == sizeof(output))
		return error ? error : -E2BIG;
	for (line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *before = at ? "; " : "";
		if (r->rules && strchr(line, ':')) {
			*strchr(line, ':') = ' '; /* after its number */
			at += (size_t)snprintf(value + at, size - at, "%spref ", before);
			before = "";
		}
		for (word = strtok_r(line, " \t", &more); word; word = strtok_r(NULL, " \t", &more)) {
			if (at + strlen(word) + 8 > size)
				return -E2BIG;
			at += (size_t)snprintf(value + at, size - at, "%s%s", before, word);
			before = " ";
		}
	}
	if (at == 0)
		snprintf(value, size, none);
	return 0;
}

static int value_of(const char *name, char *value, size_t size)
{
	struct routes r;

	return parse(name, &r) ? look(&r, value, size) : -ENOENT;
}

static size_t length_of(const char *part)
{
	const char *end = strstr(part, "; ");

	return end ? (size_t)(end - part) : strlen(part);
}

static const char *next_of(const char *part)
{
	part += length_of(part);
	return *part ? part + 2 : NULL;
}

static bool has(const char *value, const char *wanted)
{
	size_t length = length_of(wanted);

	for (; value; value = next_of(value))
		if (length_of(value) == length && memcmp(value, wanted, length) == 0)
			return true;
	return false;
}

static int change(const struct routes *r, char *action, const char *part)
{
	char line[TREE_VALUE_MAX], *rest = NULL, *word;
	char *argv[WORDS_MAX] = {"ip", (char *)r->family, r->rules ? "rule" : "route", action};
	int count = 4;
	bool is_of_it = r->rules;

	snprintf(line, sizeof(line), "%.*s", (int)length_of(part), part);
	if (strcmp(line, none) == 0)
		return 0;
	for (word = strtok_r(line, " ", &rest); word && count < WORDS_MAX - 3;
	     word = strtok_r(NULL, " ", &rest)) {
		/* after its type, or first */
		is_of_it |= count < 6 && strcmp(word, r->destination) == 0;
		argv[count++] = word;
	}
	if (!is_of_it || word)
		return -EINVAL;
	if (!r->rules) {
		argv[count++] = "table";
		argv[count++] = (char *)r->table;
	}
	argv[count] = NULL;
	return run_as_init(argv, NULL, 0);
}

/* All parts of the one value that the other one does not have. */
static int each(const struct routes *r, char *action, const char *parts, const char *but)
{
	int error = 0;

	for (; parts && !error; parts = next_of(parts))
		if (!has(but, parts))
			error = change(r, action, parts);
	return error;
}

static int go(const struct routes *r, const char *from, const char *to)
{
	int error = each(r, "del", from, to);

	return error ? error : each(r, r->rules ? "add" : "append", to, from);
}

/* How packets go to who is logged in; what is kept of it, as its MTU, stands in another line. */
static void way_back(char way[WAY_MAX])
{
	const char *connection = getenv("SSH_CONNECTION");
	char client[64];
	char *argv[] = {"ip", "route", "get", client, NULL};

	way[0] = '\0';
	if (!connection)
		return;
	snprintf(client, sizeof(client), "%.*s", (int)strcspn(connection, " "), connection);
	if (run_as_init(argv, way, WAY_MAX))
		way[0] = '\0';
	way[strcspn(way, "\n")] = '\0';
}

static int write_routes(const char *name, const char *value)
{
	char before[WAY_MAX], after[WAY_MAX], old[TREE_VALUE_MAX], now[TREE_VALUE_MAX];
	struct routes r;
	int error = value_of(name, old, sizeof(old));

	if (error)
		return error;
	parse(name, &r);
	way_back(before);
	error = go(&r, old, value);
	way_back(after);
	if (!error && strcmp(before, after))
		error = -EBUSY;
	if (error && value_of(name, now, sizeof(now)) == 0)
		go(&r, now, old);
	return error;
}

/* Their names are known from `ip route`, so none are listed. */
const struct tree routes_tree = {"/proc/net/route/", NULL, value_of, write_routes};
