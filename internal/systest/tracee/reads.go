package tracee

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Reads waits until a thread of the program waits for the next line of its input, in read(2). A
// program that has answered a line is on its way there.
func (p *Program) Reads() {
	p.t.Helper()
	call := fmt.Sprintf("%d 0x0 ", unix.SYS_READ) // of file 0
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", p.PID()))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, thread := range threads {
			if at, err := os.ReadFile(thread); err == nil && strings.HasPrefix(string(at), call) {
				return
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not read its input", p.cmd.Path)
		}
	}
}
