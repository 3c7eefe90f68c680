package screen

import (
	"os"

	"golang.org/x/sys/unix"
)

// Terminal returns the file that w is, if that is a terminal on which a cursor can be
// moved; else nil.
func Terminal(w any) *os.File {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return file
}
