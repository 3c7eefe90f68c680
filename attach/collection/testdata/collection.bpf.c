// Programs for a collection: each sends what usdt.bpf.h tells it of a firing.
//
//	clang -O2 -g -target bpf -D__TARGET_ARCH_x86 -I/usr/include/x86_64-linux-gnu -c collection.bpf.c
//
// The tests do so with the libbpf-dev that is installed; collection-1.7.o was
// made with -DARG_SIZE of the newest header, see the Makefile.

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

#define ARGS 12

struct event {
	__u32 program;
	__s32 count;
	__s64 cookie;
	__s64 args[ARGS];
	__s32 errors[ARGS];
	__s32 sizes[ARGS];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} sum SEC(".maps");

const volatile __u32 mark = 1; // a variable that a test sets
extern int LINUX_KERNEL_VERSION __kconfig;

static __attribute__((noinline)) int send(struct pt_regs *ctx, __u32 program)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	e->program = program * mark;
	e->count = bpf_usdt_arg_cnt(ctx);
	e->cookie = bpf_usdt_cookie(ctx);
#pragma unroll
	for (int i = 0; i < ARGS; i++) {
		long v;
		e->errors[i] = bpf_usdt_arg(ctx, i, &v);
		e->args[i] = v;
#ifdef ARG_SIZE
		e->sizes[i] = bpf_usdt_arg_size(ctx, i);
#else
		e->sizes[i] = 0;
#endif
	}
	bpf_ringbuf_submit(e, 0);
	return 0;
}

SEC("usdt")
int any(struct pt_regs *ctx)
{
	return send(ctx, 1);
}

SEC("usdt.s")
int sleepable(struct pt_regs *ctx)
{
	return send(ctx, 2);
}

SEC("usdt/args:args:bare")
int bare(struct pt_regs *ctx)
{
	return send(ctx, 3);
}

SEC("usdt/args:args:ints")
int BPF_USDT(ints, long s8, long u8, long s16)
{
	__u32 zero = 0;
	__u64 *total = bpf_map_lookup_elem(&sum, &zero);
	if (total && LINUX_KERNEL_VERSION)
		*total += s8 + u8 + s16;
	return 0;
}

// Not a section that a collection attaches.
SEC("perf_event/cycle")
int left(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
