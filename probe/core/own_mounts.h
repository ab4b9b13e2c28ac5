/* Files and directories that are other ones for this process and what it starts: mounts of a mount
 * namespace of its own. Nobody else sees them, and with the last process they are gone, so nothing
 * is to be restored. All take a privilege. */
#ifndef BV_OWN_MOUNTS_H
#define BV_OWN_MOUNTS_H

/* All return 0 or a negative errno; -EINVAL for a path that is not absolute or of another kind. */

/* The file has this content. -ENOTDIR where there is no such file. */
int own_mounts_file(const char *path, const char *content);

/* The directory is an empty one in memory, of the same owner and mode. -ENOTDIR where there is
 * none. */
int own_mounts_directory(const char *path);

/* The directory is a copy in memory: -EFBIG where it holds more than a quarter of the memory that is
 * free, or than 256 MiB. */
int own_mounts_copy(const char *path);

/* The file, or the directory, is another one, which is there under another path. -ENOTDIR where one
 * of them is not. */
int own_mounts_bind(const char *path, const char *from);

#endif
