package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/owned"
	"github.com/go-usdt/usdt/internal/sys"
)

// events guards this process's work in events directories and records what they show.
var events struct {
	sys.Mutex
	shown []*shownEvents
}

// showing returns the number of providers that this process shows in a directory.
func showing(id directory) (n int) {
	for _, s := range events.shown {
		if s.id == id {
			n++
		}
	}
	return n
}

// directory is a directory's device and inode. They belong to no other directory
// while this process has files in it.
type directory [2]uint64

// eventFiles are the files of a probe. Each is called newFile until it is whole.
var eventFiles = []string{"address", "format"}

const newFile = ".new"

// shownEvents records what showEvents has made.
type shownEvents struct {
	dir      string // absolute: the process may be somewhere else when it closes the provider
	id       directory
	provider string
	probes   []string
}

// showEvents fills an events directory with a provider's probes, after removing what
// dead processes left there. It returns what to hide later, perhaps together with an
// error.
func showEvents(dir, provider string, probes []loadedProbe) (*shownEvents, error) {
	events.Lock()
	defer events.Unlock()
	if !strings.HasPrefix(dir, "/") {
		wd, err := unix.Getwd()
		if err != nil {
			return nil, errorf("find the working directory, to which %s is relative: %w", dir, err)
		}
		dir = wd + "/" + dir
	}
	root, err := owned.Open(dir, 0o755)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var st unix.Stat_t
	if err := owned.Stat(root, &st); err != nil {
		return nil, err
	}
	id := directory{uint64(st.Dev), st.Ino}
	shown := &shownEvents{dir: dir, id: id, provider: provider}
	if showing(id) == 0 {
		sweep(root)
	}
	events.shown = append(events.shown, shown)
	own, err := owned.MakeDir(root, strconv.Itoa(os.Getpid()))
	if err != nil {
		return shown, err
	}
	defer own.Close()
	parent, err := owned.MakeDir(own, provider)
	if err != nil {
		return shown, err
	}
	defer parent.Close()
	n := 1
	for i, p := range probes {
		if i == 0 || probes[i-1].name != p.name {
			n = 1
		}
		name := p.name
		err := unix.Mkdirat(int(parent.Fd()), name, 0o755)
		for err == unix.EEXIST { // a probe with other arguments has that name
			n++
			name = p.name + "." + strconv.Itoa(n)
			err = unix.Mkdirat(int(parent.Fd()), name, 0o755)
		}
		if err != nil {
			return shown, owned.PathError("mkdir", owned.Inside(parent, name), err)
		}
		shown.probes = append(shown.probes, name)
		if err := showProbe(parent, name, p); err != nil {
			return shown, err
		}
	}
	return shown, nil
}

// showProbe writes the files of a probe into its directory in parent.
func showProbe(parent *os.File, name string, p loadedProbe) error {
	at, err := owned.Sub(parent, name)
	if err != nil {
		return err
	}
	defer at.Close()
	address := fmt.Sprintf("%#x\n", p.address)
	for i, contents := range []string{address, format(p.name, p.sig)} {
		// The file gets its name only once its contents are there.
		if err := owned.WriteFile(at, newFile, contents); err != nil {
			return err
		}
		if err := unix.Renameat2(int(at.Fd()), newFile, int(at.Fd()), eventFiles[i], 0); err != nil {
			return owned.PathError("rename", owned.Inside(at, newFile), err)
		}
	}
	return nil
}

// hide removes what showEvents made and, with the process's last provider, the
// process's directory.
func (s *shownEvents) hide() error {
	events.Lock()
	defer events.Unlock()
	events.shown = remove(events.shown, func(other *shownEvents) bool { return other == s })
	root, err := owned.OpenPath(unix.AT_FDCWD, s.dir, s.dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer root.Close()
	pid := strconv.Itoa(os.Getpid())
	var left []error
	within(root, pid, func(own *os.File) { // unless somebody has removed it
		within(own, s.provider, func(parent *os.File) {
			for _, name := range s.probes {
				if err := removeProbe(parent, name); err != nil && err != unix.ENOENT {
					left = append(left, errorf("%s could not be removed: %w", owned.Inside(parent, name), err))
				}
			}
		})
		owned.RemoveDir(own, s.provider) // fails while it is not empty
		owned.RemoveDir(root, pid)
	})
	return join(left...)
}

// removeProbe removes a probe's directory if it holds only what showEvents puts
// there.
func removeProbe(parent *os.File, name string) error {
	if at, err := owned.Sub(parent, name); err == nil {
		for _, file := range append([]string{newFile}, eventFiles...) {
			unix.Unlinkat(int(at.Fd()), file, 0)
		}
		at.Close()
	}
	return owned.RemoveDir(parent, name)
}

// sweep removes what dead processes left, among them an earlier process with this
// one's PID. It removes nothing that showEvents would not have made.
func sweep(root *os.File) {
	for _, pid := range owned.Names(root) {
		n, rest := sys.Number(pid)
		if rest != "" || n <= 0 || strconv.Itoa(n) != pid {
			continue
		}
		if n != os.Getpid() && unix.Kill(n, 0) != unix.ESRCH {
			continue
		}
		within(root, pid, func(own *os.File) {
			for _, provider := range owned.Names(own) {
				within(own, provider, func(parent *os.File) {
					for _, probe := range owned.Names(parent) {
						removeProbe(parent, probe) // fails for what is no directory
					}
				})
				owned.RemoveDir(own, provider)
			}
		})
		owned.RemoveDir(root, pid)
	}
}

// within calls do with the directory called name in d, if there is one.
func within(d *os.File, name string, do func(*os.File)) {
	if sub, err := owned.Sub(d, name); err == nil {
		do(sub)
		sub.Close()
	}
}

// format describes the argument block as tracepoints describe their records
// (https://docs.kernel.org/trace/events.html, "Event formats").
func format(name string, sig *signature) string {
	// A strings.Builder as an io.Writer would add half a kB to each service that declares
	// probes.
	b := []byte("name: " + name + "\nformat:\n")
	if sig.typ == nil {
		return string(b)
	}
	for _, m := range sig.typ.Members {
		signed := 0
		if btfgen.IsSigned(m.Type) {
			signed = 1
		}
		b = append(b, fmt.Sprintf("\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n",
			btfgen.Declare(m.Type, m.Name), m.Offset, m.Type.Size(), signed)...)
	}
	return string(b)
}
