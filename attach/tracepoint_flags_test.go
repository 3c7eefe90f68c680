package attach_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestTracepointFlags reads and tests bits by the names that the kernel prints them with.
func TestTracepointFlags(t *testing.T) {
	needs.Tracepoints(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "locked"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags := "flags"
	open := func() (*attach.Session, error) {
		return attach.Open(t.Context(), []string{"tracepoint:filelock:flock_lock_inode"}, functionsOf(os.Getpid(), flags+` & "FL_SLEEP"`))
	}
	s, err := open()
	needPrivileges(t, err)
	if err != nil { // before Linux 6.9
		flags = "fl_flags"
		s, err = open()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, how := range []int{unix.LOCK_EX, unix.LOCK_UN, unix.LOCK_EX | unix.LOCK_NB} {
		if err := unix.Flock(int(f.Fd()), how); err != nil {
			t.Fatal(err)
		}
	}
	const flockSleep = " 130 " // FL_FLOCK | FL_SLEEP
	events := drain(t, s)
	if len(events) != 2 || !strings.Contains(fmt.Sprint(events[0].Args), flags+flockSleep) {
		t.Errorf("%d events, want two, of the calls that may wait: %v", len(events), events)
	}
	if st := checkSum(t, s); st.Filtered != 1 {
		t.Errorf("stats %+v, want 1 filtered", st)
	}
}
