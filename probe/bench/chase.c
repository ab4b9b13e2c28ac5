/* A chain of pointers through a buffer. See chase.h. */
#include "bench/chase.h"

#include <errno.h>
#include <stdlib.h>

/* Sattolo's shuffle: one cycle through all n indices, each reached once. */
static void shuffle_cycle(uint32_t *next, uint32_t n, uint64_t *random)
{
	for (uint32_t i = 0; i < n; i++)
		next[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t j = (uint32_t)(random_next(random) % i);
		uint32_t t = next[i];
		next[i] = next[j];
		next[j] = t;
	}
}

uint64_t chase_link_footprint(size_t size, size_t stride, size_t group)
{
	return (uint64_t)(group / stride + size / group) * sizeof(uint32_t);
}

int chase_link(struct chase *c, size_t stride, size_t group)
{
	size_t per_group = group / stride;
	size_t groups = c->buffer.size / group;
	uint64_t random = 0x853c49e6748fea9bull;
	uint32_t *nodes = malloc(per_group * sizeof(*nodes));
	uint32_t *next_group = malloc(groups * sizeof(*next_group));
	char *base = c->buffer.data;

	if (!nodes || !next_group) {
		free(nodes);
		free(next_group);
		return -ENOMEM;
	}
	shuffle_cycle(next_group, (uint32_t)groups, &random);
	for (size_t g = 0; g < groups; g++) {
		char *here = base + g * group;
		char *next = base + (size_t)next_group[g] * group;
		shuffle_cycle(nodes, (uint32_t)per_group, &random);
		/* the step back to node 0, which closes a group's own cycle, leaves for the next
		 * group instead */
		for (size_t i = 0; i < per_group; i++)
			*(void **)(here + i * stride) =
				nodes[i] == 0 ? next : here + (size_t)nodes[i] * stride;
	}
	free(nodes);
	free(next_group);
	c->at = c->buffer.data;
	return 0;
}

/* As good as random (Fibonacci hashing), and the same each time it is asked. */
static uint32_t node_hash(const struct chase *c, size_t stride, const char *node)
{
	size_t index = (size_t)(node - (const char *)c->buffer.data) / stride;

	return (uint32_t)index * 2654435761u >> 16;
}

static char *scattered(const struct chase *c, size_t stride, char *node)
{
	enum { LINE = 64 };

	return node + node_hash(c, stride, node) % (stride / LINE) * LINE;
}

void chase_scatter(struct chase *c, size_t stride)
{
	char *base = c->buffer.data;

	for (char *node = base; node < base + c->buffer.size; node += stride) {
		char *next = *(void **)node;
		*(void **)scattered(c, stride, node) = scattered(c, stride, next);
	}
	c->at = (void **)scattered(c, stride, base);
}

/* The half of a node that is met first. */
static char *entrance(const struct chase *c, size_t stride, size_t offset, char *node)
{
	return node + node_hash(c, stride, node) % 2 * offset;
}

void chase_split(struct chase *c, size_t stride, size_t offset)
{
	char *base = c->buffer.data;

	for (char *node = base; node < base + c->buffer.size; node += stride) {
		char *next = *(void **)node;
		char *first = entrance(c, stride, offset, node);
		char *second = first == node ? node + offset : node;
		*(void **)first = second;
		*(void **)second = entrance(c, stride, offset, next);
	}
	c->at = (void **)entrance(c, stride, offset, base);
}

void chase_walk(struct chase *c, uint64_t iterations)
{
	void **p = c->at;

#define LOAD p = *(void *volatile *)p;
#define LOAD8 LOAD LOAD LOAD LOAD LOAD LOAD LOAD LOAD
	for (uint64_t i = 0; i < iterations; i++) {
		LOAD8 LOAD8 LOAD8 LOAD8 LOAD8 LOAD8 LOAD8 LOAD8
	}
	c->at = p;
}
