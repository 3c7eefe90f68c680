package procfs

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"
)

// execTime is how long AwaitExec waits: much longer than the kernel needs even
// if the program's first pages come from a slow disk.
const execTime = time.Second

// AwaitExec waits while process pid executes a program that is not mapped yet.
// Whoever has started a process may look at it that early: its pipe to the
// child, which os/exec waits on, is closed before (fs/binfmt_elf.c,
// load_elf_binary: begin_new_exec closes descriptors, elf_map follows, and
// create_elf_tables fills the auxiliary vector, which is zero until then). On
// newer kernels (seen on 7.3) it is closed even before the child has left the
// memory that it shares with this process.
func AwaitExec(pid int) {
	for end := time.Now().Add(execTime); executes(pid) && time.Now().Before(end); {
		time.Sleep(50 * time.Microsecond)
	}
}

func executes(pid int) bool {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil || len(auxv) == 0 {
		return false
	}
	return len(bytes.Trim(auxv, "\x00")) == 0 || pid != os.Getpid() && bytes.Equal(auxv, ownAuxv())
}

// ownAuxv is the auxiliary vector of this process. Its addresses are random, so
// that a process with the same one is a child that has yet to execute.
var ownAuxv = sync.OnceValue(func() []byte {
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return nil
	}
	return auxv
})
