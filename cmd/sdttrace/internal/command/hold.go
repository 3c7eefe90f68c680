package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/gate"
	"github.com/go-usdt/usdt/internal/printable"
)

// Guard is the command by which sdttrace starts the guard of a command
// that it traces.
const Guard = "guard-command"

// Searcher finds new probes and attaches to them.
type Searcher interface {
	RescanHeld() error
	// Members returns the table of the command and what it starts; nil if only the command is meant.
	Members() *ebpf.Map
}

// hold stops a command behind each exec and each dlopen until sdttrace has attached to
// the new probes, and makes its providers wait when they have loaded probes.
type hold struct {
	c         *Command
	gate      *gate.Gate
	family    *gate.Family    // nil unless what the command starts is also held
	guard     *gate.Guard     // nil if there is none
	providers *gate.Providers // nil without a socket
	// missing is why there is no gate: probes that the command maps are then
	// found a little late
	missing error
	// passed is why the command was stopped at its entry point only
	passed error

	last atomic.Int64 // when it was last held, in nanoseconds since 1970

	mu      sync.Mutex // of what follows
	stderr  io.Writer  // for remarks, nil for none
	search  Searcher   // nil before the command runs
	handled uint64     // stops that were dealt with
	also    uint64     // of these, stops by somebody else as well
	closed  bool
}

// newHold returns the hold of a command that has not been started.
func newHold(c *Command) *hold {
	h := &hold{c: c}
	// If there is no guard, the gate cannot stop the command everywhere; sdttrace
	// says so.
	h.guard, _ = gate.StartGuard(Guard)
	// Providers do not wait if there is no socket, and their probes are found late.
	h.providers, h.missing = gate.Listen()
	return h
}

// environment returns the command's environment, nil for this process's own.
func (h *hold) environment() []string {
	if h.providers == nil {
		return nil
	}
	return append(os.Environ(), h.providers.Environment())
}

// keep hands the command, which stands still, to the guard.
func (h *hold) keep() {
	if h.guard == nil {
		return
	}
	if err := h.guard.Keep(h.c.PID()); err != nil {
		h.guard.Close()
		h.guard = nil
	}
}

// start begins to hold the command, which stands still at its beginning.
func (h *hold) start() {
	g, err := gate.New(h.c.PID(), h.guard)
	if err != nil {
		h.missing = err
	} else {
		h.gate = g
	}
	go h.run()
}

// Begin lets the command run, and makes s search at each stop from now on. Remarks go to stderr,
// which may be nil.
func (c *Command) Begin(s Searcher, stderr io.Writer) error {
	c.hold.begin(s, stderr)
	return c.resume()
}

// Release ends all waiting for s.
func (c *Command) Release() { c.hold.close() }

// Missing returns why the command is not held; nil if it is.
func (c *Command) Missing() error { return c.hold.missing }

// LastHeld returns when the command was last held.
func (c *Command) LastHeld() time.Time { return time.Unix(0, c.hold.last.Load()) }

// begin makes s search at each stop from now on.
func (h *hold) begin(s Searcher, stderr io.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.search, h.stderr = s, stderr
	if h.missing != nil {
		h.remark("what the command loads later is attached to some milliseconds late: %v", h.missing)
	}
	if h.passed != nil {
		h.remark("what constructors of its libraries fired was not seen: %v", h.passed)
	}
	if h.gate != nil {
		h.linker()
	}
	if members := s.Members(); members != nil && h.guard != nil {
		var err error
		if h.family, err = gate.NewFamily(h.c.PID(), members, h.guard); err != nil {
			h.remark("what children of the command execute is attached to some milliseconds late: %v", err)
		} else {
			go h.runFamily(h.family)
		}
	}
	if h.providers != nil {
		go h.providers.Serve(h.waits, h.rescan, h.missed)
	}
}

// waits reports whether this process answers providers of a process.
func (h *hold) waits(pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return pid == h.c.PID() || h.family != nil && !h.closed && h.family.Has(pid)
}

// runFamily handles stops of what the command has started.
func (h *hold) runFamily(f *gate.Family) {
	for {
		pid, executed, err := f.Next()
		if err != nil {
			return // it is closed
		}
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return
		}
		h.last.Store(time.Now().UnixNano())
		if err := h.search.RescanHeld(); err != nil {
			h.remark("look at what process %d has loaded: %v", pid, err)
		}
		if executed {
			if err := f.Linker(pid); err != nil && !errors.Is(err, os.ErrNotExist) {
				h.remark("libraries that process %d loads later are attached to some milliseconds late: %v", pid, err)
			}
		}
		f.Await(pid)
		also := pendingStop(pid)
		unix.Kill(pid, unix.SIGCONT) // it may have ended
		if also != 0 {
			unix.Kill(pid, also)
		}
		h.mu.Unlock()
	}
}

// rescan attaches to the probes that a waiting provider has loaded.
func (h *hold) rescan() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last.Store(time.Now().UnixNano())
	if err := h.search.RescanHeld(); err != nil && !h.closed {
		h.remark("find the probes that the command has declared: %v", err)
	}
}

// missed reports on stderr that a provider did not wait.
func (h *hold) missed(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed && h.c.Running() {
		h.remark("probes that the command has declared are attached to%s: it did not wait", Lateness(took))
	}
}

func (h *hold) linker() {
	if h.c.how.Bare {
		return // nothing of libraries is traced
	}
	if err := h.gate.Linker(); err != nil && !errors.Is(err, os.ErrNotExist) {
		h.remark("libraries that the command loads later are attached to some milliseconds late: %v", err)
	}
}

func (h *hold) remark(format string, args ...any) {
	if h.stderr != nil {
		fmt.Fprintf(h.stderr, "sdttrace: "+format+"\n", args...)
	}
}

// run handles stops until the command has ended. It does not wait for the
// command.
func (h *hold) run() {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, h.c.PID(), &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || info.Code != cldStopped:
			return
		}
		// The kernel reports each stop once, whoever stopped the command.
		unix.Waitid(unix.P_PID, h.c.PID(), nil, unix.WSTOPPED|unix.WNOHANG, nil)
		h.stopped()
	}
}

// cldStopped is CLD_STOPPED, include/uapi/asm-generic/siginfo.h.
const cldStopped = 5

// stopped looks for new probes and lets the command go on, if the gate has
// stopped it. A stop by somebody else stays.
func (h *hold) stopped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate == nil || h.closed || h.search == nil {
		return
	}
	counts, err := h.gate.Counts()
	if err != nil || counts.Stops == h.handled {
		return
	}
	theirs := counts.Also != h.also
	h.handled, h.also = counts.Stops, counts.Also
	h.last.Store(time.Now().UnixNano())
	if err := h.search.RescanHeld(); err != nil {
		h.remark("look at what the command has loaded: %v", err)
	}
	h.linker()
	if theirs {
		h.gate.Continued(counts)
		return // somebody else stopped it, and lets it go on
	}
	also := pendingStop(h.c.PID())
	h.c.resume()
	h.gate.Continued(counts)
	if also != 0 { // SIGCONT has discarded their signal
		h.c.cmd.Process.Signal(also)
	}
}

// close ends all waiting. The command may stand still.
func (h *hold) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	if h.providers != nil {
		h.providers.Close()
	}
	if h.guard != nil {
		defer h.guard.Close()
	}
	if h.family != nil {
		defer h.family.Close()
	}
	if h.gate == nil {
		return
	}
	counts, err := h.gate.Counts()
	if err == nil && counts.Forked > 0 && h.family == nil && h.search != nil {
		h.remark("the command started %s not traced: --children does that", printable.Many(counts.Forked, "process, which was", "processes, which were"))
	}
	if err == nil && counts.Unheld > 0 {
		h.remark("the command was not stopped at %d execs and dlopens, since it has other rights, was executed by another thread or is a job of a shell, and sdttrace may not let it go then: what it loaded there was attached to some milliseconds late", counts.Unheld)
	}
	h.gate.Close()
}

// Lateness returns a text for how long probes may have fired before they were
// attached to, "" if they cannot have.
func Lateness(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(", up to %.1f ms late", float64(d.Microseconds())/1000)
}

// pendingStop returns the pending signal that will stop a stopped process again,
// 0 if there is none.
func pendingStop(pid int) syscall.Signal {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		mask, ok := strings.CutPrefix(line, "ShdPnd:")
		if !ok {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		if err != nil {
			return 0
		}
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
			if set&(1<<(sig-1)) != 0 {
				return sig
			}
		}
	}
	return 0
}
