// Behind a line of input, each process starts the next and ends; the last writes a line.
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	getchar();
	for (int i = 0; i < 2000; i++) {
		pid_t child = fork();
		if (child != 0)
			_exit(child < 0);
	}
	puts("end");
	return 0;
}
