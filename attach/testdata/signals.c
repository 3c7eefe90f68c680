/* Fires a probe in bursts, and says of each line that it reads how often it has been sent
   SIGUSR1. gcc -O2 -no-pie -o signals signals.c */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sdt.h>
#include <unistd.h>

volatile long fired; /* how often, also while the process stands still */
static volatile sig_atomic_t signals;

static void count(int sig) { signals++; }

int main(int argc, char **argv) {
	static char text[32] = "text";
	sigset_t usr1;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	signal(SIGUSR1, count);
	if (argc > 1 && !strcmp(argv[1], "ignore"))
		signal(SIGUSR1, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], "block"))
		sigprocmask(SIG_BLOCK, &usr1, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		char c;
		struct pollfd in = {0, POLLIN};
		if (poll(&in, 1, 1) > 0) { /* otherwise a millisecond passes, which others need */
			if (read(0, &c, 1) <= 0)
				return 0;
			if (c == '\n') {
				printf("%d\n", signals);
				fflush(stdout);
			}
		}
		for (int i = 0; i < 20; i++) {
			fired++;
			DTRACE_PROBE2(signals, tick, fired, text);
		}
	}
}
