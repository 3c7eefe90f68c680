// Programs that copy their code, each in the way that -DWAY names, and some that do not.
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef HUGE
#define HUGE 0
#endif
extern char __executable_start, etext;

static unsigned long begin, end;

static void place(void)
{
	size_t size = end - begin;
	void *copy = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (void *)begin, size);
#ifdef OVER // a copy that is called from elsewhere would do with PROT_WRITE alone
	mmap((void *)begin, size, PROT_READ | PROT_WRITE | OVER, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | HUGE, -1, 0);
	memcpy((void *)begin, copy, size);
#ifndef OPEN
	mprotect((void *)begin, size, PROT_READ | PROT_EXEC);
#endif
#else
	mprotect(copy, size, PROT_READ | PROT_EXEC);
	mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)begin);
#endif
}

#if defined MAPS || defined FORMAT
static void locate(void)
{
	char line[512];
#ifdef FORMAT
	char name[64];
	snprintf(name, sizeof name, "/proc/%d/maps", (int)getpid());
	FILE *f = fopen(name, "r");
#else
	FILE *f = fopen("/proc/self/maps", "r");
#endif
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && strstr(line, "r-x"))
			break;
	fclose(f);
}
#elif defined HEADERS
static int each(struct dl_phdr_info *i, size_t size, void *data)
{
	begin = i->dlpi_addr + i->dlpi_phdr->p_vaddr;
	end = begin + i->dlpi_phdr->p_memsz;
	return 1;
}
static void locate(void) { dl_iterate_phdr(each, 0); }
#elif defined ELSEWHERE // memory that is not its code, as emulators of machines have it
static void locate(void)
{
	begin = (unsigned long)mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	end = begin + (1 << 20);
}
#else
static void locate(void)
{
	begin = (unsigned long)&__executable_start;
	end = (unsigned long)&etext;
}
#endif

int main(int argc, char **argv)
{
#ifdef GROWS // memory of its own, as allocators and JIT compilers have it
	char *p = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = mremap(p, 1 << 16, 1 << 17, MREMAP_MAYMOVE);
	mprotect(p, 1 << 16, PROT_READ | PROT_EXEC);
#elif defined GUARDS // a stack's end, and a backtrace: every program in Rust
	locate();
	char *p = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mmap(p, 1 << 12, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mprotect(p, 1 << 12, PROT_NONE);
	printf("%lx %lx\n", begin, end);
#elif defined READS // shows what it has mapped
	locate();
	printf("%lx %lx\n", begin, end);
#else
	locate();
	place();
#endif
	return argc == 0;
}
