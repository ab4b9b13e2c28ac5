/* How full file systems are, and what the kernel's log holds. See facts.h. */
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/statvfs.h>

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

static void fact_file_system(struct json *j, const char *point)
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
			fact_file_system(j, m->mnt_dir);
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
