// Sends the arguments of any USDT probe, as libbpf reads them.
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
#include "event.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

SEC("usdt")
int fired(struct pt_regs *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	e->cookie = bpf_usdt_cookie(ctx);
	e->count = bpf_usdt_arg_cnt(ctx);
#pragma unroll
	for (int i = 0; i < 12; i++)
		e->failed[i] = bpf_usdt_arg(ctx, i, &e->args[i]);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL"; // the helpers that read memory ask for it
