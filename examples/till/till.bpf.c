//go:build ignore

// The turnover of a till, by the number of items in an order.

#include <stdbool.h>
#include <linux/bpf.h>
#ifdef __TARGET_ARCH_arm64
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};
#else
#include <linux/ptrace.h>
#endif
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

struct turnover {
	__u64 orders;
	__s64 cents;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct turnover);
} turnovers SEC(".maps");

SEC("usdt/till:order")
int BPF_USDT(order, __u64 items, __s64 cents)
{
	struct turnover first = {}, *t;
	bpf_map_update_elem(&turnovers, &items, &first, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&turnovers, &items);
	if (t) {
		__sync_fetch_and_add(&t->orders, 1);
		__sync_fetch_and_add(&t->cents, cents);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
