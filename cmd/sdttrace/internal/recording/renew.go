package recording

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-usdt/usdt/internal/printable"
)

// Renew returns an empty file for a new recording at path, which was opened as file. A file that has
// something is kept as path.old, as perf record does, in place of one that is there. Where the directory
// does not allow that, it is overwritten. Renew says which.
func Renew(path string, file *os.File, say io.Writer) (*os.File, error) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return file, err
	}
	if fresh, err := aside(path, info); err == nil {
		fmt.Fprintf(say, "sdttrace: %s.old has what was in %[1]s, %s\n", path, printable.Many(info.Size(), "byte", "bytes"))
		return fresh, file.Close()
	}
	fmt.Fprintf(say, "sdttrace: this replaces what was in %s, %s\n", path, printable.Many(info.Size(), "byte", "bytes"))
	return file, file.Truncate(0)
}

// aside renames the file, and makes a new one.
func aside(path string, info os.FileInfo) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if now, err := os.Stat(real); err != nil || !os.SameFile(now, info) {
		return nil, os.ErrExist // somebody else has put another there
	}
	old := path + ".old"
	if err := os.Rename(real, old); err != nil {
		return nil, err
	}
	fresh, err := os.OpenFile(real, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		os.Rename(old, real)
	}
	return fresh, err
}
