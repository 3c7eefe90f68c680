package attach

import "github.com/go-usdt/usdt/attach/internal/privilege"

// PrivilegeError says that this process lacks the privileges to attach. It is a
// struct with the fields
//
//	Op      string   // what was tried
//	Missing []string // capabilities that this process lacks: "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE" or "CAP_SYS_ADMIN"
//	Err     error    // the kernel's answer; wraps os.ErrPermission
//
// and errors.As finds a *PrivilegeError.
type PrivilegeError = privilege.Error
