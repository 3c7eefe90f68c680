package attach_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/tracefile"
)

func init() { roles["writer"] = tracee.Obey(writerChild()) }

// writerChild records the process that its command names to a file.
func writerChild() func(string) error {
	return func(command string) error {
		var pid, via int
		var path, selector string
		if _, err := fmt.Sscan(command, &pid, &via, &path, &selector); err != nil {
			return err
		}
		r, err := attach.Record(context.Background(), []string{selector}, &attach.RecordOptions{RingSize: 16 << 20}, &attach.Options{Stack: 16, Target: attach.Target{PIDs: []int{pid}, Via: attach.Via(via)}})
		if err != nil {
			return err
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		go r.Write(file, nil) // until it is killed
		return nil
	}
}

// TestRecordKilled kills what records while it does, maybe in the middle of a write, and then
// cuts the file in half: the events before are there, in their order and with their stacks.
func TestRecordKilled(t *testing.T) {
	sharedToo(t, func(t *testing.T) {
		p := startChild(t, "flood")
		p.Do("load")
		via := attach.ViaKernel
		if wayOf(t) == shared {
			via = attach.ViaLocal
		} else {
			open(t, "flood:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}).Close() // or skip
		}
		path := filepath.Join(t.TempDir(), "events")
		writer := startChild(t, "writer")
		writer.Do("%d %d %s flood:number", p.PID(), via, path)
		for size := int64(0); size < 600<<10; {
			p.Do("1 500")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			size = info.Size()
		}
		writer.Kill()
		file := &attach.Options{Target: attach.Target{Recordings: []string{path}}}
		whole := numbers(t, file)
		if len(whole) < 1000 {
			t.Errorf("%d events", len(whole))
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, info.Size()/2); err != nil {
			t.Fatal(err)
		}
		f, err := tracefile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if left := numbers(t, file); f.Ended || len(left) >= len(whole) || len(left) == 0 {
			t.Errorf("%d of %d events, %d bytes torn, ended %v", len(left), len(whole), f.Torn, f.Ended)
		}
	})
}

// numbers returns the first arguments of events, and checks that they are in order.
func numbers(t *testing.T, file *attach.Options) (all []uint64) {
	t.Helper()
	lost, last := 0, uint64(0)
	o := *file
	o.Stack = 16
	for ev, err := range openFile(t, &o, "flood:number").Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Stack.Err != nil || len(ev.Stack.PCs) == 0 || ev.Stack.Frames()[0].Func == "" {
			t.Fatalf("event %d has the stack %v, %v", len(all), ev.Stack.Frames(), ev.Stack.Err)
		}
		n := ev.Args[0].Value.(uint64)
		if len(all) > 0 && n != (last+1)%500 {
			lost++
		}
		last = n
		all = append(all, n)
	}
	if lost > len(all)/100 {
		t.Errorf("of %d events %d do not follow the one before", len(all), lost)
	}
	return all
}

// TestRecordFull writes to files that cannot grow. The error says so, and the file has
// the records that fitted.
func TestRecordFull(t *testing.T) {
	for _, room := range []int64{400 << 10, 40 << 10, 8 << 10} {
		t.Run(fmt.Sprint(room), func(t *testing.T) { checkRecordFull(t, room) })
	}
}

func checkRecordFull(t *testing.T, room int64) {
	fd, err := unix.MemfdCreate("events", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "events")
	defer file.Close()
	if err := file.Truncate(room); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_GROW); err != nil {
		t.Fatal(err)
	}
	p := startChild(t, "flood")
	p.Do("load")
	r, err := attach.Record(t.Context(), []string{"flood:number"}, &attach.RecordOptions{RingSize: 16 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer r.Close()
	ended := make(chan error, 1)
	go func() { ended <- r.Write(file, nil) }()
	p.Do("1 20000")
	if err := <-ended; !errors.Is(err, unix.EPERM) {
		t.Errorf("writing ended with %v, want EPERM", err)
	}
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	f, err := tracefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Torn != 0 || f.Damaged != 0 || !f.Ended {
		t.Errorf("%d bytes are torn, %d damaged; ended: %t", f.Torn, f.Damaged, f.Ended)
	}
	if info, err := file.Stat(); err != nil || info.Size() < room-4<<10 {
		t.Errorf("%d bytes of %d are used, %v", info.Size(), room, err)
	}
	s := openFile(t, &attach.Options{Target: attach.Target{Recordings: []string{path}}}, "*:*")
	n := 0
	for ev, err := range s.Events() {
		if err != nil || ev.Args[0].Value != uint64(n) {
			t.Fatalf("event %d: %v, %v", n, ev.Args, err)
		}
		n++
	}
	if n == 0 || n == 20000 {
		t.Errorf("%d events", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if st, err := r.Stats(); err != nil || st.Received != uint64(n) || st.Unread == 0 || st.Received+st.Unread+st.Lost != st.Fired {
		t.Errorf("%d events of %+v, %v", n, st, err)
	}
	if st, err := s.Stats(); err != nil || st.Lost != 0 || st.Received != uint64(n) {
		t.Errorf("replayed %d events, %+v, %v", n, st, err)
	}
}

// TestRecordLimits checks that writing ends at a number of events, and at a size.
func TestRecordLimits(t *testing.T) {
	p := startChild(t, "flood")
	p.Do("load")
	for _, test := range []attach.RecordLimits{{Events: 77}, {Bytes: 100 << 10}} {
		r, err := attach.Record(t.Context(), []string{"flood:number"}, &attach.RecordOptions{RingSize: 16 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "events")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		p.Do("1 5000")
		if err := errors.Join(r.Write(file, &test), file.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		f, err := tracefile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		size, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if test.Events > 0 && f.Counts.Recorded != test.Events || test.Bytes > 0 && (size.Size() < test.Bytes || size.Size() > test.Bytes+1000) || !f.Ended {
			t.Errorf("%+v: %+v, %d bytes", test, f.Counts, size.Size())
		}
		f.Close()
	}
	option := (*attach.OptionError)(nil)
	if _, err := attach.Record(t.Context(), []string{"a:b"}, nil, &attach.Options{Target: attach.Target{Recordings: []string{"x"}}}); !errors.As(err, &option) {
		t.Errorf("a recording is recorded: %v", err)
	}
}

// TestRecordMany merges the files of two sessions by time.
func TestRecordMany(t *testing.T) {
	p := startChild(t, "flood")
	p.Do("load")
	var files []string
	var both [2]*recording
	for i, selector := range []string{"flood:number", "flood:text"} {
		both[i] = startRecord(t, []string{selector}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	}
	p.Do("1 100")
	for _, r := range both {
		files = append(files, r.end(t).Target.Recordings...)
	}
	n := map[string]int{}
	var last time.Time
	for ev, err := range openFile(t, &attach.Options{Target: attach.Target{Recordings: files}}, "*:*").Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Time.Before(last) {
			t.Errorf("%v comes after %v", ev.Time, last)
		}
		last = ev.Time
		n[ev.Name]++
	}
	if n["number"] != 100 || n["text"] != 25 {
		t.Errorf("events %v", n)
	}
}
