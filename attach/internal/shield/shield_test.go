package shield_test

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/systest/leftover"
)

const role = "SHIELD_TEST_TEE"

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		// Copies what comes through descriptor 3 to descriptor 4.
		os.Stdout.Write([]byte("ready"))
		shield.Syscall(unix.SYS_TEE, 3, 4, 100, 0, 0)
		return
	}
	os.Exit(leftover.Run(m))
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
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=1")
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	if _, err := io.ReadFull(stdout, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // until the call waits; earlier it proves less
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if _, err := feed.WriteString("still here"); err != nil {
		t.Fatal(err)
	}
	feed.Close()
	if err := drain.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(drain)
	if string(got) != "still here" {
		t.Errorf("got %q (%v), want what the call passes on", got, err)
	}
}
