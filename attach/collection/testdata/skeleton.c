// Attaches the programs of an object, as libbpf's skeletons do, and says of each whether that
// succeeded; then has a process, whose PID it reads, be counted, and says the counts.

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int silent(enum libbpf_print_level level, const char *format, va_list args) { return 0; }

int main(int argc, char **argv)
{
	struct bpf_program *p;
	struct bpf_object *o;
	struct bpf_map *bss;
	struct { int pid, pad; unsigned long long seen[32]; } data = {0};
	int zero = 0;

	libbpf_set_print(silent);
	o = bpf_object__open(argv[1]);
	if (!o || bpf_object__load(o)) {
		perror("load");
		return 1;
	}
	bpf_object__for_each_program(p, o) {
		struct bpf_link *link = NULL;
		int err = 0;
		const char *what = "left";
		if (bpf_program__autoload(p)) {
			link = bpf_program__attach(p);
			err = errno;
			what = link ? "attached" : err == EOPNOTSUPP ? "left" : "failed";
		}
		printf("%s %s\n", bpf_program__name(p), what);
	}
	puts("ready");
	fflush(stdout);
	bss = bpf_object__find_map_by_name(o, ".bss");
	while (scanf("%d", &data.pid) == 1) {
		bpf_map_update_elem(bpf_map__fd(bss), &zero, &data, 0);
		puts("done");
		fflush(stdout);
		if (scanf("%d", &data.pid) != 1)
			return 1;
		bpf_map_lookup_elem(bpf_map__fd(bss), &zero, &data);
		for (int i = 0; i < 32; i++)
			printf("%llu ", data.seen[i]);
		puts("");
		fflush(stdout);
	}
	return 0;
}
