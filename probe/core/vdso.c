/* The vDSO: an ELF image in memory. See vdso.h, elf(5) and vdso(7). */
#include "core/vdso.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

struct symbols {
	const ElfW(Sym) *table;
	const char *names;
	const uint32_t *hash; /* buckets, then chains: as many of these as there are symbols */
};

static uintptr_t find_symbols(uintptr_t image, struct symbols *s)
{
	const ElfW(Ehdr) *header = (const void *)image;
	const ElfW(Phdr) *part = (const void *)(image + header->e_phoff);
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t base = 0;
	bool loaded = false;

	for (int i = 0; i < header->e_phnum; i++) {
		if (part[i].p_type == PT_LOAD && !loaded) {
			base = image + part[i].p_offset - part[i].p_vaddr;
			loaded = true;
		} else if (part[i].p_type == PT_DYNAMIC) {
			dynamic = (const void *)(image + part[i].p_offset);
		}
	}
	if (!loaded || !dynamic)
		return 0;
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *at = (const void *)(base + dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_SYMTAB)
			s->table = at;
		else if (dynamic->d_tag == DT_STRTAB)
			s->names = at;
		else if (dynamic->d_tag == DT_HASH)
			s->hash = at;
	}
	return s->table && s->names ? base : 0;
}

void *vdso_function(const char *name)
{
	uintptr_t image = getauxval(AT_SYSINFO_EHDR);
	struct symbols s = {0};
	uintptr_t base = image ? find_symbols(image, &s) : 0;
	size_t count = 0;

	if (!base)
		return NULL;
	if (s.hash)
		count = s.hash[1];
	else if ((uintptr_t)s.names > (uintptr_t)s.table) /* the other kind of hash tells no number */
		count = ((uintptr_t)s.names - (uintptr_t)s.table) / sizeof(*s.table);
	for (size_t i = 0; i < count; i++)
		if (s.table[i].st_shndx != SHN_UNDEF &&
		    strcmp(s.names + s.table[i].st_name, name) == 0)
			return (void *)(base + s.table[i].st_value);
	return NULL;
}
