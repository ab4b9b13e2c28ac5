/* trace.dat, version 7. See datfile.h; the format is that of trace-cmd.dat.v7(5). */
#include "trace/datfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/host.h"

/* Ids of options and of the sections that those of the same number point to. */
enum {
	OPTIONS = 0,
	DONE = 0,
	CPUSTAT = 2,
	BUFFER = 3,
	TRACECLOCK = 4,
	UNAME = 5,
	OFFSET = 7,
	CPUCOUNT = 8,
	VERSION = 9,
	HEADER_INFO = 16,
	FTRACE_EVENTS = 17,
	EVENT_FORMATS = 18,
	KALLSYMS = 19,
	PRINTK = 20,
	CMDLINES = 21,
};

static const char magic[] = "\x17\x08\x44tracing7";

static uint64_t alignment(const struct dat *dat)
{
	return dat->subbuffer_size > dat->page_size ? dat->subbuffer_size : dat->page_size;
}

uint64_t dat_padding(const struct dat *dat, uint64_t bytes)
{
	uint64_t to = alignment(dat);

	return (to - bytes % to) % to;
}

/* The head of a section; returns where its length is to be set. */
static size_t begin_section(struct bytes *out, uint16_t id)
{
	bytes_u16(out, id);
	bytes_u16(out, 0); /* not compressed */
	bytes_u32(out, 0); /* no description */
	bytes_u64(out, 0);
	return out->length;
}

static void end_section(struct bytes *out, size_t begin)
{
	bytes_set_u64(out, begin - 8, out->length - begin);
}

/* Adds a section and the option that tells where it is. */
static void add_section(struct bytes *out, struct bytes *options, uint16_t id,
			const struct bytes *content)
{
	uint64_t at = out->length;
	size_t begin = begin_section(out, id);

	if (content->length)
		bytes_add(out, content->data, content->length);
	end_section(out, begin);
	bytes_u16(options, id);
	bytes_u32(options, sizeof(at));
	bytes_u64(options, at);
}

static void text_option(struct bytes *options, uint16_t id, const char *text)
{
	bytes_u16(options, id);
	bytes_u32(options, (uint32_t)strlen(text) + 1);
	bytes_text(options, text);
}

static void add_lengths(struct bytes *out, const struct dat *dat)
{
	bytes_text(out, "header_page");
	bytes_u64(out, dat->header_page.length);
	bytes_add(out, dat->header_page.data, dat->header_page.length);
	bytes_text(out, "header_event");
	bytes_u64(out, dat->header_event.length);
	bytes_add(out, dat->header_event.data, dat->header_event.length);
}

/* A text after its length, which is of 4 bytes for some sections and of 8 for others. */
static void text_section(struct bytes *out, struct bytes *options, uint16_t id, int width,
			 const struct bytes *text)
{
	struct bytes content = {0};

	if (width == 8)
		bytes_u64(&content, text->length);
	else
		bytes_u32(&content, (uint32_t)text->length);
	if (text->length)
		bytes_add(&content, text->data, text->length);
	add_section(out, options, id, &content);
	bytes_free(&content);
}

static void add_sections(const struct dat *dat, struct bytes *out, struct bytes *options)
{
	struct bytes info = {0};

	add_lengths(&info, dat);
	add_section(out, options, HEADER_INFO, &info);
	bytes_free(&info);
	add_section(out, options, FTRACE_EVENTS, &dat->ftrace_formats);
	add_section(out, options, EVENT_FORMATS, &dat->formats);
	if (dat->kallsyms.length)
		text_section(out, options, KALLSYMS, 4, &dat->kallsyms);
	text_section(out, options, PRINTK, 4, &dat->printk);
	text_section(out, options, CMDLINES, 8, &dat->cmdlines);
}

/* The host name, which uname(2) gives too, is left out: traces are handed around. */
static void describe_system(const struct dat *dat, struct bytes *options)
{
	struct utsname name;
	char text[512];

	bytes_u16(options, CPUCOUNT);
	bytes_u32(options, 4);
	bytes_u32(options, dat->cpu_count);
	text_option(options, VERSION, "benchvise " PROBE_VERSION);
	uname(&name);
	snprintf(text, sizeof(text), "%s %s %s %s", name.sysname, name.release, name.version,
		 name.machine);
	text_option(options, UNAME, text);
	text_option(options, TRACECLOCK, dat->clock_text);
	if (dat->offset_ns) {
		snprintf(text, sizeof(text), "%" PRId64, dat->offset_ns);
		text_option(options, OFFSET, text);
	}
}

static void add_stats(const struct dat *dat, struct bytes *options)
{
	char text[1024];

	for (int i = 0; i < dat->count; i++) {
		/* a reader puts a line end into the place of the NUL */
		snprintf(text, sizeof(text), "CPU: %d\n%s", dat->cpus[i].cpu, dat->cpus[i].stats);
		text_option(options, CPUSTAT, text);
	}
}

/* The option that tells where the data are. Returns where in `options` the offsets begin: that of
 * the section, and then, behind the fixed part, those of the CPUs with data. */
static size_t add_buffer(const struct dat *dat, struct bytes *options, size_t *cpus_at)
{
	uint32_t with_data = 0;
	size_t section_at;

	for (int i = 0; i < dat->count; i++)
		with_data += dat->cpus[i].bytes > 0;
	bytes_u16(options, BUFFER);
	bytes_u32(options, (uint32_t)(8 + 1 + strlen(dat->clock) + 1 + 8 + 20 * with_data));
	section_at = options->length;
	bytes_u64(options, 0);
	bytes_text(options, ""); /* as the top level's, so that names have no prefix */
	bytes_text(options, dat->clock);
	bytes_u32(options, dat->subbuffer_size);
	bytes_u32(options, with_data);
	*cpus_at = options->length;
	for (int i = 0; i < dat->count; i++) {
		if (dat->cpus[i].bytes == 0)
			continue;
		bytes_u32(options, (uint32_t)dat->cpus[i].cpu);
		bytes_u64(options, 0);
		bytes_u64(options, dat->cpus[i].bytes);
	}
	return section_at;
}

uint64_t dat_head(const struct dat *dat, struct bytes *out)
{
	struct bytes options = {0};
	size_t first_options, section_at, cpus_at, begin;
	uint16_t one = 1;
	uint64_t at;

	bytes_add(out, magic, sizeof(magic)); /* with the NUL behind the version */
	bytes_add(out, *(const char *)&one ? "\0" : "\1", 1);
	bytes_add(out, sizeof(long) == 8 ? "\10" : "\4", 1);
	bytes_u32(out, dat->page_size);
	bytes_text(out, "none");
	bytes_text(out, "");
	first_options = out->length;
	bytes_u64(out, 0);
	add_sections(dat, out, &options);
	describe_system(dat, &options);
	add_stats(dat, &options);
	section_at = add_buffer(dat, &options, &cpus_at);
	bytes_u16(&options, DONE);
	bytes_u32(&options, 8);
	bytes_u64(&options, 0); /* no more options */

	bytes_set_u64(out, first_options, out->length);
	at = out->length + 16 + options.length; /* of the section of data */
	bytes_set_u64(&options, section_at, at);
	at += 16;
	at += dat_padding(dat, at);
	for (int i = 0; i < dat->count; i++) {
		if (dat->cpus[i].bytes == 0)
			continue;
		bytes_set_u64(&options, cpus_at + 4, at);
		cpus_at += 20;
		at += dat->cpus[i].bytes + dat_padding(dat, dat->cpus[i].bytes);
	}
	begin = begin_section(out, OPTIONS);
	bytes_add(out, options.data, options.length);
	end_section(out, begin);
	bytes_free(&options);

	begin = begin_section(out, BUFFER);
	bytes_set_u64(out, begin - 8, at - begin);
	for (uint64_t left = dat_padding(dat, out->length); left > 0; left--)
		bytes_add(out, "", 1);
	return at;
}
