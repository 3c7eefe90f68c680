// Attaches usdt.bpf.o to probes by libbpf and prints the first event of each:
//
//	loader OBJECT PID PATH PROVIDER NAME=SIGNS...
//
// SIGNS has a letter for each argument: d if it is signed, u if it is not.
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "event.h"

enum { MAX = 64 };

static char **names, *signs[MAX];
static int missing;
static char seen[MAX];

static int print(void *ctx, void *data, size_t size)
{
	struct event *e = data;
	if (seen[e->cookie])
		return 0;
	seen[e->cookie] = 1;
	missing--;
	printf("%s", names[e->cookie]);
	for (int i = 0; i < e->count; i++) {
		if (e->failed[i])
			printf(" error %ld", e->failed[i]);
		else
			printf(signs[e->cookie][i] == 'u' ? " %lu" : " %ld", e->args[i]);
	}
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_link *links[MAX];
	int n = argc - 5;
	if (n < 1 || n > MAX)
		return 2;
	names = argv + 5;
	missing = n;
	for (int i = 0; i < n; i++) {
		names[i] = strtok(names[i], "=");
		signs[i] = strtok(NULL, "=") ?: "";
	}
	struct bpf_object *object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object))
		return 1;
	struct bpf_program *program = bpf_object__find_program_by_name(object, "fired");
	int events = bpf_object__find_map_fd_by_name(object, "events");
	struct ring_buffer *ring = ring_buffer__new(events, print, NULL, NULL);
	if (!program || !ring)
		return 1;
	for (int i = 0; i < n; i++) {
		LIBBPF_OPTS(bpf_usdt_opts, opts, .usdt_cookie = i);
		links[i] = bpf_program__attach_usdt(program, atoi(argv[2]), argv[3], argv[4], names[i], &opts);
		if (!links[i]) {
			perror(names[i]);
			return 1;
		}
	}
	for (int i = 0; i < 100 && missing > 0; i++)
		ring_buffer__poll(ring, 100);
	for (int i = 0; i < n; i++)
		bpf_link__destroy(links[i]);
	return missing > 0;
}
