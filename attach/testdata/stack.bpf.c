// Programs with stacks of several sizes, for probes of testdata/args.c.
// The tests compile this with the libbpf-dev that is installed.

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} fired SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} others SEC(".maps");

static __always_inline int count(__u32 program)
{
	__u64 *n = bpf_map_lookup_elem(&fired, &program);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

// keep has a variable of a size on the stack, and counts.
#define keep(program, size)                                                  \
	({                                                                   \
		char bytes[size];                                            \
		asm volatile("" ::"r"(bytes) : "memory");                    \
		bpf_get_current_comm(bytes, 16) ? 0 : count(program);        \
	})

SEC("usdt")
int small(struct pt_regs *ctx)
{
	return count(1);
}

SEC("usdt")
int large(struct pt_regs *ctx)
{
	return keep(2, 200);
}

static __attribute__((noinline)) int inner(struct pt_regs *ctx)
{
	return keep(3, 104);
}

SEC("usdt")
int calls(struct pt_regs *ctx)
{
	return inner(ctx) + count(4);
}

SEC("usdt.s")
int sleeps(struct pt_regs *ctx)
{
	return keep(5, 80);
}

SEC("usdt")
int tails(struct pt_regs *ctx)
{
	keep(6, 200);
	bpf_tail_call(ctx, &others, 0);
	return 0;
}

// Left to the caller, who also attaches it to uprobes.
SEC("uprobe")
int left(struct pt_regs *ctx)
{
	return keep(7, 200);
}

// The kernel sees to it that these do not run twice at a time.
SEC("kprobe")
int kernel(struct pt_regs *ctx)
{
	return keep(8, 200);
}

static __attribute__((noinline)) int deep(struct pt_regs *ctx)
{
	return keep(9, 304);
}

SEC("usdt")
int deeper(struct pt_regs *ctx)
{
	return deep(ctx) + keep(10, 304);
}

char LICENSE[] SEC("license") = "GPL";
