// Programs in the sections that libbpf's skeletons attach, each of which counts the
// calls that process pid makes.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

volatile int pid;
volatile __u64 namespace[2] = {~0, ~0}; /* that pid belongs to: the device and the inode of /proc/PID/ns/pid */
volatile __u64 seen[16];

static __always_inline int is_pid(void)
{
	struct bpf_pidns_info task = {};
	return !bpf_get_ns_current_pid_tgid(namespace[0], namespace[1], &task, sizeof(task)) && task.tgid == pid;
}

#define COUNTS(section, name, number) \
	SEC(section) int name(void *ctx) \
	{ \
		if (is_pid()) \
			__sync_fetch_and_add(&seen[number], 1); \
		return 0; \
	}

COUNTS("kprobe/do_sys_openat2", kprobed, 0)
COUNTS("kretprobe/do_sys_openat2", kretprobed, 1)
COUNTS("tracepoint/syscalls/sys_enter_openat", traced, 2)
COUNTS("tp/syscalls/sys_exit_openat", exited, 3)
COUNTS("raw_tp/sys_enter", raw, 4)
COUNTS("fentry/do_sys_openat2", entered, 5)
COUNTS("fexit/do_sys_openat2", left, 6)
COUNTS("uprobe/a:fire", called, 7)
COUNTS("uretprobe/a:fire", returned, 8)
COUNTS("raw_tp.w/sys_exit", raw_writable, 9)
COUNTS("kprobe.multi/do_sys_openat?", many, 10)
COUNTS("kretprobe.multi/do_sys_openat2", many_returned, 11)
COUNTS("kprobe.session/do_sys_openat2", both, 12)
COUNTS("fentry.multi/do_sys_openat?", many_entered, 13)
COUNTS("fexit.multi/do_sys_openat?", many_left, 14)
COUNTS("fsession.multi/do_sys_openat?", many_both, 15)
COUNTS("fentry.future/do_sys_open*", unheard_of, 0)
COUNTS("perf_event", sampled, 0)
COUNTS("kprobe", anywhere, 0)

char LICENSE[] SEC("license") = "GPL";
