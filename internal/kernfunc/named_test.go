package kernfunc

import (
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/reader"
)

// TestNamed finds members behind pointers to types of the running kernel that have names.
func TestNamed(t *testing.T) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	inode, err := kernel.MemberOffset(spec, "file", "f_inode")
	if err != nil {
		t.Fatal(err)
	}
	number, err := kernel.MemberOffset(spec, "inode", "i_ino")
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{types: &typeFiles{dir: "/sys/kernel/btf"}}
	for typ, why := range map[string]string{
		"struct file *": "", "const struct file *": "", "file *": "",
		"void *": "of which the kernel's types do not say what is in it", "union file *": "of which", "struct no_such *": "of which",
	} {
		m, err := table.Named(&reader.KernelParam{Name: "f", Type: typ, Pointer: true}, "f.f_inode.i_ino")
		switch {
		case why != "" && (err == nil || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: error %v, want %q", typ, err, why)
		case why == "" && (err != nil || !slices.Equal(m.Steps, []int64{int64(inode), int64(number)})):
			t.Errorf("%s: %+v, error %v, want steps %d and %d", typ, m, err, inode, number)
		}
	}
}
