// Programs for functions of testdata/args.c: they count calls and returns.
// The tests compile this with the libbpf-dev that is installed.

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum { CALLS, FOURTH, RETURNS, SLEPT, COOKIE, BOTH };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 6);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

static __always_inline void add(__u32 what, __u64 n)
{
	__u64 *sum = bpf_map_lookup_elem(&seen, &what);
	if (sum)
		__sync_fetch_and_add(sum, n);
}

SEC("uprobe.multi/args:fi*e")
int called(struct pt_regs *ctx)
{
	add(CALLS, 1);
	add(FOURTH, PT_REGS_PARM4(ctx));
	add(COOKIE, bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("uretprobe.multi/args:fire")
int returned(struct pt_regs *ctx)
{
	add(RETURNS, 1);
	return 0;
}

SEC("uprobe.multi.s")
int slept(struct pt_regs *ctx)
{
	char buf[8] = {};
	if (!bpf_copy_from_user(buf, sizeof(buf), (void *)PT_REGS_PARM1(ctx)))
		add(SLEPT, (__u8)buf[0]);
	return 0;
}

SEC("uprobe.session/args:fire")
int both(struct pt_regs *ctx)
{
	add(BOTH, bpf_get_attach_cookie(ctx));
	return 0; // at the entry: the return is also wanted
}
char LICENSE[] SEC("license") = "GPL";
