// A file system with one executable file, x, whose bytes are those of the file in FS_FILE:
// FS_FILE=prog ./stops -f MOUNTPOINT. It does not answer while it is stopped.
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int source;

static int get(const char *path, struct stat *st, struct fuse_file_info *info)
{
	struct stat of;

	memset(st, 0, sizeof *st);
	if (strcmp(path, "/") == 0) {
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
		return 0;
	}
	if (strcmp(path, "/x") != 0)
		return -ENOENT;
	fstat(source, &of);
	st->st_mode = S_IFREG | 0755;
	st->st_nlink = 1;
	st->st_size = of.st_size;
	return 0;
}

static int open_file(const char *path, struct fuse_file_info *info) { return 0; }

static int read_file(const char *path, char *buf, size_t n, off_t off, struct fuse_file_info *info)
{
	return pread(source, buf, n, off);
}

static const struct fuse_operations operations = {.getattr = get, .open = open_file, .read = read_file};

int main(int argc, char **argv)
{
	source = open(getenv("FS_FILE"), O_RDONLY);
	return fuse_main(argc, argv, &operations, 0);
}
