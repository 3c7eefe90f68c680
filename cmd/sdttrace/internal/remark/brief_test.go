package remark

import (
	"strings"
	"testing"
	"time"
)

// TestBrief says what may be missed where a file has to be found first, and nothing where it is known or
// there is none.
func TestBrief(t *testing.T) {
	for probe, want := range map[string]bool{
		"a:b": true, "libc.so.6:a:b": true, "uprobe:libc.so.6:malloc": true, "/bin/x:a:b": false, "uprobe:./x:f": false,
		"kprobe:vfs_read": false, "tracepoint:syscalls:sys_enter_write": false, "fentry:vfs_read": false,
	} {
		var said strings.Builder
		if Brief(&said, []string{probe}, time.Second); (said.Len() > 0) != want {
			t.Errorf("%s: it says %q", probe, said.String())
		}
	}
}
