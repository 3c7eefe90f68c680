package complete

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/kernfunc"
)

// TestFunctionsOf checks which functions of the kernel complete a word.
func TestFunctionsOf(t *testing.T) {
	table := &kernfunc.Table{Functions: []kernfunc.Function{
		{Name: "vfs_read", Module: kernfunc.Kernel}, {Name: "vfs_write", Module: kernfunc.Kernel}, {Name: "ext4_sync", Module: "ext4"}, {Name: "vfs_of_ext4", Module: "ext4"},
	}}
	for prefix, want := range map[string][]string{
		"vfs_":         {"fentry:vfs_read", "fentry:vfs_write", "fentry:vfs_of_ext4"},
		"vfs_r":        {"fentry:vfs_read"},
		"ext4:":        {"fentry:ext4:ext4_sync", "fentry:ext4:vfs_of_ext4"},
		"vmlinux:vfs_": {"fentry:vmlinux:vfs_read", "fentry:vmlinux:vfs_write"},
		"none":         nil,
	} {
		if diff := cmp.Diff(want, functionsOf(table, "fentry", prefix)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prefix, diff)
		}
	}
}
