package operand

import (
	"os"
	"path/filepath"
	"testing"
)

// TestObjectPath checks that the path passed to the kernel leads to the file that
// was read, whatever is at its name by now.
func TestObjectPath(t *testing.T) {
	data, err := os.ReadFile("../../collection/testdata/shop.o")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "object")
	other := name + ".other"
	for _, path := range []string{name, other} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	obj, err := OpenObject(name)
	if err != nil {
		t.Fatal(err)
	}
	defer obj.Close()
	if err := os.Rename(other, name); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || os.SameFile(info, obj.Info) {
		t.Fatalf("%s has not been replaced (%v)", name, err)
	}
	if info, err := os.Stat(obj.Path()); err != nil || !os.SameFile(info, obj.Info) {
		t.Errorf("%s leads to another file (%v)", obj.Path(), err)
	}
}
