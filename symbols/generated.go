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
	read    time.Time
	dump    jit.Dump
	dumpID  procfs.ID
	mapID   procfs.ID
	mapRead int64 // bytes of the perf map
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
	if err != nil || statErr != nil || !procfs.OwnedLike(info, g.pid) {
		return
	}
	if id != g.mapID || info.Size() < g.mapRead {
		g.code, g.mapID, g.mapRead = &jit.Code{}, id, 0
		g.dump, g.dumpID = jit.Dump{}, procfs.ID{}
	}
	g.mapRead, _ = g.code.ReadPerfMap(f, g.mapRead) // what was read is right
}

func (g *generated) readDump(o *procfs.Object) {
	f, _, err := o.Open()
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !procfs.OwnedLike(info, g.pid) {
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
	name, l, ok := g.code.Find(addr)
	if !ok && time.Since(g.read) > refreshInterval {
		if maps, err := mapsOf(g.pid, g.started); err == nil {
			g.mu.Unlock()
			g.refresh(maps)
			g.mu.Lock()
			name, l, ok = g.code.Find(addr)
		}
		g.read = time.Now()
	}
	// CPython: py::FUNCTION:FILE
	if rest, python := strings.CutPrefix(name, pythonPrefix); python {
		if i := strings.Index(rest, ":/"); i > 0 {
			return name[:len(pythonPrefix)+i], rest[i+1:], 0, ok
		}
	}
	return name, l.File, l.Line, ok
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
	name, _, ok := g.code.Find(addr)
	return ok && strings.HasPrefix(name, pythonPrefix)
}
