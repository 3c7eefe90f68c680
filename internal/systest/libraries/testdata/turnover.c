#include <stdio.h>
#include <stdlib.h>
#include "turnover.skel.h"

int main(int argc, char **argv)
{
	struct turnover *t = turnover__open_and_load();

	if (!t)
		return 1;
	t->links.order = bpf_program__attach_usdt(t->progs.order, atoi(argv[1]), argv[2], "shop", "order", NULL);
	if (!t->links.order)
		return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	printf("%ld\n", t->bss->sum);
	turnover__destroy(t);
	return 0;
}
