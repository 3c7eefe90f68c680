package attach_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestKernelTable compares the table of the running kernel's functions with the one that another process finds, which has
// been kept. A module that is loaded makes it another one.
func TestKernelTable(t *testing.T) {
	needs.Kprobes(t)
	dir := filepath.Join(t.TempDir(), "kernel")
	compare := func() *kernfunc.Table {
		t.Helper()
		want, err := kernfunc.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"first", "later"} {
			got, err := kernfunc.Shared(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Functions, want.Functions) {
				t.Errorf("%s: %d functions, want the %d that were read", when, len(got.Functions), len(want.Functions))
			}
		}
		if files, err := filepath.Glob(dir + "/*"); err != nil || len(files) != 1 {
			t.Errorf("%q are kept, error %v, want one table", files, err)
		}
		return want
	}
	compare()
	needs.Loop(t)
	if compare().Find("lo_ioctl") == nil {
		t.Error("the module loop has no function lo_ioctl")
	}
}
