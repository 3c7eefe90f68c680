package attach_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// Words for the program of testdata/reload.c beside numbers of times.
const (
	loadAndStay   = 0
	fireAndUnload = -1
)

// TestRescanReplaced checks that a library is traced although another file had
// its path before, and that the other file, which has no path any more, is not
// traced twice.
func TestRescanReplaced(t *testing.T) {
	exe, library := compileLibrary(t)
	for _, test := range []struct {
		name   string
		unload bool // the first library before the second is loaded
		want   []int64
	}{
		{"unloaded", true, []int64{0, 0}},
		{"loaded", false, []int64{0, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			again := filepath.Dir(library) + "/./" + filepath.Base(library) // another library to the dynamic linker
			p := start(t, exec.Command(exe, library, again))
			s := open(t, "library:tick", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true})
			reload(t, p, loadAndStay)
			awaitSites(t, s.Plan, 1)
			if test.unload {
				reload(t, p, fireAndUnload)
			}
			replace(t, library)
			reload(t, p, loadAndStay)
			// Nothing remains of the site of a file that was unloaded and
			// replaced.
			second := func() attach.Plan { return newest(t, s, 2) }
			awaitSites(t, second, 1)
			reload(t, p, fireAndUnload)
			var got []int64
			for _, ev := range drain(t, s) {
				got = append(got, ev.Args[0].Value.(int64))
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			checkSum(t, s)
		})
	}
}

// TestRescanRewritten looks once more at a file that a selector names when it
// has been written anew.
func TestRescanRewritten(t *testing.T) {
	path, library := compileLibrary(t)
	s := open(t, path+":library:tick", &attach.Options{Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true})
	b, err := os.ReadFile(library)
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	awaitSites(t, s.Plan, 1)
}
