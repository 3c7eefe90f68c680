package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilities has the names of Linux's capabilities by number,
// include/uapi/linux/capability.h.
var capabilities = [...]string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
	"SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
	"SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
	"MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
	"CHECKPOINT_RESTORE",
}

// protection says why the kernel may have refused to let this process read another.
// kernel/ptrace.c (__ptrace_may_access) requires CAP_SYS_PTRACE unless both processes
// have one user, the other's memory may be dumped, and the other has no capability
// that this one lacks.
func protection(pid int) string {
	own, ok := capabilitySet("self", "CapEff:")
	if ok && own&(1<<unix.CAP_SYS_PTRACE) == 0 {
		return "belongs to another user or protects its memory, and this process lacks CAP_SYS_PTRACE"
	}
	others, known := capabilitySet(strconv.Itoa(pid), "CapPrm:")
	if lacked := names(others &^ own); ok && known && lacked != "" {
		return "protects its memory: it has " + lacked + ", which this process lacks, or belongs to an outer user namespace"
	}
	return "protects its memory by an outer user namespace or a security module, although this process has CAP_SYS_PTRACE"
}

// capabilitySet returns a capability set from a process's status. process is "self"
// or an id.
func capabilitySet(process, field string) (set uint64, ok bool) {
	status, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if digits, found := strings.CutPrefix(line, field); found {
			set, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 64)
			return set, err == nil
		}
	}
	return 0, false
}

// names returns the names in a set of capabilities.
func names(set uint64) string {
	var out []string
	for i := range 64 {
		switch {
		case set&(1<<i) == 0:
		case i < len(capabilities):
			out = append(out, "CAP_"+capabilities[i])
		default:
			out = append(out, fmt.Sprintf("capability %d", i))
		}
	}
	return strings.Join(out, " and ")
}
