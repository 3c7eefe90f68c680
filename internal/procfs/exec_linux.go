package procfs

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"
)

// execTime is the longest time that AwaitExec waits: much longer than the kernel
// needs even if the program's first pages come from a slow disk.
const execTime = time.Second

// AwaitExec waits until the program that process pid executes is mapped. The
// process's starter may look at it before that: os/exec waits for the end of a pipe
// to the child, which closes earlier (fs/binfmt_elf.c, load_elf_binary:
// begin_new_exec closes descriptors, elf_map follows, and create_elf_tables fills the
// auxiliary vector, which is zero until then). On newer kernels (seen on 7.3) the
// pipe closes even before the child has left the memory that it shares with this
// process.
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

// ownAuxv returns the auxiliary vector of this process. Its addresses are random, so
// that a process with the same one is a child that has yet to execute.
var ownAuxv = sync.OnceValue(func() []byte {
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return nil
	}
	return auxv
})
