package ring

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestAllocateInterrupted allocates the memory of files in tmpfs while signals come.
func TestAllocateInterrupted(t *testing.T) {
	const size = 32 << 20
	dir, err := os.MkdirTemp("/dev/shm", "usdt-test-")
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer os.RemoveAll(dir)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var done atomic.Bool
	ended := make(chan error)
	go func(thread int) {
		for !done.Load() {
			if err := unix.Tgkill(os.Getpid(), thread, unix.SIGURG); err != nil {
				ended <- err
				return
			}
			time.Sleep(200 * time.Microsecond)
		}
		ended <- nil
	}(unix.Gettid())
	for range 5 {
		path := filepath.Join(dir, "file")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := allocate(int(file.Fd()), size); err != nil {
			t.Error(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(file.Fd()), &st); err != nil || st.Size != size || st.Blocks*512 < size {
			t.Errorf("%v, %d bytes in %d blocks, want %d", err, st.Size, st.Blocks, size)
		}
		file.Close()
		os.Remove(path)
	}
	done.Store(true)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
