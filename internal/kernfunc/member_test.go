package kernfunc

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/reader"
)

// TestMember finds members in the running kernel's types, and compares their places with what another
// reader of these finds.
func TestMember(t *testing.T) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{types: &typeFiles{dir: "/sys/kernel/btf"}}
	proto, err := table.Prototype(&Function{Name: "vfs_fallocate", Module: Kernel})
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]*reader.KernelParam{}
	for i := range proto.Params {
		p := describe(&proto.Params[i])
		params[p.Name] = &p
	}
	for _, test := range []struct {
		path         string
		steps        [][]string // a structure and members
		text, inside bool
		err          string
	}{
		{path: "file.f_flags", steps: [][]string{{"file", "f_flags"}}},
		{path: "file.f_inode.i_ino", steps: [][]string{{"file", "f_inode"}, {"inode", "i_ino"}}},
		{path: "file.f_path.dentry.d_name.name", text: true, steps: [][]string{{"file", "f_path"}, {"path", "dentry"}, {"dentry", "d_name"}, {"qstr", "name"}}},
		{path: "file.f_inode.i_sb.s_id", text: true, inside: true, steps: [][]string{{"file", "f_inode"}, {"inode", "i_sb"}, {"super_block", "s_id"}}},
		{path: "file.f_inod.i_ino", err: "file has no member f_inod; the nearest is f_inode"},
		{path: "file.f_inode.i_ino.x", err: "file.f_inode.i_ino, a "},
		{path: "file.f_path", err: "name a member of it"},
		{path: "mode.x", err: "mode, a int, has no members"},
	} {
		head, _, _ := strings.Cut(test.path, ".")
		m, err := table.Member(Kernel, params[head], test.path)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", test.path, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		var want []int64
		for _, step := range test.steps {
			offset, err := kernel.MemberOffset(spec, step[0], step[1])
			if err != nil {
				t.Fatal(err)
			}
			if step[0] == "path" || step[0] == "qstr" { // within another structure
				want[len(want)-1] += int64(offset)
			} else {
				want = append(want, int64(offset))
			}
		}
		if len(m.Steps) != len(want) || m.Text != test.text || m.Inside != test.inside || m.Name != test.path {
			t.Errorf("%s: %+v, want steps %v", test.path, m, want)
			continue
		}
		for i := range want {
			if m.Steps[i] != want[i] {
				t.Errorf("%s: steps %v, want %v", test.path, m.Steps, want)
			}
		}
	}
}
