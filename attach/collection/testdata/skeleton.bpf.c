// Programs in the sections that libbpf attaches by itself, and in some that it does not, each of
// which counts the calls that process pid makes. PATH is the traced program, with args.c's probes.

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

volatile int pid;
volatile __u64 seen[32];

#define COUNTS(section, name, number) \
	SEC(section) int name(void *ctx) \
	{ \
		if (bpf_get_current_pid_tgid() >> 32 == pid) \
			__sync_fetch_and_add(&seen[number], 1); \
		return 0; \
	}

COUNTS("uprobe/" PATH ":fire", named, 0)
COUNTS("uprobe/" PATH ":fire+0", at_zero, 1)
COUNTS("uprobe/" PATH ":fire+0x0", at_hex, 2)
COUNTS("uprobe.s/" PATH ":fire", slept, 3)
COUNTS("uretprobe/" PATH ":fire", returned, 4)
COUNTS("uretprobe.s/" PATH ":fire", returned_slept, 5)
COUNTS("uprobe/" PATH, no_function, 6)
COUNTS("uprobe/" PATH ":no_such_function", no_such, 7)
COUNTS("uprobe", anywhere, 8)
COUNTS("uretprobe", anywhere_back, 9)
COUNTS("?uprobe/" PATH ":fire", optional, 10)
COUNTS("usdt/" PATH ":args:bare", bare, 11)
COUNTS("usdt/" PATH ":args:ints", ints, 12)
COUNTS("usdt", any_probe, 13)
COUNTS("?usdt/" PATH ":args:bare", optional_probe, 14)
COUNTS("usdt/" PATH ":args:no_such_probe", no_such_probe, 15)
COUNTS("tracepoint/syscalls/sys_enter_read", traced, 16)
COUNTS("tp/syscalls/sys_exit_read", traced_exit, 17)
COUNTS("tp/syscalls/no_such_tracepoint", no_such_tracepoint, 18)
COUNTS("tracepoint", any_tracepoint, 19)
COUNTS("raw_tp/sys_enter", raw, 20)
COUNTS("raw_tracepoint/sys_exit", raw_exit, 21)
COUNTS("raw_tp/no_such_tracepoint", no_such_raw, 22)
COUNTS("raw_tp", any_raw, 23)
COUNTS("tp_btf/sys_enter", by_type, 24)
COUNTS("kprobe/no_such_function", no_such_kprobe, 25)
COUNTS("kprobe", any_kprobe, 26)
COUNTS("perf_event", sampled, 27)
COUNTS("socket", filter, 28)
COUNTS("ksyscall/no_such_call", no_such_call, 29)
COUNTS("kretsyscall", any_call, 30)
COUNTS("iter/task", each_task, 31)

char LICENSE[] SEC("license") = "GPL";
