package provider

import (
	"os"
	"runtime"
	"strings"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
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

// FlightRecorder makes a process keep its last events in a file that survives it: a flight
// recorder. `sdttrace --from` reads the file, of a live process and of one that was
// killed. All providers of a process share the file, and the first one that loads
// decides about it.
type FlightRecorder struct {
	// Dir is the directory of the files, each of which is called COMM-PID-TIME.usdt.
	// The directory must belong to this user or to root, and others must not be able
	// to write to it; Load makes it if it is missing, for this user only. For ended processes of
	// one name, the last 8 files are kept. The file has all its memory from the start, so that a
	// full disk does not matter later. File systems that write to other places each time (btrfs,
	// ZFS) cannot promise that: Load refuses them.
	Dir string
	// Size is about the number of bytes of the file; 0 means 4 MiB. Some 50 bytes hold
	// an event of two numbers.
	Size int
	// Probes names the probes that are recorded, as PROVIDER:NAME with '*' for any
	// characters; none means all. For each string, 256 bytes are kept.
	Probes []string
}

// recordedString is the number of bytes that are kept of each string.
const recordedString = 256

// records reports whether a probe is to be recorded.
func (r *FlightRecorder) records(name string) bool {
	for _, pattern := range r.Probes {
		if matches(pattern, name) {
			return true
		}
	}
	return len(r.Probes) == 0
}

// matches reports whether name has the form of pattern, in which '*' stands for any
// characters.
func matches(pattern, name string) bool {
	star, back := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// Site is the kind of instruction at a probe site, as everywhere in this module.
type Site = notes.SiteKind

// The sites that a provider can have.
const (
	// SiteAuto is the instruction that the running kernel traces fastest. Where the
	// sysctl kernel.panic_on_warn or kernel.warn_limit is set, it is SiteNop, because
	// the kernel may warn when a process is killed while a longer one is being
	// replaced.
	SiteAuto Site = 0
	// SiteNop is the architecture's plain nop. Every kernel can trace it.
	SiteNop = notes.SiteNop
	// SiteNop5 is the x86-64 nop of five bytes, which Linux 6.18 replaces by a call
	// while it is traced. A process that calls fork (not exec.Command) while it is
	// traced loses the child, and should choose SiteNop.
	SiteNop5 = notes.SiteNop5
	// SiteNop10 is the x86-64 nop of ten bytes, which later kernels replace instead
	// of SiteNop5. Kernels up to 6.18 refuse to trace it.
	SiteNop10 = notes.SiteNop10
)

// siteCode returns the stub for s.
func siteCode(s Site) (stub.Code, error) {
	if s == SiteAuto {
		s = fastestSite()
	}
	c, ok := stub.CodeFor(s)
	if !ok {
		return c, errorf("site %v does not exist on %s: %w", s, runtime.GOARCH, ErrNotSupported)
	}
	return c, nil
}
