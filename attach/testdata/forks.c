// When its input ends, fires in itself, in a child that it has had before, and in ten
// generations of children of both, whose parents have ended.
#include <sys/sdt.h>
#include <unistd.h>

int main(void) {
	char c;
	fork();
	DTRACE_PROBE1(forks, hit, -1);
	write(1, "ready\n", 6);
	while (read(0, &c, 1) > 0)
		;
	for (int i = 0; i < 10; i++) {
		if (fork() != 0)
			break;
		DTRACE_PROBE1(forks, hit, i);
	}
	return 0;
}
