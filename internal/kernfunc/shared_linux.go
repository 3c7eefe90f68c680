package kernfunc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/owned"
)

// sharedIn is where root's processes share a table until the machine restarts, in a file that the kernel's state names. It
// has the kernel's addresses, so nobody else may read it.
const sharedIn = "/run/usdt/kernel"

// Shared returns the table that another process of root has kept in dir, or reads it and keeps it there. It has no types.
func Shared(dir string) (*Table, error) {
	before, err := state("/proc", "/sys")
	if err != nil {
		return Read()
	}
	d, err := openTables(dir)
	if err != nil {
		return Read()
	}
	defer d.Close()
	if t := restored(d, before); t != nil {
		return t, nil
	}
	t, err := Read()
	if err != nil {
		return nil, err
	}
	if after, err := state("/proc", "/sys"); err == nil && after == before {
		t.keep(d, before)
	}
	return t, nil
}

// state returns what a table depends on, as the name of a file: the start of the machine, and which modules are loaded, where,
// and of which build.
func state(proc, sys string) (string, error) {
	boot, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", err
	}
	modules, err := loadedModules(filepath.Join(proc, "modules"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write(boot)
	for line := range strings.Lines(modules) {
		name, _, _ := strings.Cut(line, " ")
		build, err := os.ReadFile(filepath.Join(sys, "module", filepath.Base(name), "notes/.note.gnu.build-id"))
		if err != nil {
			return "", err // another build of the module may take its place unseen
		}
		sum.Write([]byte(line))
		sum.Write(build)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// openTables opens the directory of tables, which only root may change, and makes it.
func openTables(dir string) (*os.File, error) {
	if os.Geteuid() != 0 {
		return nil, os.ErrPermission
	}
	outer, err := owned.Open(filepath.Dir(dir), 0o755)
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	return owned.Open(dir, 0o700)
}

// tableHeader begins a file, and has another number for each meaning of what follows. tableEnd ends it.
const (
	tableHeader = "functions of the kernel, 1\n"
	tableEnd    = "end\n"
)

// restored returns the table that was kept for a state, nil if there is none, or others may read or change it.
func restored(d *os.File, state string) *Table {
	f, err := owned.OpenAt(d, state, unix.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO would be waited for
	if err != nil {
		return nil
	}
	defer f.Close()
	var st unix.Stat_t
	if err := owned.Stat(f, &st); err != nil || st.Mode&(unix.S_IFMT|0o077) != unix.S_IFREG || st.Uid != 0 {
		return nil
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	return readTable(string(b))
}

// readTable reads what keep has written, nil if it is something else. Names share the text's memory.
func readTable(text string) *Table {
	text, begun := strings.CutPrefix(text, tableHeader)
	text, ended := strings.CutSuffix(text, tableEnd)
	if !begun || !ended {
		return nil
	}
	t := &Table{Functions: make([]Function, 0, strings.Count(text, "\n"))}
	for line := range strings.Lines(text) {
		var f Function
		var address, copies string
		address, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		copies, line, _ = strings.Cut(line, " ")
		f.Module, line, _ = strings.Cut(line, " ")
		f.Name, line, _ = strings.Cut(line, " ")
		var err error
		if f.Address, err = strconv.ParseUint(address, 16, 64); err != nil || f.Name == "" {
			return nil
		}
		copies, f.Uncertain = strings.CutSuffix(copies, "?")
		if f.Copies, err = strconv.Atoi(copies); err != nil {
			return nil
		}
		if line != "" {
			f.Aliases = strings.Split(line, " ")
		}
		t.Functions = append(t.Functions, f)
	}
	return t
}

// keep keeps a table for a state, in the place of others. Where it cannot, each process reads its own.
func (t *Table) keep(d *os.File, state string) {
	for _, other := range owned.Names(d) {
		unix.Unlinkat(int(d.Fd()), other, 0)
	}
	part := "." + strconv.Itoa(os.Getpid())
	f, err := owned.OpenAt(d, part, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_, err = f.Write(t.text())
	if errors.Join(err, f.Close()) == nil {
		err = unix.Renameat(int(d.Fd()), part, int(d.Fd()), state)
	}
	if err != nil {
		unix.Unlinkat(int(d.Fd()), part, 0)
	}
}

// text returns the file that readTable reads.
func (t *Table) text() []byte {
	var b bytes.Buffer
	b.WriteString(tableHeader)
	for i := range t.Functions {
		f := &t.Functions[i]
		b.Write(strconv.AppendUint(b.AvailableBuffer(), f.Address, 16))
		b.WriteByte(' ')
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(f.Copies), 10))
		if f.Uncertain {
			b.WriteByte('?')
		}
		for _, word := range slices.Concat([]string{f.Module, f.Name}, f.Aliases) {
			b.WriteByte(' ')
			b.WriteString(word)
		}
		b.WriteByte('\n')
	}
	b.WriteString(tableEnd)
	return b.Bytes()
}
