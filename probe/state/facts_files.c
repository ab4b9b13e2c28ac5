/* How full file systems are, and what the kernel's log holds. See facts.h. */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "state/facts.h"

/* Those in memory or on a disk of the board: asking one on another machine may wait for ever. */
static bool is_here(const struct mntent *m)
{
	static const char *const kinds[] = {"overlay", "tmpfs", "ubifs", "jffs2", "zfs", "btrfs"};

	if (strncmp(m->mnt_dir, "/sys/", 5) == 0)
		return false;
	if (strncmp(m->mnt_fsname, "/dev/", 5) == 0)
		return strncmp(m->mnt_type, "fuse", 4) != 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(m->mnt_type, kinds[i]) == 0)
			return true;
	return false;
}

enum { FEATURES = 18 };

/* Of ext2, ext3 and ext4, in the order of their bits, as mke2fs calls them: compatible, incompatible,
 * and compatible for readers. What comes and goes while one is mounted (needs_recovery, orphans) is
 * left out. After Linux Documentation/filesystems/ext4/super.rst. */
static const char *const ext_features[3][FEATURES] = {
	{"dir_prealloc", "imagic_inodes", "has_journal", "ext_attr", "resize_inode", "dir_index", "-",
	 "-", "-", "sparse_super2", "fast_commit", "stable_inodes", "orphan_file"},
	{"compression", "filetype", "-", "journal_dev", "meta_bg", "-", "extent", "64bit", "mmp",
	 "flex_bg", "ea_inode", "-", "dirdata", "metadata_csum_seed", "large_dir", "inline_data",
	 "encrypt", "casefold"},
	{"sparse_super", "large_file", "-", "huge_file", "uninit_bg", "dir_nlink", "extra_isize", "-",
	 "quota", "bigalloc", "metadata_csum", "-", "-", "project", "-", "verity"},
};

static unsigned long number_at(const unsigned char *block, size_t at, size_t bytes)
{
	unsigned long number = 0;

	while (bytes-- > 0)
		number = number << 8 | block[at + bytes];
	return number;
}

/* How a file system of the ext family was made, by its first superblock; nothing for others, and
 * where its device may not be read. */
static void ext_header(struct json *j, const char *device)
{
	enum { PLACE = 1024, MAGIC = 0x38, COMPAT = 0x5c, INODE_SIZE = 0x58 };
	unsigned char block[1024];
	int fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, block, sizeof(block), PLACE);

	if (fd >= 0)
		close(fd);
	if (n != (ssize_t)sizeof(block) || number_at(block, MAGIC, 2) != 0xef53)
		return;
	for (size_t kind = 0; kind < 3; kind++)
		for (size_t bit = 0; bit < FEATURES; bit++) {
			const char *name = ext_features[kind][bit];
			char key[48];
			if (!name || *name == '-' || !(number_at(block, COMPAT + 4 * kind, 4) >> bit & 1))
				continue;
			snprintf(key, sizeof(key), "feature %s", name);
			json_string(j, key, "on");
		}
	json_unsigned(j, "inode_size", number_at(block, INODE_SIZE, 2));
}

static void fact_file_system(struct json *j, const char *point, const char *device)
{
	struct statvfs s;

	if (statvfs(point, &s) < 0) {
		fact_na(j, "filesystem", point, errno, "");
		return;
	}
	fact_begin(j, "filesystem", point);
	json_open(j, "value", '{');
	json_unsigned(j, "block_size", s.f_frsize);
	json_unsigned(j, "size", (uint64_t)s.f_blocks * s.f_frsize);
	json_unsigned(j, "free", (uint64_t)s.f_bfree * s.f_frsize);
	json_unsigned(j, "available", (uint64_t)s.f_bavail * s.f_frsize);
	json_unsigned(j, "files", s.f_files);
	json_unsigned(j, "files_free", s.f_ffree);
	ext_header(j, device);
	json_close(j, '}');
	fact_send(j);
}

void facts_file_systems(struct json *j)
{
	enum { MOST = 32 };
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	int described = 0;

	if (!mounts) {
		fact_na(j, "filesystem", NULL, errno, "/proc/self/mounts");
		return;
	}
	while (described < MOST && (m = getmntent(mounts)))
		if (is_here(m)) {
			fact_file_system(j, m->mnt_dir, m->mnt_fsname);
			described++;
		}
	endmntent(mounts);
}

/* In pieces of whole lines, each of them a fact with its number. */
static void send_log(struct json *j, char *text)
{
	enum { PIECE = 32768 };
	char number[12];

	for (int piece = 1; *text; piece++) {
		size_t length = strlen(text);
		if (length > PIECE) {
			char *end = memrchr(text, '\n', PIECE);
			length = end ? (size_t)(end - text) + 1 : PIECE;
		}
		char next = text[length];
		text[length] = '\0';
		snprintf(number, sizeof(number), "%d", piece);
		fact_begin(j, "kernel_log", number);
		json_string(j, "value", text);
		fact_send(j);
		text[length] = next;
		text += length;
	}
}

void facts_kernel_log(struct json *j)
{
	enum { READ_ALL = 3, MOST = 262144 }; /* it gives the newest lines that fit */
	char *text = malloc(MOST + 1);
	int n;

	if (!text) {
		fact_na(j, "kernel_log", NULL, ENOMEM, "");
		return;
	}
	n = klogctl(READ_ALL, text, MOST);
	if (n < 0) {
		fact_na(j, "kernel_log", NULL, errno,
			errno == EPERM ? "kernel.dmesg_restrict forbids it" : "");
	} else {
		text[n] = '\0';
		for (char *nul; (nul = memchr(text, '\0', (size_t)n));)
			*nul = ' ';
		send_log(j, text);
	}
	free(text);
}
