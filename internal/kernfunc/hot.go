package kernfunc

import "strings"

// hot are beginnings of names of functions that run all the time, in each interrupt and each system
// call, or while a BPF program runs.
var hot = []string{
	"rcu_", "__rcu_", "srcu_", "__srcu_", "call_rcu",
	"_raw_", "__raw_", "queued_", "native_queued_", "mutex_", "__mutex_", "rt_mutex_", "__rt_mutex_", "down_", "up_", "__down_", "__up_", "lock_", "osq_", "rwsem_",
	"preempt_", "migrate_", "local_bh_", "__local_bh_", "irq_", "__irq_", "irqtime_", "irqentry_", "do_softirq", "__do_softirq", "handle_softirqs", "tick_", "hrtimer_", "__hrtimer_", "clockevents_", "lapic_", "apic_",
	"entry_", "asm_", "exc_", "sysvec_", "common_interrupt", "do_syscall_", "syscall_", "x64_sys_call", "invoke_syscall", "el0", "el1", "ret_from_", "ct_", "__ct_", "user_exit_", "user_enter_", "exit_to_user_", "enter_from_user_",
	"do_idle", "cpu_idle", "cpu_startup_", "cpuidle_", "arch_cpu_", "default_idle", "intel_idle", "acpi_idle", "acpi_processor_ff", "native_halt", "native_safe_halt", "pv_native_safe_halt",
	"sched_clock", "local_clock", "ktime_get", "timekeeping_", "native_sched_clock", "read_tsc",
	"update_rq_clock", "update_curr", "update_load_", "update_process_times", "update_cfs_", "update_wall_time", "sched_tick", "scheduler_tick", "__update_", "account_", "cgroup_rstat_", "psi_",
	"bpf_", "__bpf_", "___bpf_", "htab_", "__htab_", "array_map_", "percpu_array_", "ringbuf_", "__pcpu_", "pcpu_freelist_", "stack_map_", "get_perf_callchain", "perf_", "__perf_",
	"trace_", "__trace_", "tracing_", "ftrace_", "__ftrace_", "function_graph_", "fgraph_", "kprobe_", "__kprobe_", "kretprobe_", "__kretprobe_", "aggr_", "opt_pre_", "optimized_", "uprobe_", "__uprobe_", "fprobe_", "__fprobe_", "rethook_", "__rethook_", "ring_buffer_", "__ring_buffer_", "unwind_", "__unwind_", "stack_trace_",
	"copy_from_kernel_nofault", "copy_from_user_nofault", "strncpy_from_", "strnlen_user", "find_vma", "__find_vma",
}

// Hot reports whether a function runs so often, or where programs run themselves, that a pattern must
// not select it.
func Hot(name string) bool {
	for _, prefix := range hot {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
