/* The trees by their paths. See trees.h; options of mounts have their own way (mounts.c). */
#include "state/trees.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "state/state.h"

static const struct tree *const trees[] = {
	&swaps_tree,    &qdiscs_tree,        &filters_tree,   &routes_tree,
	&services_tree, &service_files_tree, &processes_tree,
};

enum { TREES = sizeof(trees) / sizeof(trees[0]), PATH_LENGTH = TREE_NAME_MAX + 64 };

static const struct tree *tree_of(const char *path)
{
	for (int i = 0; i < TREES; i++)
		if (strncmp(path, trees[i]->root, strlen(trees[i]->root)) == 0)
			return trees[i];
	return NULL;
}

bool tree_is_path(const char *path)
{
	return mounts_is_path(path) || tree_of(path);
}

/* The path that a pattern without wildcards means; false where it has some. */
static bool is_one(const char *pattern, char path[PATH_LENGTH])
{
	size_t length = 0;

	for (; *pattern && length + 1 < PATH_LENGTH; pattern++) {
		if (strchr("*?[", *pattern))
			return false;
		if (*pattern == '\\' && pattern[1])
			pattern++;
		path[length++] = *pattern;
	}
	path[length] = '\0';
	return *pattern == '\0';
}

struct matching {
	const struct tree *tree;
	const char *pattern;
	tree_report *report;
	void *context;
	int matches;
};

static int report_matching(void *context, const char *name, const char *value)
{
	struct matching *m = context;
	char path[PATH_LENGTH];

	snprintf(path, sizeof(path), "%s%s", m->tree->root, name);
	if (fnmatch(m->pattern, path, FNM_PATHNAME))
		return 0;
	m->matches++;
	return m->report(m->context, path, value);
}

int tree_each(const char *pattern, tree_report *report, void *context)
{
	struct matching m = {tree_of(pattern), pattern, report, context, 0};
	char path[PATH_LENGTH], value[TREE_VALUE_MAX];

	if (!m.tree)
		return mounts_each(pattern, report, context);
	if (!is_one(pattern, path))
		return m.tree->list && m.tree->list(report_matching, &m) ? -1 : m.matches;
	if (m.tree->value_of(path + strlen(m.tree->root), value, sizeof(value)))
		return 0;
	return report(context, path, value) ? -1 : 1;
}

int tree_write(const char *path, const char *value)
{
	const struct tree *tree = tree_of(path);

	return tree ? tree->write(path + strlen(tree->root), value) : mounts_write(path, value);
}

bool tree_name_of(const char *path, char name[TREE_NAME_MAX])
{
	size_t length = strlen(path);

	if (length >= TREE_NAME_MAX || length == 0)
		return false;
	for (size_t i = 0; i <= length; i++) {
		if (strchr("!*?[]\\{}", path[i]) && path[i])
			return false;
		if (path[i] && !isgraph((unsigned char)path[i]))
			return false;
		name[i] = path[i];
		if (path[i] == '/')
			name[i] = '!';
	}
	return true;
}

void tree_path_of(const char *name, char path[TREE_NAME_MAX])
{
	snprintf(path, TREE_NAME_MAX, "%s", name);
	for (char *c = path; *c; c++)
		if (*c == '!')
			*c = '/';
}
