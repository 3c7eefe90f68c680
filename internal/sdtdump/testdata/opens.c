// Loads the libraries that are its arguments behind the first, and then waits
// in as many children as the first says for its input to end.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char c;
	for (int i = 2; i < argc; i++) {
		if (!dlopen(argv[i], RTLD_NOW)) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	for (int i = atoi(argv[1]); i > 0; i--) {
		switch (fork()) {
		case -1:
			perror("fork");
			return 1;
		case 0:
			while (read(0, &c, 1) > 0)
				;
			_exit(0);
		}
	}
	write(1, "ready\n", 6);
	while (wait(0) > 0)
		;
	return 0;
}
