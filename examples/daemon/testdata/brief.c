// Fires three times and ends: gcc -O1 -o brief brief.c
#include <sys/sdt.h>

int main(void) {
	for (int i = 0; i < 3; i++)
		DTRACE_PROBE1(brief, hit, i);
	return 0;
}
