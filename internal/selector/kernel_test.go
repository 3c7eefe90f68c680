package selector

import (
	"strings"
	"testing"
)

// TestKernel checks which functions of the kernel selectors name, and how they are written.
func TestKernel(t *testing.T) {
	for _, c := range []struct {
		selector, module, function string
		address                    uint64
		want                       bool
	}{
		{"kprobe:vfs_read", "vmlinux", "vfs_read", 1, true},
		{"kprobe:vfs_*", "vmlinux", "vfs_read", 1, true},
		{"kprobe:vfs_*", "xfs", "vfs_read", 1, true},
		{"kprobe:ext4:*", "ext4", "ext4_sync_file", 1, true},
		{"fentry:ext4:*", "ext4", "ext4_sync_file", 1, true},
		{"fexit:vfs_*", "vmlinux", "ext4_sync_file", 1, false},
		{"kprobe:ext4:*", "vmlinux", "vfs_read", 1, false},
		{"kretprobe:init_once@0x10", "vmlinux", "init_once", 16, true},
		{"kretprobe:init_once@0x10", "vmlinux", "init_once", 32, false},
		{"uprobe:ext4:*", "ext4", "ext4_sync_file", 1, false},
	} {
		s, err := Parse(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		if c.want && !strings.HasPrefix(c.function, s.KernelPrefix()) {
			t.Errorf("%s names %s, which does not begin with %q", c.selector, c.function, s.KernelPrefix())
		}
		if got := s.MatchKernel(c.module, c.function, c.address); got != c.want {
			t.Errorf("%s names %s of %s at %d: %t, want %t", c.selector, c.function, c.module, c.address, got, c.want)
		}
		if s.String() != c.selector {
			t.Errorf("%s is written %s", c.selector, s.String())
		}
		if s.Kind.InKernel() && (s.MatchPath("/lib/x.so") || s.MatchName("vfs_read") || s.Match("/lib/x.so", "ext4", "vfs_read")) {
			t.Errorf("%s names something in a file", c.selector)
		}
	}
	for selector, want := range map[string]string{
		"kprobe:":           "the function is empty",
		"kprobe:ext4:":      "the function is empty",
		"kprobe::vfs_read":  "the module is empty",
		"fexit::vfs_read":   "the module is empty",
		"kprobe:f@16":       "is not an address",
		"kretprobe:f@0x":    "is not an address",
		"kprobe:vfs_[read":  "function",
		"kretprobe:x:y@0x0": "is not an address",
	} {
		if _, err := Parse(selector); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", selector, err, want)
		}
	}
	if got := Probe("", "kprobe", "vfs_read"); got != `\kprobe:vfs_read` {
		t.Errorf("the probe vfs_read of a provider kprobe is %s", got)
	}
}
