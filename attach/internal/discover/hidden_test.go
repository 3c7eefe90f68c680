package discover

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/process"
)

// TestHidden checks which files are kept because of processes that may not be inspected.
func TestHidden(t *testing.T) {
	d := New(nil, &process.Set{})
	for _, test := range []struct {
		hide   []int
		newest int
	}{{[]int{7}, 1}, {[]int{7, 8}, 2}, {[]int{7}, 1}, {nil, 0}, {[]int{8}, 5}} {
		d.scan++
		for _, pid := range test.hide {
			d.hide(pid)
		}
		if got := d.sinceHidden(); got != test.newest || len(d.hidden) != len(test.hide) {
			t.Errorf("scan %d: since %d, want %d; %d are hidden", d.scan, got, test.newest, len(d.hidden))
		}
	}
	if headless(1 << 30) {
		t.Error("no process has threads")
	}
	d.copied.note(9, "/bin/a")
	d.copied.note(7, "/bin/b")
	if errs := d.Copied(); len(errs) != 2 || !strings.HasPrefix(errs[0].Error(), "process 7 runs code of /bin/b") {
		t.Errorf("copied: %v", errs)
	}
}
