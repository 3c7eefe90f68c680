package kernfunc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// tracefs has the paths at which tracefs is mounted.
var tracefs = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// kept is the table that was read last, with the modules that the kernel had then.
var kept struct {
	sync.Mutex
	modules string
	table   *Table
}

// Load returns the table of the running kernel, read once in a process for as long as the kernel has the same modules.
// Root's processes share it.
func Load() (*Table, error) {
	kept.Lock()
	defer kept.Unlock()
	modules, _ := loadedModules("/proc/modules") // which a kernel without modules does not have
	if kept.table != nil && kept.modules == modules {
		return kept.table, nil
	}
	table, err := Shared(sharedIn)
	if err == nil {
		table.types = &typeFiles{dir: "/sys/kernel/btf"}
	}
	kept.modules, kept.table = modules, table
	return table, err
}

// loadedModules returns a line for each of the kernel's modules: its name, size, state and address.
func loadedModules(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for line := range strings.Lines(string(b)) { // NAME SIZE USERS USED-BY STATE ADDRESS: users come and go
		fields := strings.Fields(line)
		if len(fields) < 6 {
			return "", fmt.Errorf("%s has a line that is not understood: %q", path, line)
		}
		fmt.Fprintln(&all, fields[0], fields[1], fields[4], fields[5])
	}
	return all.String(), nil
}

// Read reads the table of the running kernel, without types.
func Read() (*Table, error) {
	symbols, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer symbols.Close()
	available, withAddresses, err := openAvailable()
	if err != nil {
		return nil, err
	}
	defer available.Close()
	t, err := New(available, symbols, withAddresses)
	if err != nil {
		return nil, fmt.Errorf("read the kernel's functions: %w", err)
	}
	return t, nil
}

// openAvailable opens the list of what ftrace can patch, with addresses where the kernel writes
// them (6.5).
func openAvailable() (f *os.File, withAddresses bool, err error) {
	var first error
	for _, dir := range tracefs {
		for _, name := range []string{"available_filter_functions_addrs", "available_filter_functions"} {
			if f, err = os.Open(filepath.Join(dir, name)); err == nil {
				return f, strings.HasSuffix(name, "_addrs"), nil
			}
			if first == nil || !errors.Is(err, os.ErrNotExist) {
				first = err
			}
		}
	}
	if errors.Is(first, os.ErrNotExist) {
		first = fmt.Errorf("tracefs is not mounted at %s, or the kernel was built without CONFIG_DYNAMIC_FTRACE: %w", tracefs[0], first)
	}
	return nil, false, fmt.Errorf("read which functions of the kernel can be traced: %w", first)
}

// typeFiles are the files of BTF, each read when a function of its module is asked for.
type typeFiles struct {
	dir string

	mu   sync.Mutex
	read map[string]typeFile
}

type typeFile struct {
	types *types
	err   error
}

// of returns the types of a module.
func (f *typeFiles) of(module string) (*types, error) {
	if f == nil {
		return nil, ErrNoTypes
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open(module)
}

func (f *typeFiles) open(module string) (*types, error) {
	if known, ok := f.read[module]; ok {
		return known.types, known.err
	}
	var out typeFile
	var base *types
	if module != Kernel {
		base, out.err = f.open(Kernel)
	}
	var b []byte
	if out.err == nil {
		b, out.err = os.ReadFile(filepath.Join(f.dir, filepath.Base(module)))
	}
	if out.err == nil {
		out.types, out.err = readTypes(b, base)
	}
	if out.err != nil {
		out.err = fmt.Errorf("read the types of %s: %w", module, out.err)
	}
	if f.read == nil {
		f.read = map[string]typeFile{}
	}
	f.read[module] = out
	return out.types, out.err
}

// Prototype returns what BTF says of a function.
func (t *Table) Prototype(f *Function) (*Prototype, error) {
	types, err := t.types.of(f.Module)
	if err != nil {
		return nil, err
	}
	return types.prototype(f.Names)
}
