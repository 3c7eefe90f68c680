// Forker fires its probe, waits for a line, forks without exec, and fires in
// the child. It prints how the child ended.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/go-usdt/usdt/provider"
)

func main() {
	p := provider.New("forker", &provider.Options{Site: provider.SiteNop})
	probe := provider.NewProbe1[uint64](p, "fire", "n")
	if err := p.Load(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	for i := uint64(0); i < 100 && probe.Enabled(); i++ {
		probe.Fire(i) // the kernel may replace the site now
	}
	runtime.LockOSThread()
	time.Sleep(time.Millisecond)
	// The child has this thread only: it may not allocate or be scheduled.
	pid, _, errno := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
	if errno != 0 {
		log.Fatal(errno)
	}
	if pid == 0 {
		probe.Fire(1000)
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 7, 0, 0)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(int(pid), &status, 0, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("exited %v status %d signal %v\n", status.Exited(), status.ExitStatus(), status.Signal())
}
