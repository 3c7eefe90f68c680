package procfs

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// execTime is how long AwaitExec waits: much longer than the kernel needs even
// if the program's first pages come from a slow disk.
const execTime = time.Second

// AwaitExec waits while process pid executes a program that is not mapped yet.
// Whoever has started a process may look at it that early: its pipe to the
// child, which os/exec waits on, is closed before (fs/binfmt_elf.c,
// load_elf_binary: begin_new_exec closes descriptors, elf_map follows, and
// create_elf_tables fills the auxiliary vector, which is zero until then).
func AwaitExec(pid int) {
	for end := time.Now().Add(execTime); executes(pid) && time.Now().Before(end); {
		time.Sleep(50 * time.Microsecond)
	}
}

func executes(pid int) bool {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	return err == nil && len(auxv) > 0 && len(bytes.Trim(auxv, "\x00")) == 0
}
