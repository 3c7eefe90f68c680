package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/cdecl"
)

// swept has the events directories that this process has cleaned. It is the
// process's, since its PID names a directory in each.
var swept sync.Map

// showEvents fills the events directory of a provider, after removing what
// dead processes left there.
func showEvents(dir, provider string, probes []declared) error {
	if _, done := swept.LoadOrStore(dir, true); !done {
		sweep(dir)
	}
	for _, p := range probes {
		at := filepath.Join(dir, strconv.Itoa(os.Getpid()), provider, p.name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		address := fmt.Sprintf("%#x\n", p.site.Load())
		err := errors.Join(
			os.WriteFile(filepath.Join(at, "address"), []byte(address), 0o444),
			os.WriteFile(filepath.Join(at, "format"), []byte(format(p.name, p.sig)), 0o444))
		if err != nil {
			return err
		}
	}
	return nil
}

// hideEvents removes what showEvents made, and the process's directory with
// its last provider.
func hideEvents(dir, provider string, probes []declared) error {
	own := filepath.Join(dir, strconv.Itoa(os.Getpid()))
	var errs []error
	for _, p := range probes {
		errs = append(errs, os.RemoveAll(filepath.Join(own, provider, p.name)))
	}
	for _, d := range []string{filepath.Join(own, provider), own} {
		if err := unix.Rmdir(d); err != nil && err != unix.ENOTEMPTY && err != unix.EEXIST && err != unix.ENOENT {
			errs = append(errs, &fs.PathError{Op: "rmdir", Path: d, Err: err})
		}
	}
	return errors.Join(errs...)
}

// sweep removes the directories of processes that are gone, and of an earlier
// process that had this one's PID. What cannot be removed stays.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 0 {
			continue
		}
		if pid == os.Getpid() || unix.Kill(pid, 0) == unix.ESRCH {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// format describes the argument block as tracepoints describe their records
// (https://docs.kernel.org/trace/events.html, "Event formats").
func format(name string, sig *signature) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nformat:\n", name)
	if sig.typ == nil {
		return b.String()
	}
	for _, m := range sig.typ.Members {
		size, err := btf.Sizeof(m.Type)
		if err != nil {
			continue // a member without a size has no place in memory
		}
		fmt.Fprintf(&b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n",
			cdecl.Declare(m.Type, m.Name), m.Offset.Bytes(), size, signed(m.Type))
	}
	return b.String()
}

func signed(t btf.Type) int {
	if i, ok := t.(*btf.Int); ok && i.Encoding&btf.Signed != 0 {
		return 1
	}
	return 0
}
