/* Files that outlive the process of one benchmark: `serve` holds them open for the later ones.
 *
 * Writing a file of many megabytes for each process wears a memory card and takes minutes. So a
 * process that has written one gives its descriptor to `serve`, which hands it on. The file has no
 * name any more: when `serve` ends, however it does, the kernel takes the file away. */
#ifndef BV_KEEP_H
#define BV_KEEP_H

enum { KEPT = 2 }; /* places, one file each */

/* For `serve`: at its beginning, and after each process. The processes that it starts find by the
 * environment what is kept. */
void keep_begin(void);
void keep_collect(void);

/* For a benchmark: the file in that place, or -1; and to have one kept there. Without `serve`
 * nothing is kept: the file goes with the process. */
int kept_file(int place);
void keep_file(int place, int fd);

#endif
