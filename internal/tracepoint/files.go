package tracepoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/privilege"
)

// dirs has the paths at which tracefs is mounted.
var dirs = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// Events are the tracepoints that tracefs describes.
type Events struct{ files fs.FS }

// New returns the tracepoints that a directory describes, which is like events of tracefs.
func New(files fs.FS) *Events { return &Events{files} }

// Load returns the tracepoints of the running kernel. It looks for tracefs once in a process.
var Load = sync.OnceValues(load)

func load() (*Events, error) {
	var first error
	for _, dir := range dirs {
		f, err := os.Open(dir + "/events")
		if err == nil {
			return New(os.DirFS(dir + "/events")), f.Close()
		}
		if first == nil || !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
	}
	if !errors.Is(first, fs.ErrNotExist) {
		return nil, explain("read which tracepoints the kernel has", first)
	}
	root, err := mounted()
	if err != nil {
		return nil, fmt.Errorf("read which tracepoints the kernel has: tracefs is not mounted at %s, and mounting it for this process alone failed: %w", dirs[0], err)
	}
	return New(root.FS()), nil
}

// explain is [privilege.Explain] for files that only root may read.
func explain(what string, err error) error {
	err = privilege.Explain(what, err)
	missing := (*privilege.Error)(nil)
	if errors.As(err, &missing) && !privilege.Has(unix.CAP_DAC_READ_SEARCH) && !privilege.Has(unix.CAP_DAC_OVERRIDE) {
		missing.Missing = append(missing.Missing, "CAP_DAC_READ_SEARCH")
	}
	return err
}

// mounted opens the events of a tracefs that is mounted nowhere, which ends with this process.
func mounted() (*os.Root, error) {
	fsfd, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return nil, errors.New("the kernel was built without tracefs (CONFIG_TRACING)")
	}
	if errors.Is(err, unix.EPERM) {
		return nil, &privilege.Error{Op: "fsopen", Missing: []string{"CAP_SYS_ADMIN"}, Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("fsopen: %w", err)
	}
	defer unix.Close(fsfd)
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return nil, fmt.Errorf("fsconfig: %w", err)
	}
	mount, err := unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, fmt.Errorf("fsmount: %w", err)
	}
	defer unix.Close(mount) // the directory keeps it
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d/events", mount))
}

// Systems returns the names of systems, in order.
func (e *Events) Systems() ([]string, error) {
	return e.list(".", "read which tracepoints the kernel has")
}

// Of returns the names of a system's events, in order.
func (e *Events) Of(system string) ([]string, error) {
	return e.list(system, "read which tracepoints "+system+" has")
}

func (e *Events) list(dir, what string) (names []string, err error) {
	entries, err := fs.ReadDir(e.files, dir)
	if err != nil {
		return nil, explain(what, err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// id returns the number by which a perf event names a tracepoint.
func (e *Events) id(system, event string) (uint64, error) {
	b, err := fs.ReadFile(e.files, system+"/"+event+"/id")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, errors.New("it has no number, by which programs are attached to it: only the kernel's own tracers use it")
	}
	if err != nil {
		return 0, explain("read the number of the tracepoint", err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("its number is not understood: %w", err)
	}
	return id, nil
}

// maxFormat is the size of the largest format that is read: text of values may be long.
const maxFormat = 1 << 20

// format returns the text of a format.
func (e *Events) format(system, event string) ([]byte, error) {
	f, err := e.files.Open(system + "/" + event + "/format")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFormat+1))
	if err == nil && len(b) > maxFormat {
		err = fmt.Errorf("%w: it is larger than %d bytes", ErrFormat, maxFormat)
	}
	return b, err
}
