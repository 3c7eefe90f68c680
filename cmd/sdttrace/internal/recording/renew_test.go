package recording

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRenew writes to a file that has something, behind a link as well, twice: what was there last is kept.
// A directory in place of the kept file has it overwritten.
func TestRenew(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "recording"), filepath.Join(dir, "link")
	if err := os.Symlink("recording", link); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) (said string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		var say strings.Builder
		if file, err = Renew(path, file, &say); err == nil {
			_, err = file.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		return say.String()
	}
	check := func(path, want string) {
		t.Helper()
		if text, err := os.ReadFile(path); string(text) != want {
			t.Errorf("%s has %q, %v, want %q", path, text, err, want)
		}
	}
	if said := write(path, "first"); said != "" {
		t.Errorf("a new file: %s", said)
	}
	if said, want := write(path, "second"), "sdttrace: "+path+".old has what was in "+path+", 5 bytes\n"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	check(path, "second")
	check(path+".old", "first")
	write(link, "third")
	check(path, "third")
	check(link+".old", "second")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	os.Remove(path + ".old")
	if err := os.MkdirAll(path+".old/x", 0o700); err != nil {
		t.Fatal(err)
	}
	if said, want := write(path, "fourth"), "sdttrace: this replaces what was in "+path+", 5 bytes\n"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	check(path, "fourth")
}
