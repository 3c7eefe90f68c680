package link

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestFeatureLater checks that a feature which could not be asked for because of
// a missing privilege is asked again.
func TestFeatureLater(t *testing.T) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	for name, known := range map[string]*kernel.Feature{"process filter": &MultiPIDFilter, "sessions": &Sessions, "sleepable": &kernel.Sleepable} {
		t.Run(name, func(t *testing.T) {
			f := &kernel.Feature{Test: known.Test}
			if err := f.Require(); err != nil && !errors.Is(err, ebpf.ErrNotSupported) {
				needs.Skip(t, "%v", privilege.Explain("ask the kernel", err))
			}
			runtime.LockOSThread() // and the thread ends with the test
			var had, none [2]unix.CapUserData
			if err := unix.Capget(&header, &had[0]); err != nil {
				t.Fatal(err)
			}
			none = had
			none[0].Effective, none[1].Effective = 0, 0
			if err := unix.Capset(&header, &none[0]); err != nil {
				t.Fatal(err)
			}
			f = &kernel.Feature{Test: known.Test}
			before := f.Require()
			if err := unix.Capset(&header, &had[0]); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(before, os.ErrPermission) {
				t.Errorf("without capabilities: error %v, want one that wraps os.ErrPermission", before)
			}
			after := f.Require()
			if want := (&kernel.Feature{Test: known.Test}).Require(); !errors.Is(after, want) {
				t.Errorf("with capabilities: error %v, want %v", after, want)
			}
		})
	}
}
