package collection_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// daemon reads the events of a collection that it has loaded, or adopted from the daemon before.
func daemon() func(string) error {
	var c *collection.Collection
	var r *ringbuf.Reader
	return func(command string) (err error) {
		var what, dir, link string
		var pid int
		fmt.Sscan(command, &what, &dir, &pid, &link)
		switch what {
		case "load":
			object, err := os.Open(newestObject)
			if err != nil {
				return err
			}
			spec, err := collection.LoadSpec(object)
			if err != nil {
				return err
			}
			for name := range spec.Programs {
				if name != "any" {
					delete(spec.Programs, name)
				}
			}
			spec.Programs["any"].AttachTo = "typed:ints"
			opts := collection.Options{Target: attach.Target{PIDs: []int{pid}}}
			if link == attach.PerfLink.String() {
				opts.Link = attach.PerfLink
			}
			if c, err = collection.New(context.Background(), spec, &opts); err != nil {
				return err
			}
			if err := errors.Join(c.Attach(context.Background()), c.Pin(dir)); err != nil {
				return err
			}
		case "adopt":
			if c, err = collection.Adopt(dir); err != nil {
				return err
			}
		case "end":
			return errors.Join(c.Unpin(), c.Close())
		case "leave":
			return c.Close()
		}
		if r == nil {
			if r, err = ringbuf.NewReader(c.Maps["events"]); err != nil {
				return err
			}
			r.SetDeadline(time.Unix(1, 0))
		}
		for {
			rec, err := r.Read()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				fmt.Println()
				return nil
			}
			var ev collectionEvent
			if err == nil {
				_, err = binary.Decode(rec.RawSample, binary.NativeEndian, &ev)
			}
			if err != nil {
				return err
			}
			fmt.Print(ev.Args[5], " ")
		}
	}
}

// TestAdopt has three daemons trace a program one after the other, which end by SIGKILL, by Close
// and by Unpin. The events that they read are what the program has fired, also meanwhile.
func TestAdopt(t *testing.T) {
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			dir := filepath.Join(bpf.FileSystem(t), "daemon")
			p := start(t, tracee.Self("typed"))
			p.Do("load")
			got, want, fired := "", "", 0
			fire := func() {
				p.Do("count 100")
				for range 100 {
					fired++
					want += fmt.Sprint(fired, " ")
				}
			}
			for i, end := range []string{"", "leave", "end"} {
				d := start(t, tracee.Self("daemon"))
				if i == 0 {
					got += d.Do("load %s %d %v", dir, p.PID(), kind)
				} else {
					got += d.Do("adopt %s", dir)
				}
				d.Line()
				fire()
				got += d.Do("read")
				d.Line()
				if end == "" {
					fire() // which it does not come to read
					d.Kill()
				} else if d.Do(end); end == "leave" {
					fire()
				}
				if i < 2 {
					fire()
				}
			}
			p.Do("count 100") // unseen
			if got != want {
				t.Errorf("got %d events, want %d:\n%s", strings.Count(got, " "), fired, got)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		})
	}
}

// TestPinned checks what the first and the second owner of a pinned collection can do.
func TestPinned(t *testing.T) {
	fs := bpf.FileSystem(t)
	dir := filepath.Join(fs, "sections")
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/sections.bpf.c"))
	names := []string{"called", "traced"}
	if !withoutKprobes() && hasTrampolinesOfMany(t) {
		names = append(names, "many_entered")
	}
	for name := range spec.Programs {
		if !slices.Contains(names, name) {
			delete(spec.Programs, name)
		}
	}
	path := compile(t, "gcc", "-O2")
	spec.Programs["called"].AttachTo = path + ":fire"
	if err := errors.Join(spec.Variables["pid"].Set(int32(os.Getpid())), collection.SetPIDNamespace(spec.Variables["namespace"])); err != nil {
		t.Fatal(err)
	}
	c := newCollection(t, spec, nil)
	if err := os.MkdirAll(filepath.Join(dir, "links", "called", "0"), 0o700); err != nil { // of a process that was killed
		t.Fatal(err)
	}
	if _, err := collection.Adopt(dir); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("adopt half of the pins: %v", err)
	}
	if err := errors.Join(c.Attach(t.Context()), c.Pin(dir)); err != nil {
		t.Fatal(err)
	}
	if err := c.Pin(filepath.Join(fs, "another")); err == nil {
		t.Error("a collection is pinned twice")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := collection.Adopt(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if plan := c.Plan("called"); len(plan) != 1 || !plan[0].Attached {
		t.Errorf("the plan is %+v", plan)
	}
	for _, name := range names {
		links, err := c.Links(name)
		if err != nil || len(links) != 1 {
			t.Fatalf("links of %s: %v, %v", name, links, err)
		}
		if info, err := links[0].Info(); err != nil || info.ID == 0 {
			t.Errorf("%+v, %v", info, err)
		}
		links[0].Close()
	}
	if err := c.Attach(t.Context()); err == nil {
		t.Error("Attach of an adopted collection succeeds")
	}
	if _, err := c.AttachProgram(t.Context(), "called", path+":fire", nil); err == nil {
		t.Error("AttachProgram of an adopted collection succeeds")
	}
	offset := spec.Variables["seen"].Offset
	seen := func() (n [16]uint64) {
		t.Helper()
		v := make([]byte, c.Maps[".bss"].ValueSize())
		if err := c.Maps[".bss"].Lookup(uint32(0), &v); err != nil {
			t.Fatal(err)
		}
		binary.Decode(v[offset:], binary.NativeEndian, &n)
		return n
	}
	before := seen()
	os.Open(path + "-not-there")
	if now := seen(); now[2] == before[2] {
		t.Errorf("the tracepoint's program does not run: %d, %d", before, now)
	} else if len(names) > 2 && now[13] == before[13] {
		t.Errorf("the program of many functions does not run: %d, %d", before, now)
	}
	if err := errors.Join(c.Unpin(), c.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
}
