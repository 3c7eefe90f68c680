// Makes processes that have an object in a memory file each, call its function
// and end: gcc -O2 -o crowd crowd.c. Run as crowd OBJECT OFFSET, where OFFSET is
// that of the function in the file. For each number N of its input it starts N
// processes and answers when they have mapped their file; at the next line, when
// they have called the function with their PID; at the next, when they have ended.
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		_exit(1);
	}
}

static char *object;
static off_t size;
static unsigned long offset;

// load maps the segments of a copy of the object, and returns where its function
// is.
static void (*load(void))(unsigned long)
{
	int fd = memfd_create("crowd", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, object, size) == size, "write memory file");
	Elf64_Ehdr *head = (void *)object;
	Elf64_Phdr *part = (void *)(object + head->e_phoff);
	unsigned long end = 0, page = sysconf(_SC_PAGESIZE);
	for (int i = 0; i < head->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && part[i].p_vaddr + part[i].p_memsz > end)
			end = part[i].p_vaddr + part[i].p_memsz;
	char *base = mmap(NULL, end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(base != MAP_FAILED, "reserve memory");
	void (*function)(unsigned long) = NULL;
	for (int i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr *p = &part[i];
		if (p->p_type != PT_LOAD || p->p_filesz == 0)
			continue;
		int prot = (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) | (p->p_flags & PF_X ? PROT_EXEC : 0);
		unsigned long in = p->p_offset % page;
		char *at = mmap(base + p->p_vaddr - in, p->p_filesz + in, prot, MAP_PRIVATE | MAP_FIXED, fd, p->p_offset - in);
		check(at != MAP_FAILED, "map segment");
		if (offset >= p->p_offset && offset < p->p_offset + p->p_filesz)
			function = (void *)(at + in + offset - p->p_offset);
	}
	check(function != NULL, "find the function");
	return function;
}

// pass sends or receives n bytes.
static void pass(ssize_t (*how)(int, void *, size_t), int fd, int n)
{
	static char bytes[4096];
	while (n > 0) {
		ssize_t some = how(fd, bytes, n < sizeof bytes ? n : sizeof bytes);
		check(some > 0, "pipe");
		n -= some;
	}
}

static ssize_t put(int fd, void *p, size_t n) { return write(fd, p, n); }

static void next(void)
{
	char line[32];
	printf("done\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(1);
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	struct stat st;
	check(fd >= 0 && fstat(fd, &st) == 0, argv[1]);
	size = st.st_size;
	object = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	check(object != MAP_FAILED, argv[1]);
	close(fd);
	offset = strtoul(argv[2], NULL, 0);
	int up[2], fire[2], end[2];
	check(pipe(up) == 0 && pipe(fire) == 0 && pipe(end) == 0, "pipe");
	setvbuf(stdin, NULL, _IONBF, 0);
	char line[32];
	while (fgets(line, sizeof line, stdin)) {
		int n = atoi(line);
		for (int i = 0; i < n; i++) {
			pid_t pid = fork();
			check(pid >= 0, "fork");
			if (pid)
				continue;
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			void (*function)(unsigned long) = load();
			pass(put, up[1], 1);
			pass(read, fire[0], 1);
			function(getpid());
			pass(put, up[1], 1);
			pass(read, end[0], 1);
			_exit(0);
		}
		pass(read, up[0], n);
		next();
		pass(put, fire[1], n);
		pass(read, up[0], n);
		next();
		pass(put, end[1], n);
		for (int i = 0; i < n; i++) {
			int status;
			check(wait(&status) > 0 && status == 0, "a process");
		}
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
