/** Labels that touch, moved as one: how many, and where the first of them goes. */
interface Cluster {
  readonly members: readonly number[];
  readonly first: number;
}

/**
 * Moves label positions apart until neighbours are at least `gap` away from each other, each as
 * near to its old position as the others allow, and all between `low` and `high` as long as there
 * is room. Returns the new positions in the order of the old ones.
 */
export function spread(
  positions: readonly number[],
  gap: number,
  low: number,
  high: number,
): number[] {
  const at = (index: number): number => positions[index] ?? 0;
  const order = positions.map((_, index) => index).sort((a, b) => at(a) - at(b));

  const place = (members: readonly number[]): Cluster => {
    const total = members.reduce((sum, index, rank) => sum + at(index) - rank * gap, 0);
    const highest = high - (members.length - 1) * gap;
    return { members, first: Math.max(low, Math.min(highest, total / members.length)) };
  };

  const clusters: Cluster[] = [];
  for (const index of order) {
    let cluster = place([index]);
    for (;;) {
      const before = clusters[clusters.length - 1];
      if (before === undefined || before.first + before.members.length * gap <= cluster.first) break;
      clusters.pop();
      cluster = place([...before.members, ...cluster.members]);
    }
    clusters.push(cluster);
  }

  const placed = new Array<number>(positions.length).fill(0);
  for (const { members, first } of clusters) {
    members.forEach((index, rank) => {
      placed[index] = first + rank * gap;
    });
  }
  return placed;
}
