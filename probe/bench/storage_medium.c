/* What a file lies on. See storage_medium.h. */
#include "bench/storage_medium.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/files.h"

/* --- mounts ---------------------------------------------------------------------------------- */

/* One line of /proc/self/mountinfo; the texts lie in it. */
struct mount {
	int id;
	unsigned major, minor;
	char *point, *options, *type, *source, *super;
};

/* The kernel writes white space in names as \040. */
static void unescape(char *text)
{
	char *to = text;

	for (char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* proc(5): id parent major:minor root point options [tag]... - type source super-options */
static bool parse_mount(char *line, struct mount *m)
{
	char *fields[6], *rest = line;

	for (int i = 0; i < 6; i++)
		if (!(fields[i] = strsep(&rest, " ")))
			return false;
	while (rest && strncmp(rest, "- ", 2) != 0)
		strsep(&rest, " ");
	if (!rest || sscanf(fields[2], "%u:%u", &m->major, &m->minor) != 2)
		return false;
	m->id = atoi(fields[0]);
	m->point = fields[4];
	m->options = fields[5];
	strsep(&rest, " ");
	m->type = strsep(&rest, " ");
	m->source = strsep(&rest, " ");
	m->super = strsep(&rest, "\n");
	if (!m->super)
		return false;
	unescape(m->point);
	unescape(m->source);
	return true;
}

/* Calls `each` for every mount until it returns true; returns whether it did. */
static bool for_each_mount(bool (*each)(struct mount *m, void *context), void *context)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (file && !found && getline(&line, &size, file) > 0) {
		struct mount m;
		found = parse_mount(line, &m) && each(&m, context);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* The device of a mount; false when it has none (tmpfs, a network). btrfs, among others, gives its
 * files a number that is no device's, and only names the device. */
static bool mount_device(const struct mount *mount, unsigned *major_number, unsigned *minor_number)
{
	struct stat s;

	*major_number = mount->major;
	*minor_number = mount->minor;
	if (mount->major)
		return true;
	if (mount->source[0] != '/' || stat(mount->source, &s) < 0 || !S_ISBLK(s.st_mode))
		return false;
	*major_number = major(s.st_rdev);
	*minor_number = minor(s.st_rdev);
	return true;
}

/* --- what kind of file system ---------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *words)
{
	size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return length > 0;
	return false;
}

static enum nature nature_of_type(const char *type)
{
	if (is_one_of(type, "tmpfs ramfs rootfs devtmpfs hugetlbfs"))
		return NATURE_MEMORY;
	if (is_one_of(type, "nfs nfs4 cifs smb3 9p virtiofs ceph afs fuse") ||
	    strncmp(type, "fuse.", 5) == 0)
		return NATURE_NETWORK;
	return NATURE_STORAGE;
}

/* --- devices --------------------------------------------------------------------------------- */

/* The directory of a device in /sys, by one of the links there that all lead to it. */
static bool device_directory(const char *link, char path[PATH_MAX])
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 8);

	path[0] = '\0';
	if (n <= 6 || memcmp(target, "../../", 6) != 0)
		return false;
	target[n] = '\0';
	snprintf(path, PATH_MAX, "/sys/%s", target + 6);
	return true;
}

/* From a partition to its disk. */
static void to_whole_disk(char *path)
{
	char mark[PATH_MAX + 16];

	snprintf(mark, sizeof(mark), "%s/partition", path);
	if (access(mark, F_OK) == 0)
		*strrchr(path, '/') = '\0';
}

static bool disk_of(unsigned major_number, unsigned minor_number, char disk[PATH_MAX])
{
	char link[64];

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major_number, minor_number);
	if (!device_directory(link, disk))
		return false;
	to_whole_disk(disk);
	return true;
}

bool medium_device_path(const struct medium *m, char path[PATH_MAX])
{
	char link[64], directory[PATH_MAX];

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", m->major, m->minor);
	if (!m->disk[0] || !device_directory(link, directory))
		return false;
	snprintf(path, PATH_MAX, "/dev/%s", strrchr(directory, '/') + 1);
	return true;
}

static const char *disk_name(const struct medium *m)
{
	const char *slash = strrchr(m->disk, '/');

	return slash ? slash + 1 : "";
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static ssize_t disk_attribute(const struct medium *m, const char *name, char *text, size_t size)
{
	char path[PATH_MAX + 64];

	if (!m->disk[0])
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/%s", m->disk, name);
	return file_read(path, text, size);
}

/* Overlays and loop devices lie on another file. */
static void look_through(const char *path, struct medium *beneath, int depth);

static void find_disk(struct medium *m, int depth)
{
	const char *name;
	char backing[PATH_MAX];

	if (!disk_of(m->major, m->minor, m->disk))
		return;
	name = disk_name(m);
	m->nature = NATURE_STORAGE;
	if (begins(name, "zram") || begins(name, "ram"))
		m->nature = NATURE_MEMORY;
	else if (begins(name, "nbd"))
		m->nature = NATURE_NETWORK;
	else if (begins(name, "loop") &&
		 disk_attribute(m, "loop/backing_file", backing, sizeof(backing)) > 0) {
		struct medium beneath;
		look_through(backing, &beneath, depth);
		if (beneath.nature != NATURE_UNKNOWN)
			m->nature = beneath.nature;
	}
}

/* --- a file ---------------------------------------------------------------------------------- */

struct search {
	int id;
	struct medium *medium;
	char upper[PATH_MAX];
};

static bool take_mount(struct mount *mount, void *context)
{
	struct search *s = context;
	struct medium *m = s->medium;
	char *upper;

	if (mount->id != s->id)
		return false;
	snprintf(m->type, sizeof(m->type), "%s", mount->type);
	snprintf(m->point, sizeof(m->point), "%s", mount->point);
	snprintf(m->options, sizeof(m->options), "%s", mount->options);
	m->read_only = begins(mount->options, "ro") || begins(mount->super, "ro");
	m->nature = nature_of_type(mount->type);
	if (mount_device(mount, &m->major, &m->minor))
		snprintf(m->device, sizeof(m->device), "%s", mount->source);
	else
		m->major = m->minor = 0;
	upper = strstr(mount->super, "upperdir=");
	if (strcmp(mount->type, "overlay") == 0 && upper) {
		snprintf(s->upper, sizeof(s->upper), "%s", upper + strlen("upperdir="));
		s->upper[strcspn(s->upper, ",")] = '\0';
		unescape(s->upper);
	}
	return true;
}

static void overlay(struct medium *m, const char *upper, int depth)
{
	struct medium beneath;

	look_through(upper, &beneath, depth);
	m->nature = beneath.nature;
	if (beneath.nature == NATURE_UNKNOWN)
		return;
	snprintf(m->type, sizeof(m->type), "overlay on %.60s", beneath.type);
	memcpy(m->device, beneath.device, sizeof(m->device));
	memcpy(m->disk, beneath.disk, sizeof(m->disk));
	m->major = beneath.major;
	m->minor = beneath.minor;
}

/* Since 3.15 a descriptor tells its mount: sure where paths are not (mounts over mounts, bind
 * mounts, links). */
static int mount_id(int fd)
{
	char path[64], text[1024];
	char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (file_read(path, text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, "mnt_id:");
	return at ? atoi(at + strlen("mnt_id:")) : -1;
}

static void find_medium(int fd, struct medium *m, int depth)
{
	struct search search = {.id = mount_id(fd), .medium = m};
	struct stat s;

	memset(m, 0, sizeof(*m));
	if (fstat(fd, &s) < 0)
		return;
	if (S_ISBLK(s.st_mode)) {
		m->major = major(s.st_rdev);
		m->minor = minor(s.st_rdev);
		find_disk(m, depth);
		return;
	}
	if (!for_each_mount(take_mount, &search))
		return;
	if (strcmp(m->type, "overlay") == 0)
		overlay(m, search.upper, depth);
	else if (m->major)
		find_disk(m, depth);
}

static void look_through(const char *path, struct medium *beneath, int depth)
{
	enum { DEEPEST = 4 };
	int fd = depth < DEEPEST ? open(path, O_PATH | O_CLOEXEC) : -1;

	memset(beneath, 0, sizeof(*beneath));
	if (fd < 0)
		return;
	find_medium(fd, beneath, depth + 1);
	close(fd);
}

void medium_of(int fd, struct medium *m)
{
	find_medium(fd, m, 0);
}

/* --- telling --------------------------------------------------------------------------------- */

static const char *kind_of(const struct medium *m)
{
	static const struct {
		const char *prefix, *kind;
	} kinds[] = {
		{"nvme", "NVMe"},        {"vd", "virtio"},           {"xvd", "Xen"},
		{"loop", "loop"},        {"zram", "memory (zram)"},  {"ram", "memory"},
		{"dm-", "device mapper"},{"md", "RAID"},             {"nbd", "network"},
		{"mtdblock", "flash (MTD)"}, {"ubiblock", "flash (UBI)"}, {"sr", "optical"},
	};
	const char *name = disk_name(m);
	char text[64];

	if (begins(name, "mmcblk")) {
		if (disk_attribute(m, "device/type", text, sizeof(text)) < 0)
			return "MMC or SD";
		return strcmp(text, "SD") == 0 ? "SD card" : strcmp(text, "MMC") == 0 ? "eMMC" : "MMC";
	}
	if (begins(name, "sd"))
		return strstr(m->disk, "/usb") ? "USB" : "SATA or SCSI";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (begins(name, kinds[i].prefix))
			return kinds[i].kind;
	return begins(m->type, "ubifs") || begins(m->type, "jffs2") ? "flash (MTD)" : NULL;
}

static void describe_text(const struct medium *m, struct json *j, const char *key,
			  const char *const names[], const char *why_not)
{
	char text[256];

	for (int i = 0; names[i]; i++) {
		if (disk_attribute(m, names[i], text, sizeof(text)) > 0) {
			json_string(j, key, text);
			return;
		}
	}
	json_na(j, key, why_not);
}

static void describe_number(const struct medium *m, struct json *j, const char *key,
			    const char *name, uint64_t factor)
{
	char text[64];

	if (disk_attribute(m, name, text, sizeof(text)) > 0)
		json_unsigned(j, key, strtoull(text, NULL, 10) * factor);
	else
		json_na(j, key, m->disk[0] ? "the kernel does not say" : "no block device");
}

/* "none [mq-deadline] kyber": the one in brackets. */
static void describe_scheduler(const struct medium *m, struct json *j)
{
	char text[256], *from;

	if (disk_attribute(m, "queue/scheduler", text, sizeof(text)) <= 0) {
		json_na(j, "scheduler", m->disk[0] ? "the kernel does not say" : "no block device");
		return;
	}
	from = strchr(text, '[');
	if (from && strchr(from, ']')) {
		from++;
		*strchr(from, ']') = '\0';
	}
	json_string(j, "scheduler", from ? from : text);
}

static void describe_file_system(const struct medium *m, struct json *j)
{
	if (!m->type[0]) {
		json_na(j, "file_system", m->major ? "a device, not a file" : "no mountinfo in /proc");
		return;
	}
	json_string(j, "file_system", m->type);
	json_string(j, "mounted_at", m->point);
	json_string(j, "mount_options", m->options);
}

void medium_describe(const struct medium *m, struct json *j)
{
	static const char *const models[] = {"device/model", "device/name", "dm/name",
					     "loop/backing_file", NULL};
	const char *kind = kind_of(m);

	describe_file_system(m, j);
	if (m->device[0])
		json_string(j, "device", m->device);
	else if (!m->disk[0])
		json_na(j, "device", "no block device, or none that can be seen from here");
	if (m->disk[0])
		json_string(j, "disk", disk_name(m));
	if (kind)
		json_string(j, "kind", kind);
	else
		json_na(j, "kind", "a kind of device not known here");
	describe_text(m, j, "model", models, "the device gives no name");
	describe_number(m, j, "disk_bytes", "size", 512);
	describe_number(m, j, "rotational", "queue/rotational", 1);
	describe_number(m, j, "logical_block_bytes", "queue/logical_block_size", 1);
	describe_number(m, j, "physical_block_bytes", "queue/physical_block_size", 1);
	describe_number(m, j, "read_ahead_kb", "queue/read_ahead_kb", 1);
	describe_scheduler(m, j);
}

bool medium_backing_is_cached(const struct medium *m)
{
	char dio[8];

	if (!m->disk[0] || !begins(disk_name(m), "loop"))
		return false;
	/* Kernels before 4.4 have no such file, and always go through the cache. */
	return disk_attribute(m, "loop/dio", dio, sizeof(dio)) <= 0 || dio[0] != '1';
}

int64_t medium_traffic(const struct medium *m)
{
	unsigned long long read_sectors, written_sectors;
	char path[64], text[256];

	if (!m->major)
		return -ENODEV;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", m->major, m->minor);
	if (file_read(path, text, sizeof(text)) < 0 ||
	    sscanf(text, "%*u %*u %llu %*u %*u %*u %llu", &read_sectors, &written_sectors) != 2)
		return -ENODATA;
	return (int64_t)((read_sectors + written_sectors) * 512);
}

uint32_t medium_sector(const struct medium *m)
{
	char text[64];

	if (disk_attribute(m, "queue/logical_block_size", text, sizeof(text)) <= 0)
		return 4096;
	return (uint32_t)strtoul(text, NULL, 10);
}

/* --- what else is on a disk ------------------------------------------------------------------ */

enum { DISKS_MAX = 8 };

struct disks {
	char *path[DISKS_MAX];
	int count;
};

/* The disks that a device is made of: through device mapper and RAID down to what is really
 * there. */
static void add_disks(struct disks *disks, const char *path, int depth)
{
	enum { DEEPEST = 8 };
	char below[PATH_MAX + 16];
	struct dirent *entry;
	bool composed = false;
	DIR *dir;

	snprintf(below, sizeof(below), "%s/slaves", path);
	dir = depth < DEEPEST ? opendir(below) : NULL;
	while (dir && (entry = readdir(dir))) {
		char link[300], slave[PATH_MAX];
		snprintf(link, sizeof(link), "/sys/class/block/%s", entry->d_name);
		if (entry->d_name[0] == '.' || !device_directory(link, slave))
			continue;
		composed = true;
		to_whole_disk(slave);
		add_disks(disks, slave, depth + 1);
	}
	if (dir)
		closedir(dir);
	if (!composed && disks->count < DISKS_MAX)
		disks->path[disks->count++] = strdup(path);
}

static void free_disks(struct disks *disks)
{
	for (int i = 0; i < disks->count; i++)
		free(disks->path[i]);
}

/* An eMMC's boot partitions are devices beneath its own. */
static bool is_same_disk(const char *a, const char *b)
{
	size_t shorter = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

	return strncmp(a, b, shorter) == 0 && (a[shorter] == '\0' || a[shorter] == '/') &&
	       (b[shorter] == '\0' || b[shorter] == '/');
}

static bool meet(const struct disks *a, const struct disks *b)
{
	for (int i = 0; i < a->count; i++)
		for (int k = 0; k < b->count; k++)
			if (!a->path[i] || !b->path[k] || is_same_disk(a->path[i], b->path[k]))
				return true;
	return a->count == DISKS_MAX || b->count == DISKS_MAX; /* not all were looked at */
}

struct mounted {
	struct disks given;
	char point[256];
};

static bool is_from(struct mount *mount, void *context)
{
	struct mounted *m = context;
	struct disks disks = {0};
	unsigned major_number, minor_number;
	char disk[PATH_MAX];
	bool same;

	if (!mount_device(mount, &major_number, &minor_number) ||
	    !disk_of(major_number, minor_number, disk))
		return false;
	add_disks(&disks, disk, 0);
	same = meet(&disks, &m->given);
	free_disks(&disks);
	if (same)
		snprintf(m->point, sizeof(m->point), "%s", mount->point);
	return same;
}

const char *medium_mounted_at(const struct medium *m)
{
	static struct mounted mounted;
	bool found;

	memset(&mounted, 0, sizeof(mounted));
	add_disks(&mounted.given, m->disk, 0);
	found = for_each_mount(is_from, &mounted);
	free_disks(&mounted.given);
	return found ? mounted.point : NULL;
}
