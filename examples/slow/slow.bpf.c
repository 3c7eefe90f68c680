//go:build ignore

// Statements of PostgreSQL that took long.

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

volatile const __u64 slower; /* nanoseconds */
volatile const __u64 namespace[2]; /* whose PIDs are shown */

struct statement {
	__u64 took;
	__u32 pid;
	__u8 text[256];
};
const struct statement *unused __attribute__((unused)); /* has the type described */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u64);
} started SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} statements SEC(".maps");

SEC("usdt/postgresql:query__start")
int BPF_USDT(start, char *text)
{
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	bpf_map_update_elem(&started, &thread, &now, BPF_ANY);
	return 0;
}

SEC("usdt/postgresql:query__done")
int BPF_USDT(done, char *text)
{
	__u64 thread = bpf_get_current_pid_tgid(), took, *at = bpf_map_lookup_elem(&started, &thread);
	struct bpf_pidns_info task = {};
	struct statement *s;
	if (!at)
		return 0;
	took = bpf_ktime_get_ns() - *at;
	bpf_map_delete_elem(&started, &thread);
	if (took < slower)
		return 0;
	s = bpf_ringbuf_reserve(&statements, sizeof(*s), 0);
	if (!s)
		return 0;
	s->took = took;
	bpf_get_ns_current_pid_tgid(namespace[0], namespace[1], &task, sizeof(task));
	s->pid = task.tgid;
	s->text[0] = 0;
	bpf_probe_read_user_str(s->text, sizeof(s->text), text);
	bpf_ringbuf_submit(s, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
