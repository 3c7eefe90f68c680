package kernfunc

import (
	"slices"
	"strings"
	"testing"
)

// TestHot checks that names are found among the beginnings, which must be in order for that.
func TestHot(t *testing.T) {
	if !slices.IsSorted(hot[:]) {
		t.Error("the beginnings are not in order")
	}
	for i, prefix := range hot {
		if i > 0 && strings.HasPrefix(prefix, hot[i-1]) {
			t.Errorf("%q begins with %q", prefix, hot[i-1])
		}
		for _, name := range []string{prefix, prefix + "x", prefix + "_zz"} {
			if !Hot(name) {
				t.Errorf("%s is not hot", name)
			}
		}
	}
	for _, name := range []string{"", "a", "vfs_read", "rcu", "do_sys_openat2", "tcp_sendmsg", "zap_page_range", "ksys_write", "update"} {
		if Hot(name) {
			t.Errorf("%q is hot", name)
		}
	}
}
