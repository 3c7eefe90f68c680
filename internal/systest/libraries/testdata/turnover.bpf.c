#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

long sum;

SEC("usdt")
int BPF_USDT(order, long items, long cents)
{
	if (items > 0)
		__sync_fetch_and_add(&sum, cents);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
