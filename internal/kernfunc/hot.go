package kernfunc

import (
	"slices"
	"strings"
)

// hot are beginnings of names of functions that run all the time, in each interrupt and each system
// call, or while a BPF program runs. They are in order, and none begins with another.
var hot = [...]string{
	"___bpf_", "__bpf_", "__ct_", "__do_softirq", "__down_", "__find_vma", "__fprobe_", "__ftrace_", "__hrtimer_",
	"__htab_", "__irq_", "__kprobe_", "__kretprobe_", "__local_bh_", "__mutex_", "__pcpu_", "__perf_", "__raw_",
	"__rcu_", "__rethook_", "__ring_buffer_", "__rt_mutex_", "__srcu_", "__trace_", "__unwind_", "__up_", "__update_",
	"__uprobe_", "_raw_", "account_", "acpi_idle", "acpi_processor_ff", "aggr_", "apic_", "arch_cpu_", "array_map_",
	"asm_", "bpf_", "call_rcu", "cgroup_rstat_", "clockevents_", "common_interrupt", "copy_from_kernel_nofault",
	"copy_from_user_nofault", "cpu_idle", "cpu_startup_", "cpuidle_", "ct_", "default_idle", "do_idle", "do_softirq",
	"do_syscall_", "down_", "el0", "el1", "enter_from_user_", "entry_", "exc_", "exit_to_user_", "fgraph_", "find_vma",
	"fprobe_", "ftrace_", "function_graph_", "get_perf_callchain", "handle_softirqs", "hrtimer_", "htab_", "intel_idle",
	"invoke_syscall", "irq_", "irqentry_", "irqtime_", "kprobe_", "kretprobe_", "ktime_get", "lapic_", "local_bh_",
	"local_clock", "lock_", "migrate_", "mutex_", "native_halt", "native_queued_", "native_safe_halt",
	"native_sched_clock", "opt_pre_", "optimized_", "osq_", "pcpu_freelist_", "percpu_array_", "perf_", "preempt_",
	"psi_", "pv_native_safe_halt", "queued_", "rcu_", "read_tsc", "ret_from_", "rethook_", "ring_buffer_", "ringbuf_",
	"rt_mutex_", "rwsem_", "sched_clock", "sched_tick", "scheduler_tick", "srcu_", "stack_map_", "stack_trace_",
	"strncpy_from_", "strnlen_user", "syscall_", "sysvec_", "tick_", "timekeeping_", "trace_", "tracing_", "unwind_",
	"up_", "update_cfs_", "update_curr", "update_load_", "update_process_times", "update_rq_clock", "update_wall_time",
	"uprobe_", "user_enter_", "user_exit_", "x64_sys_call",
}

// Hot reports whether a function runs so often, or where programs run themselves, that a pattern must
// not select it.
func Hot(name string) bool {
	i, found := slices.BinarySearch(hot[:], name)
	return found || i > 0 && strings.HasPrefix(name, hot[i-1])
}
