// Probes whose arguments lie in pages of a file that are not in memory when
// they fire: gcc -O1 -o paged paged.c; paged FILE. For each line that the
// program reads it has the pages of FILE taken away, fires, and answers.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 8

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (argc != 2 || fd < 0 || ftruncate(fd, PAGES * PAGE) != 0)
		return 1;
	char *p = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	strcpy(p + PAGE - 5, "across two pages");
	*(long *)(p + 3 * PAGE) = -1234567890123;
	memset(p + 4 * PAGE + 3000, 'x', 2 * PAGE);
	char c;
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		if (msync(p, PAGES * PAGE, MS_SYNC) != 0 || madvise(p, PAGES * PAGE, MADV_DONTNEED) != 0)
			return 1;
		long *number = (long *)(p + 3 * PAGE);
		__asm__ volatile("" : "+r"(number));
		// As memory, the compiler leaves the number where it is.
		__asm__ volatile(STAP_PROBE_ASM(paged, arguments, 8@%[text] -8@%[number] 8@%[more] 8@%[bad])
			: : [text] "r"(p + PAGE - 5), [number] "m"(*number), [more] "r"(p + 4 * PAGE + 3000), [bad] "r"(16L));
		if (write(1, "\n", 1) != 1)
			return 1;
	}
	return 0;
}
