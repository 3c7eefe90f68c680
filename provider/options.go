package provider

import (
	"os"
	"strings"

	"github.com/go-usdt/usdt/internal/sys"
)

// Options change how probes are loaded. Main passes them to [LoadAll]. Those given to
// [New] count only if LoadAll is given none. The zero value is the default. An
// operator can override some of them by environment variables, which Load reads:
//
//	USDT_DISABLE=1            load nothing; all probes stay silent
//	USDT_LOAD=1               load what is declared, also if the program never calls Load
//	USDT_BACKING=memfd|file   Options.Backing
//	USDT_DIR=DIR              Options.Dir
//	USDT_LOCAL=1              Options.Local
//	USDT_RECORDER=DIR[,SIZE]  Options.FlightRecorder; SIZE in bytes, or with K, M or G
//
// A process that gained privileges when it was executed, by a set-user-ID bit or file
// capabilities, ignores these variables and XDG_RUNTIME_DIR.
type Options struct {
	// Backing is what holds the generated object.
	Backing Backing

	// Dir is the directory of BackingFile's objects. It must belong to this user or
	// to root, and others must not be able to write to it. Load makes it if it is
	// missing. Empty means the directory usdt in $XDG_RUNTIME_DIR or, for root, in
	// /run or, where that is mounted noexec, in /var/cache.
	Dir string

	// Loader is how the object gets into memory.
	Loader Loader

	// Site is the instruction at the probe sites. SiteAuto selects the one that the
	// running kernel traces fastest.
	Site Site

	// EventsDir, unless empty, is a directory that shows every loaded probe to tools
	// that read no ELF, and to users who may not read this process; sdtdump DIR reads it.
	// EventsDir/PID/PROVIDER/PROBE has a file "address" with the site's address, and a file
	// "format" like a tracepoint's; further probes of that name with other arguments are PROBE.2
	// and so on. Close removes them; if a process died without Close, the next process that loads
	// probes with the same EventsDir does. The directory must belong to this user or to root, and
	// others must not be able to write to it; Load makes it if it is missing. Processes that share
	// it must share a PID namespace.
	EventsDir string

	// Local offers the probes to tracers of the same user, which need no privilege:
	// sdttrace --user. Such a tracer must be allowed to read this process's memory
	// (man 2 ptrace, PTRACE_MODE_READ; it need not be allowed to attach). It reads
	// events in shared memory, to which Fire writes them in some 40 ns, without a
	// system call and without ever waiting. The process has three descriptors and a
	// thread that sleeps for that, and a descriptor and two mappings more for each
	// tracer; the tracer pays for the memory. The code is in every program, some 80
	// KB, unless it is built with the tag usdt_nolocal.
	Local bool

	// FlightRecorder, unless nil, keeps the last events in a file that survives the process.
	FlightRecorder *FlightRecorder
}

// Backing is what holds a generated object.
type Backing uint8

const (
	// BackingMemfd is a sealed memory file of this process.
	BackingMemfd Backing = iota
	// BackingFile is a file named by its contents. Processes with the same probes
	// share it, and a tracer that attaches to the file traces all of them at once,
	// including processes that start later. The file is never removed. This user and root may
	// write to it, and must not truncate it while processes use it.
	BackingFile
)

// Loader is how a generated object gets into memory.
type Loader uint8

const (
	// LoaderMap maps the object without the dynamic linker.
	LoaderMap Loader = iota
	// LoaderDlopen makes the dynamic linker load the object, so that debuggers see it
	// among the process's libraries. It needs cgo and the build tag usdt_dlopen.
	// Close leaves such an object silent in memory, and loading the same probes again
	// reuses it. Each later Load adds one.
	LoaderDlopen
)

// obeyEnvironment changes o as the environment says. disabled reports that nothing is
// to be loaded.
func (o *Options) obeyEnvironment() (disabled bool, err error) {
	if sys.Privileged() {
		return false, nil
	}
	if v := os.Getenv("USDT_DISABLE"); v != "" && v != "0" {
		return true, nil
	}
	switch v := os.Getenv("USDT_BACKING"); v {
	case "":
	case "memfd":
		o.Backing = BackingMemfd
	case "file":
		o.Backing = BackingFile
	default:
		return false, errorf("USDT_BACKING is %q, want memfd or file", v)
	}
	if v := os.Getenv("USDT_DIR"); v != "" {
		o.Dir = v
	}
	if v := os.Getenv("USDT_LOCAL"); v != "" {
		o.Local = v != "0"
	}
	if v := os.Getenv("USDT_RECORDER"); v != "" {
		dir, size := v, ""
		if i := strings.IndexByte(v, ','); i >= 0 {
			dir, size = v[:i], v[i+1:]
		}
		n, unit := sys.Number(size)
		switch unit {
		case "":
		case "K":
			n <<= 10
		case "M":
			n <<= 20
		case "G":
			n <<= 30
		default:
			return false, errorf("USDT_RECORDER has the size %q, want bytes, or a number with K, M or G", size)
		}
		o.FlightRecorder = &FlightRecorder{Dir: dir, Size: n}
	}
	return false, nil
}
