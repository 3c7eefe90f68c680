//go:build cgo && usdt_dlopen

package provider

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/owned"
	"github.com/go-usdt/usdt/internal/sys"
)

// library is an object that the dynamic linker has loaded.
type library struct {
	*sys.Library
	key  libraryKey
	file *os.File // kept open: the linker and debuggers know it by its descriptor
}

// libraryKey identifies libraries that can replace each other.
type libraryKey struct {
	buildID string
	backing Backing
	dir     string
}

// parked holds the libraries of closed providers for reuse by providers with the same
// probes. They belong to the process, as the dynamic linker does.
var parked struct {
	sys.Mutex
	libraries map[libraryKey][]*library
}

// dlopenObject makes the dynamic linker load im, or reuses the library that it loaded
// for a provider closed since.
func dlopenObject(provider string, opts *Options, im *image) (memory, error) {
	key := libraryKey{im.buildID, opts.Backing, opts.Dir}
	if l := unpark(key); l != nil {
		return l, nil
	}
	file, err := openImage(provider, opts, im)
	if err != nil {
		return nil, err
	}
	path, err := ownPath(file)
	if err != nil {
		return nil, join(err, file.Close())
	}
	lib, err := sys.Dlopen(path)
	if err != nil {
		return nil, join(mapError(opts.Backing, file, err), file.Close())
	}
	return &library{Library: lib, key: key, file: file}, nil
}

// ownPath returns a path by which the dynamic linker opens file.
func ownPath(file *os.File) (string, error) {
	// The path leads through the descriptor, whose contents were checked; another
	// path could lead elsewhere by now. It is not /proc/self, because a debugger
	// opens the same path.
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
	var st unix.Stat_t
	if err := owned.Stat(file, &st); err != nil {
		return "", err
	}
	var at unix.Stat_t
	if err := unix.Stat(path, &at); err != nil || at.Dev != st.Dev || at.Ino != st.Ino {
		return "", errorf("dlopen needs /proc of this process's PID namespace: %s is not %s", path, file.Name())
	}
	return path, nil
}

func (l *library) backing() *os.File { return l.file }

func unpark(key libraryKey) *library {
	parked.Lock()
	defer parked.Unlock()
	list := parked.libraries[key]
	if len(list) == 0 {
		return nil
	}
	parked.libraries[key] = list[:len(list)-1]
	return list[len(list)-1]
}

func (l *library) release() error {
	parked.Lock()
	defer parked.Unlock()
	if parked.libraries == nil {
		parked.libraries = map[libraryKey][]*library{}
	}
	parked.libraries[l.key] = append(parked.libraries[l.key], l)
	return nil
}
