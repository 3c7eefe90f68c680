package process

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func init() { runtime.LockOSThread() } // the role headless ends its first thread

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"headless": headless})
	os.Exit(leftover.Run(m))
}

// headless is a program whose first thread ends when it gets a line; the others go on.
func headless([]string) error {
	obeyed := make(chan error)
	told := make(chan bool, 1)
	go func() {
		obeyed <- tracee.Obey(func(string) error {
			told <- true
			return nil
		})(nil)
	}()
	select {
	case err := <-obeyed:
		return err
	case <-told:
	}
	go func() {
		<-obeyed
		os.Exit(0)
	}()
	unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	return nil
}
