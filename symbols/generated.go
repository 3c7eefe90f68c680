package symbols

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/symbols/internal/jit"
)

// jitModule is the module of code that a process has generated.
const jitModule = "[jit]"

// generated is the code that a process has generated, as far as it says so in a perf
// map or a jitdump file.
type generated struct {
	pid     int
	started uint64

	mu      sync.Mutex
	code    *jit.Code
	read    time.Time // both files
	looked  time.Time // into the perf map
	dump    jit.Dump
	dumpID  procfs.ID
	mapID   procfs.ID
	mapSize int64 // of the perf map, when it was read
	mapRead int64 // bytes of it
}

// refresh reads what has come to the files since it read them last. maps are what the
// process has mapped.
func (g *generated) refresh(maps []procfs.Mapping) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.code == nil {
		g.code = &jit.Code{}
	}
	g.read = time.Now()
	g.looked = g.read
	g.readMap()
	for _, o := range procfs.Objects(g.pid, maps) {
		// Agents map the file so that tracers see it.
		if name := path.Base(o.Path); strings.HasPrefix(name, "jit-") && strings.HasSuffix(name, ".dump") {
			g.readDump(o)
		}
	}
}

func (g *generated) readMap() {
	f, err := procfs.OpenIn(g.pid, fmt.Sprintf("/tmp/perf-%d.map", procfs.NamespacePID(g.pid)))
	if err != nil {
		return
	}
	defer f.Close()
	id, err := procfs.IDOf(f)
	info, statErr := f.Stat()
	if err != nil || statErr != nil || !procfs.OwnedBy(info, g.pid) {
		return
	}
	if id != g.mapID || info.Size() < g.mapRead {
		g.code, g.mapID, g.mapSize, g.mapRead = &jit.Code{}, id, 0, 0
		g.dump, g.dumpID = jit.Dump{}, procfs.ID{}
	}
	if info.Size() != g.mapSize {
		g.mapSize = info.Size()
		g.mapRead, _ = g.code.ReadPerfMap(f, g.mapRead) // what was read is right
	}
}

func (g *generated) readDump(o *procfs.Object) {
	f, _, err := o.Open()
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !procfs.OwnedBy(info, g.pid) {
		return
	}
	if o.ID != g.dumpID {
		g.dump, g.dumpID = jit.Dump{}, o.ID
	}
	g.code.ReadDump(&g.dump, f)
}

// find returns the name of the function at addr, and its file and line if they are
// known.
func (g *generated) find(addr uint64) (name, file string, line int, ok bool) {
	if g == nil {
		return "", "", 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	name, l, ok := g.lookup(addr)
	// CPython: py::FUNCTION:FILE
	if rest, python := strings.CutPrefix(name, pythonPrefix); python {
		if i := strings.Index(rest, ":/"); i > 0 {
			return name[:len(pythonPrefix)+i], rest[i+1:], 0, ok
		}
	}
	return name, l.File, l.Line, ok
}

// lookInterval is the shortest time between two looks into a perf map that may have grown. A
// program may call a function as soon as it has written its line.
const lookInterval = time.Millisecond

// lookup finds the function at addr, also if its code has been generated since the files were
// read. g.mu is locked, and for a moment is not.
func (g *generated) lookup(addr uint64) (name string, l jit.Line, ok bool) {
	if name, l, ok = g.code.Find(addr); ok {
		return name, l, ok
	}
	switch now := time.Now(); {
	case now.Sub(g.read) > refreshInterval:
		g.read = now
		maps, err := mapsOf(g.pid, g.started)
		if err != nil {
			return name, l, ok
		}
		g.mu.Unlock()
		g.refresh(maps)
		g.mu.Lock()
	case now.Sub(g.looked) > lookInterval:
		g.looked = now
		g.readMap()
	default:
		return name, l, ok
	}
	return g.code.Find(addr)
}

// pythonPrefix begins names of CPython's functions.
const pythonPrefix = "py::"

// isPython reports whether the code at addr is a trampoline of CPython.
func (g *generated) isPython(addr uint64) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	name, _, ok := g.lookup(addr)
	return ok && strings.HasPrefix(name, pythonPrefix)
}
