// The program of ExampleLoadCollection; shop.o is made of it by
// make collection-object.

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __s64);
} turnover SEC(".maps");

SEC("usdt/shop:order")
int BPF_USDT(order, long items, long cents)
{
	__u32 zero = 0;
	__s64 *sum = bpf_map_lookup_elem(&turnover, &zero);
	if (sum)
		__sync_fetch_and_add(sum, items * cents);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
