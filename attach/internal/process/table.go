package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// InitialTimeNamespace is what /proc/PID/ns/time links to where no clock has an
// offset (include/linux/proc_ns.h: PROC_TIME_INIT_INO).
const InitialTimeNamespace = "time:[4026531834]"

// lifetime distinguishes a process from later ones with its PID: when it was
// started, in nanoseconds since the machine was.
type lifetime struct {
	Start, Within uint64
}

// clockTick is the unit of times in /proc/PID/stat: USER_HZ is 100.
const clockTick = 10_000_000

// lifetimeOf returns the lifetime of a process; one that fits any if it is not
// known.
func lifetimeOf(pid int) lifetime {
	unknown := lifetime{Within: 1<<64 - 1}
	if own, err := os.Readlink("/proc/self/ns/time"); err == nil && own != InitialTimeNamespace {
		return unknown // the kernel shifts the times that it shows
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return unknown
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const starttime = 22 - 3 // proc_pid_stat(5); the first field here is the third
	if len(fields) <= starttime {
		return unknown
	}
	ticks, err := strconv.ParseUint(fields[starttime], 10, 64)
	if err != nil {
		return unknown
	}
	return lifetime{ticks * clockTick, clockTick}
}

// NewTable creates the table of processes to trace, of a size.
func NewTable(procs *Set, size int) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_processes", Type: ebpf.Hash, KeySize: 4, ValueSize: 16, MaxEntries: uint32(size)})
	if err != nil {
		return nil, fmt.Errorf("create a map of %d processes: %w", size, err)
	}
	for _, pid := range procs.PIDs {
		if err := Enter(m, procs, pid); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

// Enter enters a process of a set into a table, unless it has ended.
func Enter(m *ebpf.Map, procs *Set, pid int) error {
	life := lifetimeOf(pid)
	if procs.Ended(pid) {
		return nil // it may be another process's
	}
	if err := m.Put(uint32(pid), life); err != nil {
		return fmt.Errorf("add process %d to the map: %w", pid, err)
	}
	return nil
}

// only is the value of the array of the only process to trace.
type only struct {
	PID uint64
	lifetime
}

// nobody is a PID that no process has, nor the kernel's idle tasks.
const nobody = 1<<64 - 1

// NewOnly creates the array of the only process to trace, with one value: the PID, when the process was
// started, and how much later that may have been. Programs read it without a lookup.
func NewOnly(procs *Set) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_process", Type: ebpf.Array, KeySize: 4, ValueSize: 24, MaxEntries: 1})
	if err != nil {
		return nil, fmt.Errorf("create a map of one process: %w", err)
	}
	pid := procs.PIDs[0]
	value := only{uint64(pid), lifetimeOf(pid)}
	if procs.Ended(pid) {
		value = only{PID: nobody} // it may be another process's
	}
	if err := m.Put(uint32(0), value); err != nil {
		m.Close()
		return nil, fmt.Errorf("put process %d into the map: %w", pid, err)
	}
	return m, nil
}

// LeaveOnly makes programs trace no process, once the one of NewOnly has ended.
func LeaveOnly(m *ebpf.Map) error { return m.Put(uint32(0), only{PID: nobody}) }
