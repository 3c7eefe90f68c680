//go:build !usdt_nolocal

package provider_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/await"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["confined"] = confined }

// confinement is what a service may call, and when that begins.
type confinement struct {
	dir     string
	feature string
	late    bool // after Load
	calls   []uint32
	refused unix.Errno // of these calls; 0 means that all others end the process
}

func (c *confinement) args() []string {
	var calls []string
	for _, n := range c.calls {
		calls = append(calls, strconv.Itoa(int(n)))
	}
	return []string{c.dir, c.feature, strconv.FormatBool(c.late), strings.Join(calls, ","), strconv.Itoa(int(c.refused))}
}

func (c *confinement) parse(args []string) {
	c.dir, c.feature, c.late = args[0], args[1], args[2] == "true"
	for _, s := range strings.Split(args[3], ",") {
		n, _ := strconv.Atoi(s)
		c.calls = append(c.calls, uint32(n))
	}
	n, _ := strconv.Atoi(args[4])
	c.refused = unix.Errno(n)
}

func (c *confinement) begin() error {
	if c.refused == 0 {
		return confine(c.calls, unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_TRAP)
	}
	return confine(c.calls, unix.SECCOMP_RET_ERRNO|uint32(c.refused), unix.SECCOMP_RET_ALLOW)
}

// features are what a service can use that makes system calls.
var features = map[string]func(dir string) *provider.Options{
	"probes": func(string) *provider.Options { return &provider.Options{} },
	"BackingFile": func(dir string) *provider.Options {
		return &provider.Options{Backing: provider.BackingFile, Dir: dir + "/objects"}
	},
	"EventsDir": func(dir string) *provider.Options { return &provider.Options{EventsDir: dir + "/events"} },
	"Local":     func(string) *provider.Options { return &provider.Options{Local: true} },
	"sdttrace":  func(string) *provider.Options { return nil }, // which has started the service
	"FlightRecorder": func(dir string) *provider.Options {
		return &provider.Options{FlightRecorder: &provider.FlightRecorder{Dir: dir + "/recorder", Size: 1 << 20}}
	},
}

// stages of a confined process, and what it waits for in each.
const (
	loading = iota
	loaded  // waits for the tracer to have attached
	fired   // waits for it to have detached
	closed
)

// report is what a confined process and the test tell each other. It is in memory that both
// share, since the process may not be allowed to write.
type report struct {
	stage, told    atomic.Uint32
	loaded, closed [1024]byte // errors
}

func openReport(dir string) (*report, error) {
	f, err := os.OpenFile(filepath.Join(dir, "report"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof(report{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*report)(unsafe.Pointer(&m[0])), nil
}

// reach says that the process is at a stage, and waits until it may go on.
func (r *report) reach(stage uint32) {
	r.stage.Store(stage)
	for r.told.Load() < stage {
		time.Sleep(5 * time.Millisecond)
	}
}

// confined is the role of a service that is confined.
func confined(args []string) error {
	var c confinement
	c.parse(args)
	r, err := openReport(c.dir)
	if err != nil {
		return err
	}
	p := provider.New("confined", features[c.feature](c.dir))
	one := provider.NewProbe1[int](p, "one", "n")
	if !c.late {
		if err := c.begin(); err != nil {
			return err
		}
	}
	if err := p.Load(); err != nil {
		copy(r.loaded[:], err.Error())
	}
	r.reach(loaded)
	if c.late {
		if err := c.begin(); err != nil {
			return err
		}
	}
	one.Fire(7)
	r.reach(fired)
	if err := p.Close(); err != nil {
		copy(r.closed[:], err.Error())
	}
	r.stage.Store(closed)
	return nil
}

// outcome is what became of a confined service.
type outcome struct {
	loaded, closed string // errors
	died           string // what it wrote if it did not come to its end
	events         int    // that were recorded, or came to the tracer
	busy           bool   // whether it used a processor while it had nothing to do
}

// hangs is how died begins for a process that does not come to an end.
const hangs = "it hangs"

// run runs a service that is confined.
func (c *confinement) run(t *testing.T) (o outcome) {
	t.Helper()
	c.dir = t.TempDir()
	r, err := openReport(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.MunmapPtr(unsafe.Pointer(r), unsafe.Sizeof(*r))
	var output strings.Builder
	cmd := tracee.Self("confined", c.args()...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if c.feature == "sdttrace" {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@usdt" + strings.ReplaceAll(c.dir, "/", "-"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			if peer, err := l.Accept(); err == nil {
				peer.Close() // which the service takes for an answer
			}
		}()
		cmd.Env = append(cmd.Env, await.Variable+"="+l.Addr().String())
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	gone := false
	// reaches waits for a stage, and reports whether the process has come to it.
	reaches := func(stage uint32) bool {
		for deadline := time.Now().Add(time.Minute); r.stage.Load() < stage; {
			select {
			case err := <-ended:
				gone = true
				if r.stage.Load() >= stage {
					return true
				}
				o.died = fmt.Sprintf("%v: %s", err, output.String())
				return false
			case <-time.After(time.Millisecond):
			}
			if time.Now().After(deadline) {
				o.died = fmt.Sprintf("%s in stage %d", hangs, r.stage.Load())
				return false
			}
		}
		return true
	}
	defer func() {
		if !gone && o.died == "" {
			<-ended
		}
	}()
	text := func(b *[1024]byte) string { return unix.ByteSliceToString(b[:]) }
	if !reaches(loaded) {
		return o
	}
	o.loaded = text(&r.loaded)
	var tr *tracer
	if c.feature == "Local" && o.loaded == "" {
		if tr, err = connect(t.Context(), cmd.Process.Pid, "confined", watching{}); err != nil {
			o.died = "the tracer: " + err.Error()
			return o
		}
		defer tr.Close()
	}
	r.told.Store(loaded)
	if !reaches(fired) {
		return o
	}
	if tr != nil {
		if c.late {
			// A later connection may get no answer.
			if other, err := connectWithin(t, cmd.Process.Pid, 100*time.Millisecond); err == nil {
				other.Close()
			}
		}
		o.busy = busy(t, cmd.Process.Pid)
		if err := tr.Stop(); err != nil && !c.late {
			t.Error(err)
		}
		o.events = len(tr.next(t, true))
		tr.Close()
	}
	r.told.Store(fired)
	if !reaches(closed) {
		return o
	}
	o.closed = text(&r.closed)
	if c.feature == "FlightRecorder" && o.loaded == "" {
		for _, path := range recordings(t, c.dir+"/recorder") {
			events, _ := replay(t, path)
			o.events += len(events)
		}
	}
	return o
}

// busy reports whether a process that only waits uses a processor all the time: a machine with
// other work may have it use one for a while, with what it did not get to before.
func busy(t *testing.T, pid int) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		before, began := used(t, pid), time.Now()
		time.Sleep(50 * time.Millisecond)
		if used(t, pid)-before <= time.Since(began)/5 {
			return false
		}
	}
	return true
}

// used returns the processor time of a process.
func used(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		n, _ := strconv.Atoi(strings.Fields(string(text))[0])
		sum += time.Duration(n)
	}
	return sum
}

// connectWithin begins a session with a process, or gives up soon.
func connectWithin(t *testing.T, pid int, bound time.Duration) (*rendezvous.Session, error) {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	return rendezvous.Connect(ctx, pid, nil)
}
