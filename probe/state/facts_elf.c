/* How the programs of the board were built: the shell's and the C library's headers. See facts.h.
 *
 * Every offset comes from a file that may be cut or broken, so nothing is read but through at(). */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/facts.h"

struct elf {
	const unsigned char *data;
	uint64_t size;
	bool wide; /* 64-bit */
};

/* A part of a file: a segment or a section. */
struct part {
	uint64_t name, type, offset, size;
};

static uint64_t at(const struct elf *e, uint64_t offset, unsigned bytes)
{
	uint64_t value = 0;

	if (offset > e->size || e->size - offset < bytes)
		return 0;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)e->data[offset + i] << 8 * i;
	return value;
}

/* Text there, cut to what the file has; empty when it has nothing. */
static void text_at(const struct elf *e, uint64_t offset, char *text, size_t size)
{
	uint64_t left = offset < e->size ? e->size - offset : 0;

	snprintf(text, size, "%.*s", (int)(left < size ? left : size - 1),
		 left ? (const char *)e->data + offset : "");
}

static struct part segment(const struct elf *e, unsigned index)
{
	uint64_t base = at(e, e->wide ? 32 : 28, e->wide ? 8 : 4) +
			(uint64_t)index * at(e, e->wide ? 54 : 42, 2);

	if (e->wide)
		return (struct part){.type = at(e, base, 4), .offset = at(e, base + 8, 8),
				     .size = at(e, base + 32, 8)};
	return (struct part){.type = at(e, base, 4), .offset = at(e, base + 4, 4),
			     .size = at(e, base + 16, 4)};
}

static struct part section(const struct elf *e, uint64_t index)
{
	uint64_t base = at(e, e->wide ? 40 : 32, e->wide ? 8 : 4) +
			index * at(e, e->wide ? 58 : 46, 2);

	if (e->wide)
		return (struct part){at(e, base, 4), at(e, base + 4, 4), at(e, base + 24, 8),
				     at(e, base + 32, 8)};
	return (struct part){at(e, base, 4), at(e, base + 4, 4), at(e, base + 16, 4),
			     at(e, base + 20, 4)};
}

static void describe_compiler(const struct elf *e, struct json *j)
{
	struct part names = section(e, at(e, e->wide ? 62 : 50, 2));
	uint64_t count = at(e, e->wide ? 60 : 48, 2);
	char text[120];

	for (uint64_t i = 0; i < count; i++) {
		struct part p = section(e, i);
		text_at(e, names.offset + p.name, text, sizeof(text));
		if (strcmp(text, ".comment") == 0) {
			text_at(e, p.offset, text, sizeof(text));
			json_string(j, "compiler", text);
			return;
		}
	}
}

static void describe_note(const struct elf *e, uint64_t type, uint64_t offset, uint64_t size,
			  struct json *j)
{
	char text[2 * 32 + 1];

	if (type == NT_GNU_BUILD_ID && size <= 32) {
		for (uint64_t i = 0; i < size; i++)
			snprintf(text + 2 * i, 3, "%02x", (unsigned)at(e, offset + i, 1));
		json_string(j, "build_id", text);
	} else if (type == NT_GNU_PROPERTY_TYPE_0) {
		/* branch protection: BTI and PAC of Arm, IBT and shadow stacks of x86 */
		uint64_t property = at(e, offset, 4);
		if (property == 0xc0000000 || property == 0xc0000002) {
			snprintf(text, sizeof(text), "0x%x", (unsigned)at(e, offset + 8, 4));
			json_string(j, "branch_protection", text);
		}
	}
}

static void describe_notes(const struct elf *e, struct part p, struct json *j)
{
	enum { MOST = 16 };
	uint64_t offset = p.offset;

	for (int i = 0; i < MOST && offset < p.offset + p.size; i++) {
		uint64_t name = at(e, offset, 4), size = at(e, offset + 4, 4);
		uint64_t content = offset + 12 + ((name + 3) & ~3ull);
		if (name == 4 && at(e, offset + 12, 4) == 0x554e47 && size < e->size) /* GNU */
			describe_note(e, at(e, offset + 8, 4), content, size, j);
		offset = content + ((size + 3) & ~3ull);
	}
}

static void describe(const struct elf *e, struct json *j, char *interpreter)
{
	uint64_t segments = at(e, e->wide ? 56 : 44, 2);
	uint64_t type = at(e, 16, 2);
	char flags[16];

	snprintf(flags, sizeof(flags), "0x%x", (unsigned)at(e, e->wide ? 48 : 36, 4));
	json_signed(j, "class", e->wide ? 64 : 32);
	json_unsigned(j, "machine", at(e, 18, 2));
	json_string(j, "flags", flags);
	json_string(j, "type", type == ET_EXEC ? "fixed address" : type == ET_DYN ? "any address"
								: "other");
	interpreter[0] = '\0';
	for (unsigned i = 0; i < segments && i < 64; i++) {
		struct part p = segment(e, i);
		if (p.type == PT_INTERP)
			text_at(e, p.offset, interpreter, 256);
		if (p.type == PT_NOTE)
			describe_notes(e, p, j);
	}
	if (interpreter[0])
		json_string(j, "interpreter", interpreter);
	describe_compiler(e, j);
}

static int map(const char *path, struct elf *e)
{
	struct stat st;
	void *data;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int error = 0;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 64) {
		error = ENOEXEC;
	} else {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			error = errno;
		else
			*e = (struct elf){data, (uint64_t)st.st_size, false};
	}
	close(fd);
	if (error == 0 && (memcmp(e->data, ELFMAG, 4) != 0 || e->data[5] != ELFDATA2LSB)) {
		munmap((void *)e->data, (size_t)e->size);
		error = ENOEXEC;
	}
	e->wide = error == 0 && e->data[4] == ELFCLASS64;
	return error;
}

static int fact_elf(struct json *j, const char *subject, const char *path, char *interpreter,
		    struct elf *e)
{
	int error = map(path, e);

	if (error) {
		fact_na(j, "elf", subject, error, path);
		return error;
	}
	fact_begin(j, "elf", subject);
	json_open(j, "value", '{');
	describe(e, j, interpreter);
	json_close(j, '}');
	fact_send(j);
	return 0;
}

/* "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36." stands in glibc itself. */
static void describe_glibc(const struct elf *e, struct json *j)
{
	static const char banner[] = "GNU C Library (";
	const char *text_begin = memmem(e->data, (size_t)e->size, banner, sizeof(banner) - 1);
	char text[120];

	if (!text_begin)
		return;
	text_at(e, (uint64_t)(text_begin - (const char *)e->data), text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	json_string(j, "banner", text);
}

/* The library lies beside the interpreter, or is the same file (musl). */
static void fact_libc(struct json *j, const char *interpreter)
{
	static const struct {
		const char *kind, *mark, *file;
	} kinds[] = {
		{"musl", "ld-musl", NULL},
		{"uClibc", "ld-uClibc", "libc.so.0"},
		{"glibc", "ld", "libc.so.6"},
	};
	char real[PATH_MAX], path[PATH_MAX + 16], none[256];
	struct elf e;
	size_t i = 0;

	if (!interpreter[0] || !realpath(interpreter, real)) {
		fact_na(j, "libc", NULL, interpreter[0] ? errno : 0,
			interpreter[0] ? interpreter : "the shell is linked statically");
		return;
	}
	while (i < 2 && !strstr(interpreter, kinds[i].mark))
		i++;
	if (kinds[i].file)
		*strrchr(real, '/') = '\0';
	snprintf(path, sizeof(path), "%s%s%s", real, kinds[i].file ? "/" : "",
		 kinds[i].file ? kinds[i].file : "");
	if (fact_elf(j, "libc", path, none, &e))
		return;
	fact_begin(j, "libc", NULL);
	json_open(j, "value", '{');
	json_string(j, "kind", kinds[i].kind);
	json_string(j, "path", path);
	if (strcmp(kinds[i].kind, "glibc") == 0)
		describe_glibc(&e, j);
	json_close(j, '}');
	fact_send(j);
	munmap((void *)e.data, (size_t)e.size);
}

void facts_programs(struct json *j)
{
	char interpreter[256];
	struct elf e;

	if (fact_elf(j, "/bin/sh", "/bin/sh", interpreter, &e) == 0) {
		munmap((void *)e.data, (size_t)e.size);
		fact_libc(j, interpreter);
	}
}
