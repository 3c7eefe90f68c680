package shield_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"tee": tee})
	os.Exit(leftover.Run(m))
}

// tee copies what comes through descriptor 3 to descriptor 4.
func tee([]string) error {
	_, err := shield.Syscall(unix.SYS_TEE, 3, 4, 100, 0, 0)
	return err
}

// TestSyscall checks that the call is made by another process that shares
// memory and descriptors.
func TestSyscall(t *testing.T) {
	pid, err := shield.Syscall(unix.SYS_GETPID, 0, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" {
		if int(pid) == os.Getpid() || pid == 0 {
			t.Errorf("the call was made by process %d, this is %d", pid, os.Getpid())
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := unix.FcntlInt(w.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := shield.Close(fd); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read %d bytes from a pipe whose other end is closed: %v", n, err)
	}
	if err := shield.Close(fd); err != unix.EBADF {
		t.Errorf("closing a closed descriptor: %v, want EBADF", err)
	}
}

// TestMany makes calls from many goroutines under signals and collections.
func TestMany(t *testing.T) {
	stop := make(chan struct{})
	var noise, calls sync.WaitGroup
	noise.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				unix.Kill(os.Getpid(), unix.SIGURG)
				runtime.GC()
			}
		}
	})
	for range 8 {
		calls.Go(func() {
			for range 50 {
				if _, err := shield.Syscall(unix.SYS_GETPPID, 0, 0, 0, 0, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	close(stop)
	noise.Wait()
}

// TestKilled checks that a call goes on when the process is killed with its
// whole process group.
func TestKilled(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("not on", runtime.GOARCH)
	}
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	drain, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := tracee.Self("tee")
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.Stderr = os.Stderr // a pipe would be open, and waited for, as long as the call goes on
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := tracee.StartVictim(t, cmd)
	in.Close()
	out.Close()
	awaitCall(t, p.PID(), unix.SYS_TEE)
	if err := unix.Kill(-p.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if _, err := feed.WriteString("still here"); err != nil {
		t.Fatal(err)
	}
	feed.Close()
	if err := drain.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(drain)
	if string(got) != "still here" {
		t.Errorf("got %q (%v), want what the call passes on", got, err)
	}
}

// awaitCall waits until a child of a process blocks in a system call.
func awaitCall(t *testing.T, pid int, call uintptr) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			children, _ := os.ReadFile(task)
			for _, child := range strings.Fields(string(children)) {
				blocked, _ := os.ReadFile("/proc/" + child + "/syscall") // "running" otherwise
				if strings.HasPrefix(string(blocked), fmt.Sprint(call, " ")) {
					return
				}
			}
		}
	}
	t.Fatalf("no child of process %d blocks in system call %d", pid, call)
}
