package symbols

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"sync"

	"github.com/go-usdt/usdt/internal/debugfile"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
)

// maxDwo is the largest number of bytes of a .dwo file.
const maxDwo = 256 << 20

var (
	errNotTrusted = errors.New("that is not opened, since others than root and you can write the program that names it")
	errWritable   = errors.New("that is not read, since others than root and you can write it")
	errDwoSize    = errors.New("that has more than 256 MiB")
)

// splits returns what opens the files with the functions of units in the file at path, whose
// author chose their names.
func (o *object) splits(path string) *debuginfo.Splits {
	return &debuginfo.Splits{
		Open: func(name, dir string) (*safeelf.File, int64, error) {
			if !o.trusted {
				return nil, 0, errNotTrusted
			}
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			return readDwo(name)
		},
		Package: sync.OnceValue(func() *safeelf.File {
			if !o.trusted {
				return nil
			}
			f := debugfile.ByPath(path + ".dwp")
			if f == nil {
				return nil
			}
			o.keep(f.File)
			return f.ELF
		}),
	}
}

// readDwo reads a .dwo file into memory: there is one for each unit, too many to keep open.
func readDwo(path string) (*safeelf.File, int64, error) {
	f, err := procfs.OpenFile(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if !procfs.Installed(f) {
		return nil, 0, errWritable
	}
	data, err := io.ReadAll(io.LimitReader(f, maxDwo+1))
	if err != nil {
		return nil, 0, err
	}
	if len(data) > maxDwo {
		return nil, 0, errDwoSize
	}
	e, err := safeelf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, 0, err
	}
	e.Trust()
	return e, int64(len(data)), nil
}
