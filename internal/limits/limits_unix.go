//go:build unix

package limits

import (
	"os"
	"strconv"
	"syscall"
)

const (
	// files are the descriptors that a command needs before it opens the first file of others.
	files = 64
	// space is what Go's runtime reserves of the address space, rather than uses, for a command
	// of a dozen threads. It ends with a dump at an unforeseeable moment where it cannot, with
	// less than about 1.5 GiB even before this package is initialised.
	space = 2 << 30
)

func init() {
	if short := check(); short != "" {
		os.Stderr.WriteString(os.Args[0] + ": " + short + "\n")
		os.Exit(1)
	}
}

// check returns which limit of setrlimit(2) is too low, "" if none is. It opens no file.
func check() string {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err == nil && uint64(l.Max) < files {
		return "this process may open " + strconv.FormatUint(uint64(l.Max), 10) + " files, and needs " + strconv.Itoa(files) + ": raise the limit (ulimit -n)"
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &l); err == nil && uint64(l.Cur) < space {
		return "this process may have " + strconv.FormatUint(uint64(l.Cur)>>20, 10) + " MiB of address space, and needs " + strconv.Itoa(space>>20) + ": raise the limit (ulimit -v)"
	}
	return ""
}
