/* How file systems are mounted, as files that are read and written like those of /proc/sys:
 * /proc/self/mountinfo/!data/sync. No real file can have such a path, for mountinfo is one itself.
 * A mount point stands there with "!" for "/", as sysfs writes names with slashes.
 *
 * mount(2): MS_REMOUNT with MS_BIND changes the options of this mount alone, and MS_REMOUNT those of
 * the file system too, where all that is not given is taken away: so everything is given that
 * mountinfo shows (proc_pid_mountinfo(5)). What a file system has made of it is read back. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "state/state.h"

#ifndef MS_LAZYTIME
#define MS_LAZYTIME (1 << 25)
#endif

enum { POINT_MAX = 256, OPTIONS_MAX = 1024, MOUNTS_MAX = 32 };

struct mounted {
	char point[POINT_MAX];
	char kind[32];
	char own[OPTIONS_MAX];  /* of this mount */
	char super[OPTIONS_MAX]; /* of its file system */
};

static const char root[] = "/proc/self/mountinfo/";

/* Words that mount(2) takes as flags. */
static const struct {
	const char *word;
	unsigned long flag;
} own_flags[] = {
	{"ro", MS_RDONLY},         {"nosuid", MS_NOSUID},         {"nodev", MS_NODEV},
	{"noexec", MS_NOEXEC},     {"nodiratime", MS_NODIRATIME}, {"noatime", MS_NOATIME},
	{"relatime", MS_RELATIME},
}, super_flags[] = {
	{"ro", MS_RDONLY},         {"sync", MS_SYNCHRONOUS},      {"dirsync", MS_DIRSYNC},
	{"mand", MS_MANDLOCK},     {"lazytime", MS_LAZYTIME},
};

/* An option that may be changed: the words that say it, the first one where mountinfo shows none. */
static const struct option {
	const char *name;
	enum { OWN, SUPER, DATA } of;
	const char *words[4];
	const char *kinds; /* of file systems that have it, with a space at either end */
} options[] = {
	{"atime", OWN, {"strictatime", "relatime", "noatime"}, ""},
	{"diratime", OWN, {"diratime", "nodiratime"}, ""},
	{"sync", SUPER, {"async", "sync"}, ""},
	{"lazytime", SUPER, {"nolazytime", "lazytime"}, ""},
	{"discard", DATA, {"nodiscard", "discard"}, " ext4 f2fs xfs "},
	{"barrier", DATA, {"barrier", "nobarrier"}, " ext4 f2fs "},
};

enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

/* Those whose superblock may be given its own options again; of others only the mount's are set. */
static const char with_super[] =
	" ext2 ext3 ext4 xfs f2fs btrfs vfat exfat ubifs jffs2 tmpfs ";
static const char without_super[] = " overlay nfs nfs4 squashfs erofs iso9660 ntfs3 ";

static bool is_among(const char *kinds, const char *kind)
{
	char word[40];

	snprintf(word, sizeof(word), " %s ", kind);
	return strstr(kinds, word) != NULL;
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* `\040` becomes a space, and so on. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && isdigit((unsigned char)from[1]) &&
		    isdigit((unsigned char)from[2]) && isdigit((unsigned char)from[3])) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* One line; false for what is no mount of files, or has a name that cannot be written as a path. */
static bool parse(const char *line, struct mounted *m)
{
	const char *rest = strstr(line, " - ");

	if (!rest || sscanf(line, "%*s %*s %*s %*s %255s %1023s", m->point, m->own) != 2 ||
	    sscanf(rest, " - %31s %*s %1023s", m->kind, m->super) != 2)
		return false;
	unescape(m->point);
	unescape(m->super);
	for (const char *c = m->point; *c; c++)
		if (strchr("!*?[]\\", *c) || !isprint((unsigned char)*c))
			return false;
	return is_among(with_super, m->kind) || is_among(without_super, m->kind);
}

/* All mounts, of several at one point the last, which is the one that is seen. */
static int all(struct mounted mounts[MOUNTS_MAX])
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	int count = 0;

	while (file && getline(&line, &size, file) >= 0) {
		struct mounted m;
		int at = 0;
		line[strcspn(line, "\n")] = '\0';
		if (!parse(line, &m))
			continue;
		while (at < count && strcmp(mounts[at].point, m.point) != 0)
			at++;
		if (at == MOUNTS_MAX)
			continue;
		mounts[at] = m;
		count += at == count;
	}
	free(line);
	if (file)
		fclose(file);
	return count;
}

static bool has(const struct mounted *m, const struct option *option)
{
	if (option->kinds[0])
		return is_among(option->kinds, m->kind);
	return option->of == OWN || is_among(with_super, m->kind);
}

static void path_of(const struct mounted *m, const struct option *option, char *path, size_t size)
{
	size_t at = (size_t)snprintf(path, size, "%s%s/%s", root, m->point, option->name);

	if (at < size)
		for (size_t i = sizeof(root) - 1; i < sizeof(root) - 1 + strlen(m->point); i++)
			if (path[i] == '/')
				path[i] = '!';
}

static const char *value_of(const struct mounted *m, const struct option *option)
{
	const char *shown = option->of == OWN ? m->own : m->super;

	for (int i = 3; i > 0; i--)
		if (option->words[i] && has_word(shown, option->words[i]))
			return option->words[i];
	return option->words[0];
}

bool mounts_is_path(const char *path)
{
	return strncmp(path, root, sizeof(root) - 1) == 0;
}

int mounts_each(const char *pattern, mounts_report *report, void *context)
{
	static struct mounted mounts[MOUNTS_MAX];
	int count = all(mounts), matches = 0;
	char path[POINT_MAX + 64];

	for (int i = 0; i < count; i++)
		for (int o = 0; o < OPTIONS; o++) {
			path_of(&mounts[i], &options[o], path, sizeof(path));
			if (!has(&mounts[i], &options[o]) || fnmatch(pattern, path, FNM_PATHNAME))
				continue;
			matches++;
			if (report(context, path, value_of(&mounts[i], &options[o])))
				return -1;
		}
	return matches;
}

static unsigned long flag_of(const char *list, const char *word, unsigned long flag)
{
	return has_word(list, word) ? flag : 0;
}

static unsigned long flags_of_mount(const struct mounted *m)
{
	unsigned long flags = 0;

	for (size_t i = 0; i < sizeof(own_flags) / sizeof(own_flags[0]); i++)
		flags |= flag_of(m->own, own_flags[i].word, own_flags[i].flag);
	return flags & (MS_NOATIME | MS_RELATIME) ? flags : flags | MS_STRICTATIME;
}

static unsigned long own_flag(const char *word)
{
	if (strcmp(word, "strictatime") == 0)
		return MS_STRICTATIME;
	for (size_t i = 0; i < sizeof(own_flags) / sizeof(own_flags[0]); i++)
		if (strcmp(own_flags[i].word, word) == 0)
			return own_flags[i].flag;
	return 0;
}

/* This mount alone. */
static int remount_own(const struct mounted *m, const struct option *option, const char *value)
{
	unsigned long flags = flags_of_mount(m);

	if (strcmp(option->name, "atime") == 0)
		flags &= ~(unsigned long)(MS_NOATIME | MS_RELATIME | MS_STRICTATIME);
	else
		flags &= ~(unsigned long)MS_NODIRATIME;
	flags |= own_flag(value);
	return mount(NULL, m->point, NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0 ? -errno : 0;
}

/* Adds a word to a list; false where it has no room. */
static bool add(char *list, size_t size, const char *word, size_t length)
{
	size_t at = strlen(list);

	if (at + length + 2 > size)
		return false;
	snprintf(list + at, size - at, "%s%.*s", at ? "," : "", (int)length, word);
	return true;
}

static bool is_of(const struct option *option, const char *word, size_t length)
{
	for (int i = 0; i < 4 && option->words[i]; i++)
		if (strlen(option->words[i]) == length && !strncmp(option->words[i], word, length))
			return true;
	return false;
}

/* What the file system is given: all of its own words, but those that are flags, what a security
 * module adds, and the option that is changed. */
static bool data_of(const struct mounted *m, const struct option *option, const char *value,
		    char *data, size_t size, unsigned long *flags)
{
	data[0] = '\0';
	*flags = 0;
	for (const char *word = m->super; *word;) {
		size_t length = strcspn(word, ",");
		bool is_flag = (length == 2 && !strncmp(word, "rw", 2)) ||
			       (length == 8 && !strncmp(word, "seclabel", 8));
		for (size_t i = 0; i < sizeof(super_flags) / sizeof(super_flags[0]); i++)
			if (strlen(super_flags[i].word) == length &&
			    !strncmp(super_flags[i].word, word, length)) {
				*flags |= super_flags[i].flag;
				is_flag = true;
			}
		if (!is_flag && !is_of(option, word, length) && !add(data, size, word, length))
			return false;
		word += length + (word[length] == ',');
	}
	return option->of != DATA || add(data, size, value, strlen(value));
}

static int remount_super(const struct mounted *m, const struct option *option, const char *value)
{
	char data[OPTIONS_MAX + 64];
	unsigned long flags, own = flags_of_mount(m);

	/* Both are made what is given, so where they differ one of them would change as well. */
	if (has_word(m->own, "ro") != has_word(m->super, "ro"))
		return -EBUSY;
	if (!data_of(m, option, value, data, sizeof(data), &flags))
		return -E2BIG;
	if (option->of == SUPER)
		for (size_t i = 0; i < sizeof(super_flags) / sizeof(super_flags[0]); i++) {
			if (strcmp(super_flags[i].word, option->words[1]) != 0)
				continue;
			flags &= ~super_flags[i].flag;
			flags |= strcmp(value, option->words[1]) == 0 ? super_flags[i].flag : 0;
		}
	return mount(NULL, m->point, NULL, MS_REMOUNT | flags | own, data) < 0 ? -errno : 0;
}

int mounts_write(const char *path, const char *value)
{
	static struct mounted mounts[MOUNTS_MAX];
	int count = all(mounts);
	char own[POINT_MAX + 64];

	for (int i = 0; i < count; i++)
		for (int o = 0; o < OPTIONS; o++) {
			const struct option *option = &options[o];
			path_of(&mounts[i], option, own, sizeof(own));
			if (!has(&mounts[i], option) || strcmp(path, own) != 0)
				continue;
			if (!is_of(option, value, strlen(value)))
				return -EINVAL;
			return option->of == OWN ? remount_own(&mounts[i], option, value)
						 : remount_super(&mounts[i], option, value);
		}
	return -ENOENT;
}
