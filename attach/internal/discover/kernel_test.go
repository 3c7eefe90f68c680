package discover

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/selector"
)

// TestKernel finds functions of the kernel by selectors, by their names and by others of the same code.
func TestKernel(t *testing.T) {
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
	was := loadKernel
	defer func() { loadKernel = was }()
	loadKernel = func() (*kernfunc.Table, error) {
		return kernfunc.New(strings.NewReader(available), strings.NewReader(symbols), true)
	}
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
		var selectors []selector.Selector
		for text := range strings.FieldsSeq(c.selectors) {
			s, err := selector.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			selectors = append(selectors, s)
		}
		d := New(selectors, &process.Set{})
		sites, err := d.First(t.Context())
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v", c.selectors, err)
		}
		var got []string
		for s := range sites.All() {
			got = append(got, fmt.Sprint(s.Probe.Kind, " ", s.Probe.Provider, " ", s.Probe.Name))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || d.Hot() != c.hot {
			t.Errorf("%s leaves out %d, want %d (-want +got):\n%s", c.selectors, d.Hot(), c.hot, diff)
		}
	}
}
