// Package attach attaches BPF programs to USDT probes and delivers typed events.
//
// [Open] takes selectors such as "myapp:request_*", finds the probe sites they
// name, attaches generated BPF programs to them and returns a [Session], whose
// Events are decoded Go values, each an [event.Event]. [OpenAggregate] has the kernel
// count events and add up their arguments instead, in total or by the values of other
// arguments. [OpenLatency] adds up the time from one probe to another, and [OpenPairs]
// delivers the pairs that took long. [AttachProbes] attaches a program of the caller's
// own. Package collection loads programs compiled from C with libbpf's usdt.bpf.h and
// attaches them to the probes that their sections name. [Find] finds probes and
// attaches to none.
//
// A [Target] says which processes are traced. When a context is done, the call to
// which it was passed ends, and the tracing which that call has begun.
//
// All sites of one object that need the same program share one uprobe_multi
// link; kernels without it (before 6.6) get one perf event per site. Arguments
// are compiled to BPF instructions once per argument signature. Each is read with
// its exact size; if one cannot be read, only its own value is missing. The
// kernel counts semaphores through ref_ctr_offset: they fall back to zero
// whatever happens to this process.
//
// Arguments of typed probes may be structs, arrays and slices, and are decoded
// as [event.Struct] and [event.List]; pointers are followed if
// [Options.Follow] names them.
//
// [Session.Views] yields the same events without allocating memory for them. A
// reader that is too slow never holds up the traced program: when the buffer is
// full, events are dropped, and [Stats] counts every one of them. A burst needs a
// larger [EventOptions.RingSize], a steady flood a condition or an aggregation.
//
// [Options.Where] is a condition that the kernel tests before an event is
// recorded; it is compiled to BPF for each argument signature. If a [Via] has no
// programs, the process that fires and this one test it.
//
// Functions are traced like probes: "uprobe:PATH:FUNC" selects the entries of
// functions and "uretprobe:PATH:FUNC" the returns from them, by their symbols or
// by their names in C++, Rust and Go. Arguments have the names and types of debugging
// information or, without it, are the words arg0, arg1 … of the calling convention; the
// result is retval. "uprobe:PATH:FUNC+0x1f" and
// "uprobe:PATH:0x401136" select one instruction, which has no arguments, and
// "uprobe:PATH:FILE:LINE" the instructions with which a line of source code begins. A
// line has the variables in scope there as arguments, as far as [Options.Args] and
// conditions name them: n, and members of structures as req.port.
//
// A process may offer its probes to tracers without privileges, through shared memory.
// [Target.Via] chooses that way; by default it is taken where the kernel refuses to
// attach programs. Everything else is the same: events, conditions, groups and
// statistics.
//
// With [Options.Rescan], probes that appear later are attached to as well: in
// libraries that are loaded, in processes that start and in programs that declare
// probes when they run.
//
// Nothing is attached where it would harm the traced program or its host, unless
// [Options.Force] asks for it; the session's [Plan] says for every site what was done
// and why.
//
// Errors wrap others, so callers test them in this order: [*PrivilegeError], which alone says that this
// process lacks a right to attach, whatever else was tried; [*WhereError] and then [*OptionError], which it
// comes in; [*SelectorError]; [ErrAggregation]; [ErrNoMatch]; [ErrNoSite]; and last errors of the
// system. [os.ErrPermission] is wrapped where the kernel forbids something, and [os.ErrNotExist] where a file
// or a process does not exist.
//
// Attaching programs needs Linux 5.15 (BPF cookies) and CAP_BPF with CAP_PERFMON, or
// CAP_SYS_ADMIN, which perf events need in any case. Tracing other users' processes
// also takes CAP_SYS_PTRACE. See https://docs.kernel.org/trace/uprobetracer.html and
// https://docs.kernel.org/bpf/ringbuf.html.
package attach
