package kernelsites

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/kernfunc"
)

// TestKernel finds functions of the kernel by selectors, by their names and by others of the same code.
func TestFunctions(t *testing.T) {
	const symbols = `ffffffff81000100 T vfs_read
ffffffff81000200 t __do_sys_getppid
ffffffff81000200 T __x64_sys_getppid
ffffffff81000300 t init_once
ffffffff81000400 t init_once
ffffffff81000500 t mutex_lock
ffffffff81000600 T vfs_write
ffffffffc0001000 t ext4_file_write_iter	[ext4]
`
	const available = `ffffffff81000104 vfs_read
ffffffff81000204 __x64_sys_getppid
ffffffff81000304 init_once
ffffffff81000404 init_once
ffffffff81000504 mutex_lock
ffffffff81000604 vfs_write
ffffffffc0001004 ext4_file_write_iter [ext4]
`
	table, err := kernfunc.New(strings.NewReader(available), strings.NewReader(symbols), true)
	load(t, &functions, functionTable{table}, err)
	for _, c := range []struct {
		selectors string
		want      []string
		hot       int
	}{
		{"kprobe:vfs_*", []string{"kprobe vmlinux vfs_read", "kprobe vmlinux vfs_write"}, 0},
		{"kprobe:vfs_read", []string{"kprobe vmlinux vfs_read"}, 0},
		{"kprobe:vfs_rea", nil, 0},
		{"kprobe:__do_sys_get*", []string{"kprobe vmlinux __do_sys_getppid"}, 0},
		{"kprobe:*_sys_getppid", []string{"kprobe vmlinux __x64_sys_getppid"}, 0},
		{"kprobe:init_once@0xffffffff81000400", []string{"kprobe vmlinux init_once@0xffffffff81000400"}, 0},
		{"kprobe:ext4:*", []string{"kprobe ext4 ext4_file_write_iter"}, 0},
		{"kprobe:[mv]*", []string{"kprobe vmlinux vfs_read", "kprobe vmlinux vfs_write"}, 1},
		{"kprobe:mutex_lock", []string{"kprobe vmlinux mutex_lock"}, 0},
		{"kprobe:vfs_r* kretprobe:vfs_w* kprobe:?fs_read", []string{"kprobe vmlinux vfs_read", "kretprobe vmlinux vfs_write"}, 0},
	} {
		found, search, err := find(t, strings.Fields(c.selectors)...)
		if err != nil || slices.Contains(search.Matched, false) != (c.want == nil) {
			t.Errorf("%s: %v, matched %t", c.selectors, err, search.Matched)
		}
		var got []string
		for i := range found {
			got = append(got, fmt.Sprint(found[i].Kind, " ", found[i].Provider, " ", found[i].Name))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || slices.Max(search.Hot) != c.hot {
			t.Errorf("%s leaves out %d, want %d (-want +got):\n%s", c.selectors, search.Hot, c.hot, diff)
		}
	}
}

// TestMissingFunctions says which function a selector may have meant.
func TestMissingFunctions(t *testing.T) {
	load(t, &functions, functionTable{&kernfunc.Table{Functions: []kernfunc.Function{
		{Name: "vfs_read", Module: kernfunc.Kernel, Address: 0x100}, {Name: "init_once", Module: "ext4", Address: 0x200},
	}}}, nil)
	for text, want := range map[string]string{
		"kprobe:vfs_raed":         ", but kprobe:vfs_read would",
		"fexit:vfs_raed":          ", but fexit:vfs_read would",
		"kprobe:init_once@0x1":    ", but kprobe:ext4:init_once@0x200 would",
		"kprobe:nothing_like_it":  ": it does not exist, was inlined everywhere, or is code that must not be traced",
		"kprobe:nothing.isra.0":   "",
		"kprobe:nothing_like_it*": "",
	} {
		found, search, err := find(t, text)
		if got := search.Missing(0); got != want || err != nil || len(found) > 0 {
			t.Errorf("%s: found %d, %q, want %q, error %v", text, len(found), got, want, err)
		}
	}
}

// TestCompleteFunctions checks which functions of the kernel complete a word.
func TestCompleteFunctions(t *testing.T) {
	load(t, &functions, functionTable{&kernfunc.Table{Functions: []kernfunc.Function{
		{Name: "vfs_read", Module: kernfunc.Kernel}, {Name: "vfs_write", Module: kernfunc.Kernel}, {Name: "ext4_sync", Module: "ext4"}, {Name: "vfs_of_ext4", Module: "ext4"}, {Name: "vfs_$x", Module: "y"},
	}}}, nil)
	complete(t, map[string][]string{
		"fentry:vfs_":        {"fentry:vfs_read", "fentry:vfs_write", "fentry:vfs_of_ext4"},
		"kprobe:vfs_r":       {"kprobe:vfs_read"},
		"fentry:ext4:":       {"fentry:ext4:ext4_sync", "fentry:ext4:vfs_of_ext4"},
		"fexit:vmlinux:vfs_": {"fexit:vmlinux:vfs_read", "fexit:vmlinux:vfs_write"},
		"kretprobe:none":     nil,
	})
	for _, word := range []string{"kprobe", "uprobe:x", "usdt:x", "x"} {
		if words, ok := Complete(word); ok {
			t.Errorf("%s is completed by %q", word, words)
		}
	}
}
