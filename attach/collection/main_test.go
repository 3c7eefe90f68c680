package collection_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"typed": tracee.Obey(typed()), "daemon": tracee.Obey(daemon())})
	os.Exit(leftover.Run(m))
}

// typed is a program with the probes typed:ints and typed:bare, once it has been told
// to load them.
func typed() func(string) error {
	p := provider.New("typed", nil)
	ints := provider.NewProbe6[int8, uint8, int16, uint16, int32, uint64](p, "ints", "a", "b", "c", "d", "e", "f")
	bare := provider.NewProbe0(p, "bare")
	fired := uint64(0)
	return func(command string) error {
		var more int
		if _, err := fmt.Sscanf(command, "count %d", &more); err == nil {
			for range more {
				fired++
				ints.Fire(0, 0, 0, 0, 0, fired)
			}
			return nil
		}
		switch command {
		case "load":
			return p.Load()
		case "ints":
			ints.Fire(-8, 200, -1600, 60000, math.MinInt32, math.MaxUint64)
		case "bare":
			bare.Fire()
		case "close":
			return p.Close()
		default:
			return fmt.Errorf("unknown command %q", command)
		}
		return nil
	}
}

// start starts a program that answers every line of its input with one. It ends with
// the test.
func start(t testing.TB, cmd *exec.Cmd) *tracee.Program {
	t.Helper()
	return tracee.StartVictim(t, cmd)
}

// compile compiles args.c and returns the program's path.
func compile(t testing.TB, command ...string) string {
	t.Helper()
	return needs.Compile(t, "../testdata/args.c", command...)
}

// needPrivileges skips the test if this process may not attach; in CI it fails.
func needPrivileges(t testing.TB, err error) {
	t.Helper()
	if p := (*attach.PrivilegeError)(nil); errors.As(err, &p) {
		needs.Skip(t, "%v", err)
	}
}

// awaitSites waits until a program is attached to n sites. An unmapped file takes two looks, each of which
// an emulated machine takes so long for that the next is due after half a minute.
func awaitSites(t testing.TB, c *collection.Collection, program string, n int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); c.Plan(program).Attached() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s is attached to %d sites, want %d: %+v", program, c.Plan(program).Attached(), n, c.Plan(program))
		}
	}
}

func newCollection(t testing.TB, spec *ebpf.CollectionSpec, opts *collection.Options) *collection.Collection {
	t.Helper()
	c, err := collection.New(t.Context(), spec, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func attachProgram(t testing.TB, c *collection.Collection, program, selector string, opts *collection.Options) *collection.Attachment {
	t.Helper()
	a, err := c.AttachProgram(t.Context(), program, selector, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// collectionEvent is struct event of testdata/collection.bpf.c.
type collectionEvent struct {
	Program       uint32
	Count         int32
	Cookie        int64
	Args          [12]int64
	Errors, Sizes [12]int32
}

// firings returns what the programs of a collection have sent.
func firings(t testing.TB, c *collection.Collection) []collectionEvent {
	t.Helper()
	r, err := ringbuf.NewReader(c.Maps["events"])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.SetDeadline(time.Unix(1, 0))
	var all []collectionEvent
	for {
		rec, err := r.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return all
		}
		var ev collectionEvent
		if err == nil {
			_, err = binary.Decode(rec.RawSample, binary.NativeEndian, &ev)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
}
