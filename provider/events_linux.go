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
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/btfgen"
)

// events guards what this process does in events directories, and counts what
// it shows in each.
var events struct {
	sync.Mutex
	shown map[directory]int
}

// directory is a directory's device and inode. No other one has them while this
// process has something in it.
type directory [2]uint64

// eventFiles are the files of a probe.
var eventFiles = []string{"address", "format"}

// shownEvents is what showEvents has made.
type shownEvents struct {
	dir      string // absolute: the process may be somewhere else when it closes the provider
	id       directory
	provider string
	probes   []string
}

// showEvents fills an events directory with a provider's probes, after
// removing what dead processes left there. It returns what is to be hidden
// later, perhaps also with an error.
func showEvents(dir, provider string, probes []loadedProbe) (*shownEvents, error) {
	events.Lock()
	defer events.Unlock()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, id, err := openEvents(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	shown := &shownEvents{dir: dir, id: id, provider: provider}
	if events.shown[id] == 0 {
		sweep(root)
	}
	if events.shown == nil {
		events.shown = map[directory]int{}
	}
	events.shown[id]++
	parent := filepath.Join(strconv.Itoa(os.Getpid()), provider)
	if err := root.MkdirAll(parent, 0o755); err != nil {
		return shown, err
	}
	for _, p := range probes {
		at := filepath.Join(parent, p.name)
		if err := root.Mkdir(at, 0o755); errors.Is(err, fs.ErrExist) {
			return shown, fmt.Errorf("%s is there already: another provider of this process has that name", filepath.Join(dir, at))
		} else if err != nil {
			return shown, err
		}
		shown.probes = append(shown.probes, p.name)
		address := fmt.Sprintf("%#x\n", p.address)
		for i, contents := range []string{address, format(p.name, p.sig)} {
			// The name is there when the contents are.
			temp := filepath.Join(at, ".new")
			if err := root.WriteFile(temp, []byte(contents), 0o444); err != nil {
				return shown, err
			}
			if err := root.Rename(temp, filepath.Join(at, eventFiles[i])); err != nil {
				return shown, err
			}
		}
	}
	return shown, nil
}

// openEvents opens an events directory that nobody else can write to.
func openEvents(dir string) (*os.Root, directory, error) {
	d, err := openOwned(dir)
	if err != nil {
		return nil, directory{}, err
	}
	defer d.Close()
	info, err := d.Stat()
	if err != nil {
		return nil, directory{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, directory{}, err
	}
	// It must be the directory that was checked. (There may be no /proc, through
	// which to open that one again.)
	again, err := root.Stat(".")
	if err == nil && !os.SameFile(info, again) {
		err = fmt.Errorf("%s was replaced by another directory while it was opened", dir)
	}
	if err != nil {
		root.Close()
		return nil, directory{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return root, directory{uint64(st.Dev), st.Ino}, nil
}

// hide removes what showEvents made, and the process's directory with its last
// provider.
func (s *shownEvents) hide() error {
	events.Lock()
	defer events.Unlock()
	if events.shown[s.id]--; events.shown[s.id] == 0 {
		delete(events.shown, s.id)
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer root.Close()
	own := strconv.Itoa(os.Getpid())
	for _, name := range s.probes {
		removeProbe(root, filepath.Join(own, s.provider, name))
	}
	root.Remove(filepath.Join(own, s.provider)) // fails while it is not empty
	root.Remove(own)
	var left []error
	for _, name := range s.probes {
		if _, err := root.Lstat(filepath.Join(own, s.provider, name)); err == nil {
			left = append(left, fmt.Errorf("%s could not be removed", filepath.Join(s.dir, own, s.provider, name)))
		}
	}
	return errors.Join(left...)
}

// removeProbe removes a probe's directory if it holds nothing else than what
// showEvents puts there.
func removeProbe(root *os.Root, at string) {
	for _, name := range append([]string{".new"}, eventFiles...) {
		root.Remove(filepath.Join(at, name))
	}
	root.Remove(at)
}

// sweep removes what processes left that are gone, and an earlier process that
// had this one's PID. It removes nothing that showEvents would not have made.
func sweep(root *os.Root) {
	for _, pid := range subdirectories(root, ".") {
		n, err := strconv.Atoi(pid)
		if err != nil || n <= 0 || strconv.Itoa(n) != pid {
			continue
		}
		if n != os.Getpid() && unix.Kill(n, 0) != unix.ESRCH {
			continue
		}
		for _, provider := range subdirectories(root, pid) {
			at := filepath.Join(pid, provider)
			for _, probe := range subdirectories(root, at) {
				removeProbe(root, filepath.Join(at, probe))
			}
			root.Remove(at)
		}
		root.Remove(pid)
	}
}

// subdirectories returns the names of the directories in one of root's.
func subdirectories(root *os.Root, dir string) []string {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
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
		signed := 0
		if btfgen.IsSigned(m.Type) {
			signed = 1
		}
		fmt.Fprintf(&b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n",
			btfgen.Declare(m.Type, m.Name), m.Offset, m.Type.Size(), signed)
	}
	return b.String()
}
