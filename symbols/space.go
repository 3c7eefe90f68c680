package symbols

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Module is a part of a file, or of other memory, that a process had mapped for
// execution.
type Module struct {
	Path       string // as the process had it, or the kernel's name for other memory
	BuildID    string // the file's GNU build-id in hexadecimal, empty if it has none
	Start, End uint64 // addresses
	Offset     uint64 // of Start in the file
}

// Space is the code in the address space of a process: of one that lives, or one whose
// modules were recorded. Several goroutines may use it at once.
type Space struct {
	resolver *Resolver
	pid      int // 0 if it was recorded
	started  uint64

	mu      sync.Mutex
	regions []region // by address
	objects map[procfs.ID]*mapped
	jit     *generated // nil if it was recorded, or only files are of interest
	read    time.Time  // when regions were read
}

// region is a mapping.
type region struct {
	Module
	mapped *mapped // nil if it has no file
}

// refreshInterval is the shortest time between two reads of what a process has mapped,
// when addresses are asked for that are not mapped.
const refreshInterval = 100 * time.Millisecond

// Process returns the space of the process with this id. It reads what the process has
// mapped, and reads it again if it is asked for addresses that were not mapped then.
// The space keeps what it has read after the process has ended. The error wraps os.ErrNotExist if
// there is no such process, and os.ErrPermission if this user may not read it.
func (r *Resolver) Process(pid int) (*Space, error) {
	procfs.AwaitExec(pid)
	started, err := procfs.StartTime(pid)
	if err != nil {
		return nil, err
	}
	s := &Space{resolver: r, pid: pid, started: started, jit: &generated{pid: pid, started: started}}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	return s, nil
}

// Keep opens the files that a process has mapped for execution, as [Space.Keep] does, for callers
// that may ask for its code when it has ended.
func (r *Resolver) Keep(pid int) error {
	started, err := procfs.StartTime(pid)
	if err != nil {
		return err
	}
	s := &Space{resolver: r, pid: pid, started: started}
	if err := s.Refresh(); err != nil {
		return err
	}
	s.Keep()
	return nil
}

// Recorded returns the space of a process whose modules were recorded, on this machine
// or on another one. A module is read from its path if the file there has its build-id,
// else by that as [Resolver.AppendFrames] does.
func (r *Resolver) Recorded(modules []Module) *Space {
	s := &Space{resolver: r}
	objects := map[[2]string]*mapped{}
	for _, m := range modules {
		key := [2]string{m.Path, m.BuildID}
		if objects[key] == nil && (m.BuildID != "" || len(m.Path) > 0 && m.Path[0] == '/') {
			objects[key] = newRecorded(r, m)
		}
		s.regions = append(s.regions, region{m, objects[key]})
	}
	slices.SortStableFunc(s.regions, func(a, b region) int { return cmp.Compare(a.Start, b.Start) })
	return s
}

// With returns a space with these modules, which do not overlap, and with all else that this
// space was last seen to have. Like a recorded space, it is not read again.
func (s *Space) With(modules []Module) *Space {
	out := s.resolver.Recorded(modules)
	over := slices.Clone(out.regions)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.regions {
		out.regions = appendWithout(out.regions, g, over)
	}
	slices.SortStableFunc(out.regions, func(a, b region) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// appendWithout appends the parts of a region that are not in others, which are ordered by
// address.
func appendWithout(dst []region, g region, others []region) []region {
	for _, o := range others {
		if o.End <= g.Start || g.End <= o.Start {
			continue
		}
		if g.Start < o.Start {
			before := g
			before.End = o.Start
			dst = append(dst, before)
		}
		if g.End <= o.End {
			return dst
		}
		g.Start, g.Offset = o.End, g.Offset+o.End-g.Start
	}
	return append(dst, g)
}

// Refresh reads what the process has mapped, and the code that it has generated, as it
// is now. It does nothing for a space that was recorded.
func (s *Space) Refresh() error {
	if s.pid == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh()
}

func (s *Space) refresh() error {
	s.read = time.Now()
	maps, err := mapsOf(s.pid, s.started)
	if err != nil {
		return err
	}
	objects, paths := map[procfs.ID]*mapped{}, map[procfs.ID]string{}
	for _, o := range procfs.Objects(s.pid, maps) {
		objects[o.ID], paths[o.ID] = s.objects[o.ID], o.Path
		if m := objects[o.ID]; m == nil || m.failed() {
			objects[o.ID] = newMapped(o)
		}
	}
	var regions []region
	for i := range maps {
		m := &maps[i]
		if !m.Exec {
			continue
		}
		g := region{Module: Module{Path: m.Path, Start: m.Start, End: m.End, Offset: m.Offset}}
		if id := (procfs.ID{Dev: m.Dev, Inode: m.Inode}); m.Inode != 0 {
			g.mapped, g.Path = objects[id], paths[id]
		} else if g.Offset = 0; m.Path == vdsoPath {
			g.mapped = newVDSO(s.pid, m)
		}
		regions = append(regions, g)
	}
	s.regions, s.objects = regions, objects
	if s.jit != nil {
		s.jit.refresh(maps)
	}
	return nil
}

// mapsOf returns what the process that was started at a time has mapped. The error wraps
// os.ErrNotExist if it has ended, also if another has its PID now.
func mapsOf(pid int, started uint64) ([]procfs.Mapping, error) {
	maps, err := procfs.Maps(pid)
	if err == nil && len(maps) == 0 {
		err = procfs.Empty(pid)
	}
	if err != nil {
		return nil, err
	}
	if now, err := procfs.StartTime(pid); err != nil || now != started {
		return nil, fmt.Errorf("process %d has ended: %w", pid, os.ErrNotExist)
	}
	return maps, nil
}

// find returns the region that holds addr.
func (s *Space) find(addr uint64) (g region, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok = s.at(addr)
	if !ok && s.pid != 0 && time.Since(s.read) > refreshInterval && s.refresh() == nil {
		g, ok = s.at(addr)
	}
	return g, ok
}

func (s *Space) at(addr uint64) (g region, ok bool) {
	if found := regionAt(s.regions, addr); found != nil {
		return *found, true
	}
	return region{}, false
}

// regionAt returns the region that holds addr, nil if there is none.
func regionAt(regions []region, addr uint64) *region {
	lo, hi := 0, len(regions)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); regions[mid].Start <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || addr >= regions[lo-1].End {
		return nil
	}
	return &regions[lo-1]
}

// AppendFrames appends the functions that run at addr, the innermost first, to dst: at
// least one frame, without a function if none is known. An address that a call returns
// to is behind the call, perhaps in another function; see [Space.AppendCall] and [Space.Stack].
func (s *Space) AppendFrames(dst []Frame, addr uint64) []Frame { return s.append(dst, addr, addr) }

// AppendCall is like [Space.AppendFrames], but takes the address to which a call
// returns: it appends the functions that make the call.
func (s *Space) AppendCall(dst []Frame, addr uint64) []Frame { return s.append(dst, addr, addr-1) }

// Stack returns the frames of a stack. For return addresses it looks up the calls before
// them.
func (s *Space) Stack(calls Calls) []Frame {
	out := make([]Frame, 0, len(calls.PCs)+len(calls.PCs)/2)
	for i, addr := range calls.PCs {
		at := addr
		if i > 0 && !slices.Contains(calls.Exact, i) {
			at--
		}
		out = s.append(out, addr, at)
	}
	return out
}

// append appends the frames of the code at at to dst, as frames of addr.
func (s *Space) append(dst []Frame, addr, at uint64) []Frame {
	f := Frame{Address: addr}
	g, ok := s.find(at)
	if ok {
		f.Module, f.BuildID, f.Offset = g.Path, g.BuildID, addr-g.Start+g.Offset
	}
	first := len(dst)
	if ok && g.mapped != nil {
		it := s.resolver.objectOf(g.mapped)
		if o, ok := it.value.(*object); ok {
			f.BuildID = o.buildID
			if next, ok := o.address(addr - g.Start + g.Offset); ok && at != addr && o.isRestorer(next) {
				at = addr // no call is before it
				if o.golang() == nil {
					s.resolver.cache.release(it)
					f.Func = restorerName
					return append(dst, f)
				}
			}
		}
		dst = it.append(dst, f, at-g.Start+g.Offset)
		s.resolver.cache.release(it)
		if dst[first].Func != "" || dst[first].File != "" {
			return dst
		}
		dst = dst[:first]
	}
	if name, file, line, ok := s.jit.find(at); ok {
		f.Func, f.File, f.Line = name, file, line
		if g.mapped == nil {
			f.Module = jitModule
		}
	}
	return append(dst, f)
}

// Modules returns what the space has mapped for execution, with build-ids, by address.
// A recording keeps it for [Resolver.Recorded]. It opens all files of the process, so
// that the resolver knows them when the process has ended.
func (s *Space) Modules() []Module {
	s.mu.Lock()
	regions := slices.Clone(s.regions)
	s.mu.Unlock()
	out := make([]Module, len(regions))
	for i, g := range regions {
		out[i] = g.Module
		if g.mapped != nil {
			if id := g.mapped.identify(s.resolver); id != "" {
				out[i].BuildID = id
			}
		}
	}
	return out
}

// Keep opens all files of the process, as Modules does, so that the resolver knows them when the
// process has ended, and keeps as many of them open as it may: files of a container may be out
// of reach then, others deleted.
func (s *Space) Keep() {
	s.mu.Lock()
	regions := slices.Clone(s.regions)
	s.mu.Unlock()
	for _, g := range regions {
		if g.mapped != nil {
			g.mapped.keep(s.resolver)
		}
	}
}

// Maps reports whether the space, as it was last read, has code at an address.
func (s *Space) Maps(addr uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return regionAt(s.regions, addr) != nil
}
