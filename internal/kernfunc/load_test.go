package kernfunc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLoadedModules tells apart the modules of a kernel, and not who uses them.
func TestLoadedModules(t *testing.T) {
	const loop, ext4 = "loop 40960 1 - Live 0xffffffffc0a00000\n", "ext4 1150976 2 jbd2,mbcache Live 0xffffffffc0b00000\n"
	read := func(text string) string {
		path := filepath.Join(t.TempDir(), "modules")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		modules, err := loadedModules(path)
		if err != nil {
			t.Fatal(err)
		}
		return modules
	}
	both := read(loop + ext4)
	if again := read("loop 40960 3 - Live 0xffffffffc0a00000\n" + ext4); again != both {
		t.Errorf("%q with other users, want %q", again, both)
	}
	for _, other := range []string{loop, ext4, "", "loop 40960 1 - Live 0xffffffffc0c00000\n" + ext4, "loop 40960 1 - Loading 0xffffffffc0a00000\n" + ext4} {
		if got := read(other); got == both {
			t.Errorf("%q is as %q", other, loop+ext4)
		}
	}
	if got, err := loadedModules(filepath.Join(t.TempDir(), "none")); got != "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q without the file, error %v", got, err)
	}
}
