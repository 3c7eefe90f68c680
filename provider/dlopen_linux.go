package provider

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/go-usdt/usdt/internal/sys"
)

// library is an object that the dynamic linker has loaded.
type library struct {
	*sys.Library
	buildID string
	file    *os.File // a memfd, kept open; nil for a file
}

// parked has the libraries of closed providers, by build-id, for providers
// with the same probes. They belong to the process, as the dynamic linker does.
var parked struct {
	sync.Mutex
	libraries map[string][]*library
}

// dlopenObject has the dynamic linker load im, unless it has done so for a
// provider that is closed by now.
func dlopenObject(provider string, opts *Options, im *image) (memory, error) {
	if l := unpark(im.buildID); l != nil {
		return l, nil
	}
	file, err := openImage(provider, opts, im)
	if err != nil {
		return nil, err
	}
	path := file.Name()
	if opts.Backing == BackingMemfd {
		// Not /proc/self: a debugger opens the same path.
		path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
	}
	lib, err := sys.Dlopen(path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	l := &library{Library: lib, buildID: im.buildID, file: file}
	if opts.Backing == BackingFile {
		l.file = nil
		return l, file.Close()
	}
	return l, nil
}

func unpark(buildID string) *library {
	parked.Lock()
	defer parked.Unlock()
	list := parked.libraries[buildID]
	if len(list) == 0 {
		return nil
	}
	parked.libraries[buildID] = list[:len(list)-1]
	return list[len(list)-1]
}

func (l *library) release() error {
	parked.Lock()
	defer parked.Unlock()
	if parked.libraries == nil {
		parked.libraries = map[string][]*library{}
	}
	parked.libraries[l.buildID] = append(parked.libraries[l.buildID], l)
	return nil
}
