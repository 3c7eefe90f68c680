package symbols

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-usdt/usdt/internal/debugfile"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// DefaultMemory is the number of bytes that a [Resolver] keeps by default.
const DefaultMemory = 256 << 20

// maxFiles is the number of files that a resolver keeps open.
const maxFiles = 256

// maxKnown is the number of build-ids whose files a resolver remembers.
const maxKnown = 1 << 16

// Options are options of [NewResolver]. Nil and the zero value mean the defaults.
type Options struct {
	// Memory is the number of bytes that the resolver keeps of what it has read,
	// DefaultMemory if 0. Reading a file also takes memory: a few times its symbol table and the
	// largest of its compilation units. Large sections that are compressed go to a temporary file
	// (see [os.TempDir]). Code that a process has generated takes up to 64 MiB for each [Space],
	// beside that.
	Memory int64
	// DebugDirs are the directories with separate files of debug symbols, in the order
	// in which they are searched; "/usr/lib/debug" if there are none.
	DebugDirs []string
}

// Resolver reads symbols of files, each once for all processes that have it mapped,
// and keeps them within a bound on memory: the file that was not used for the
// longest time goes first. Several goroutines may use a Resolver at once.
type Resolver struct {
	cache     *cache
	debugDirs []string

	mu      sync.Mutex
	known   map[string]known // by build-id
	refused map[string]error // by text
	lacks   string           // what is without what could not be read
}

// known is a file that has a build-id.
type known struct {
	path    string
	trusted bool // whether only root and this user could have written it
	named   bool // whether the user named it
	key     objectKey
}

// NewResolver returns a resolver that has read nothing.
func NewResolver(o *Options) *Resolver {
	if o == nil {
		o = &Options{}
	}
	dirs := slices.Clone(o.DebugDirs)
	if len(dirs) == 0 {
		dirs = []string{debugfile.Dir}
	}
	return &Resolver{cache: newCache(cmp.Or(o.Memory, DefaultMemory), maxFiles), debugDirs: dirs, known: map[string]known{}, refused: map[string]error{}, lacks: "stacks lack lines or inlined functions"}
}

// Close closes all files and forgets all symbols. The resolver, and spaces made by it,
// may still be used, and read anew what they need.
func (r *Resolver) Close() error {
	r.cache.clear()
	return nil
}

// maxRefused is the number of errors that [Resolver.Refused] returns.
const maxRefused = 100

// Refused returns what could not be read of files with code that was asked for, each
// once, and which frames or names are missing for it.
func (r *Resolver) Refused() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []error
	for _, text := range slices.Sorted(maps.Keys(r.refused)) {
		out = append(out, r.refused[text])
	}
	return out
}

// refuse remembers what could not be read of the file at path.
func (r *Resolver) refuse(path string, err error) {
	err = fmt.Errorf("%s: %w", path, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) < maxRefused {
		r.refused[err.Error()] = err
	}
}

// Add remembers the file at path, so that [Resolver.AppendFrames] finds it, and also looks for
// its separate debug file beside it. It returns the file's build-id, empty if it has none.
func (r *Resolver) Add(path string) (buildID string, err error) {
	f, err := procfs.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	e, err := safeelf.NewFile(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	id := e.BuildID()
	if id != "" {
		r.remember(id, known{path, true, true, objectKey{buildID: id}})
	}
	return id, nil
}

// remember remembers a file with the build-id. A file that the user named, or else one
// that only root and this user could have written, takes the place of another.
func (r *Resolver) remember(id string, k known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.known[id]
	if ok && (old.named || old.trusted && !k.named || !k.trusted) || !ok && len(r.known) >= maxKnown {
		return
	}
	r.known[id] = k
}

// AppendFrames appends the functions that run at an offset of the file with a
// build-id, the innermost first, to dst. The kernel stores stacks in that form with
// BPF_F_USER_BUILD_ID. No process needs to have the file mapped any more. It must have
// been in a [Space] of the resolver that named something in it or listed its modules,
// or [Resolver.Add] must have been given it, or its debug symbols must be installed. A
// file that is not found has a frame without a function.
func (r *Resolver) AppendFrames(dst []Frame, buildID string, offset uint64) []Frame {
	f := Frame{BuildID: buildID, Offset: offset}
	r.mu.Lock()
	k, ok := r.known[buildID]
	r.mu.Unlock()
	if !ok {
		k.key, k.trusted = objectKey{buildID: buildID}, true
	}
	f.Module = k.path
	it := r.cache.get(cacheKey{k.key, whole}, nil, func(it *item) (any, int64, error) {
		file, e, err := r.openKnown(k.path, buildID)
		return r.loaded(it, file, e, k, err)
	})
	defer r.cache.release(it)
	return it.append(dst, f, offset)
}

// append appends the frames of the code at an offset of the object to dst, with what
// else f has.
func (it *item) append(dst []Frame, f Frame, offset uint64) []Frame {
	o, ok := it.value.(*object)
	if !ok {
		return append(dst, f)
	}
	addr, ok := o.address(offset)
	if !ok {
		return append(dst, f)
	}
	for _, named := range o.frames(addr) {
		f.Func, f.File, f.Line, f.Inlined = named.Func, named.File, named.Line, named.Inlined
		dst = append(dst, f)
	}
	return dst
}

// loaded returns what the cache keeps of a file that has been opened.
func (r *Resolver) loaded(it *item, f *procfs.File, e *safeelf.File, k known, err error) (any, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	o := r.newObject(e, k)
	o.item = it
	if f != nil {
		o.keep(f)
	}
	return o, int64(len(e.Sections)*160 + len(e.Progs)*64), nil
}

// errNoFile says that no file with the build-id is known.
var errNoFile = errors.New("no file with this build-id is known")

// openKnown opens the file with a build-id: at path, or where systems install it or
// its debug symbols.
func (r *Resolver) openKnown(path, id string) (*procfs.File, *safeelf.File, error) {
	paths := []string{path}
	_, err := hex.DecodeString(id) // a record may have anything instead
	installed := err == nil && len(id) > 2
	if installed {
		paths = append(paths, "/usr/lib/.build-id/"+id[:2]+"/"+id[2:]) // Fedora's link to it
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		f, err := procfs.OpenFile(path)
		if err != nil {
			continue
		}
		if e, err := safeelf.NewFile(f); err == nil && e.BuildID() == id {
			return f, e, nil
		}
		f.Close()
	}
	if installed {
		for _, dir := range r.debugDirs {
			if d := debugfile.ByID(dir, id); d != nil {
				return d.File, d.ELF, nil
			}
		}
	}
	return nil, nil, errNoFile
}
