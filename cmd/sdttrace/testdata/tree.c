// Forks at random, executes itself at times, fires in each process, and counts in a file how
// often all of them did: tree FILE SEED DEPTH. Given GATE, it first waits with a
// child until that file exists.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

static long *fired;
static unsigned seed;

__attribute__((noipa)) int hit(int i) {
	DTRACE_PROBE1(tree, hit, i);
	return i;
}

static void fire(int times) {
	for (int i = 0; i < times; i++) {
		__atomic_add_fetch(fired, 1, __ATOMIC_SEQ_CST);
		hit(i);
	}
}

static void grow(int depth, char **argv) {
	fire(rand_r(&seed) % 5);
	for (int n = depth > 0 ? 1 + rand_r(&seed) % 3 : 0; n > 0; n--) {
		unsigned next = rand_r(&seed);
		char text[2][20];
		snprintf(text[0], sizeof text[0], "%u", next);
		snprintf(text[1], sizeof text[1], "%d", depth - 1);
		pid_t pid = next % 3 == 1 ? vfork() : fork();
		if (pid == 0 && next % 3 < 2) {
			execl(argv[0], argv[0], argv[1], text[0], text[1], "", NULL);
			_exit(1);
		}
		if (pid == 0) {
			seed = next;
			grow(depth - 1, argv);
			_exit(0); // also while children of its own go on
		}
		fire(1);
		if (next % 2)
			waitpid(pid, NULL, 0);
	}
	fire(1);
}

int main(int argc, char **argv) {
	int first = argc < 5 || *argv[4];
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (first && ftruncate(fd, sizeof *fired) != 0)
		return 1;
	fired = mmap(NULL, sizeof *fired, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	seed = atoi(argv[2]);
	if (argc > 4 && *argv[4]) {
		fork();
		while (access(argv[4], F_OK) != 0)
			usleep(1000);
	}
	grow(atoi(argv[3]), argv);
	return 0;
}
