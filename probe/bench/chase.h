/* A chain of pointers through a buffer: one cycle that meets every node once. */
#ifndef BV_CHASE_H
#define BV_CHASE_H

#include <stddef.h>
#include <stdint.h>

#include "core/buffer.h"

enum { CHASE_LOADS = 64 }; /* an iteration of chase_walk() */

/* Nodes that are near in the order `local` lie within this many bytes: 64 base pages, as many as
 * even small first-level TLBs hold, yet too many lines for a prefetcher that looks at single
 * pages. multichase does the same. */
enum { CHASE_GROUP = 64 * 4096 };

struct chase {
	struct buffer buffer;
	void **at;
};

/* Links the nodes, stride bytes apart, of the mapped buffer into one random cycle: over all of it
 * (group: the buffer's size), or group after group, the groups and the nodes inside each in random
 * order. Size and group are multiples of the stride, size of the group. Returns 0 or -ENOMEM. */
int chase_link(struct chase *c, size_t stride, size_t group);

/* Bytes of memory that chase_link() takes for itself meanwhile. */
uint64_t chase_link_footprint(size_t size, size_t stride, size_t group);

/* Moves each node from the beginning of its stride to a line in it that is as good as random, so that
 * nodes a page apart do not compete for the same sets of a cache. */
void chase_scatter(struct chase *c, size_t stride);

/* Makes two nodes of each, `offset` bytes apart, met one right after the other, now this one first
 * and now that one, as good as at random: were it always the same, the prefetcher would learn it.
 * Offset is a multiple of 8, less than the stride. */
void chase_split(struct chase *c, size_t stride, size_t offset);

/* Follows iterations * CHASE_LOADS pointers, from where the last walk ended. */
void chase_walk(struct chase *c, uint64_t iterations);

#endif
