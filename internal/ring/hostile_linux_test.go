package ring_test

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/systest/leftover"
)

// hostile is how long each side of a ring scribbles.
var hostile = flag.Duration("hostile", time.Second, "how long each side of a ring scribbles over what the other reads")

// TestSeals tries all that a tracer could do to the memory of the process that fires.
func TestSeals(t *testing.T) {
	w, _ := pair(t, ring.Geometry{Shards: 2, Size: 64 << 10}, ring.Counter)
	data, control := w.Open()
	defer data.Close()
	defer control.Close()
	page := os.Getpagesize()
	for name, f := range map[string]*os.File{"data": data, "control": control} {
		fd := int(f.Fd())
		refused := func(what string, err error) {
			if err == nil {
				t.Errorf("%s: the tracer can %s", name, what)
			}
		}
		refused("truncate", unix.Ftruncate(fd, 0))
		refused("grow", unix.Ftruncate(fd, 1<<30))
		refused("grow by fallocate", unix.Fallocate(fd, 0, 1<<29, 4096))
		_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
		refused("seal", err)
		if name == "control" {
			continue // it is the tracer's
		}
		_, err = unix.Pwrite(fd, []byte("x"), 0)
		refused("write", err)
		_, err = unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		refused("map for writing", err)
		refused("punch a hole", unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(page)))
		m, err := unix.Mmap(fd, 0, page, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		refused("make writable", unix.Mprotect(m, unix.PROT_READ|unix.PROT_WRITE))
		refused("remove", unix.Madvise(m, unix.MADV_REMOVE))
		unix.Munmap(m)
		again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDWR, 0)
		if err == nil {
			_, err = again.WriteAt([]byte("x"), 0)
			again.Close()
		}
		refused("open again and write", err)
	}
}

// TestHostilePositions checks that a process goes on, and keeps its counts, whatever
// positions its tracer writes.
func TestHostilePositions(t *testing.T) {
	w, r := pair(t, ring.Geometry{Shards: 4, Size: 64 << 10}, ring.ClockHere())
	var stop atomic.Bool
	var scribbler sync.WaitGroup
	scribbler.Add(1)
	go func() {
		defer scribbler.Done()
		random := rand.New(rand.NewPCG(3, 4))
		for !stop.Load() {
			n := random.Uint64() >> random.IntN(64)
			if random.IntN(2) == 0 {
				n = -n
			}
			atomic.StoreUint64(r.Tail(random.IntN(4)), n)
		}
	}()
	end, fired := time.Now().Add(*hostile), uint64(0)
	for fired%1000 > 0 || time.Now().Before(end) {
		rec := word(1, &fired)
		if fired++; fired%2 == 0 {
			w.Write(&rec)
		} else {
			w.WritePortably(&rec)
		}
	}
	stop.Store(true)
	scribbler.Wait()
	if n := r.Counts(); n.Fired() != fired || n.Contended != 0 {
		t.Errorf("counts %+v, want %d fired", n, fired)
	}
}

// TestHostileRecords scribbles over heads and records while a tracer reads: each
// round ends, in an error at worst.
func TestHostileRecords(t *testing.T) {
	const size = 64 << 10
	end, before, files := time.Now().Add(*hostile), leftover.Resident(t), leftover.Descriptors(t)
	errors, records := 0, 0
	for round := uint64(0); time.Now().Before(end); round++ {
		w, err := ring.NewWriter(ring.Geometry{Shards: 2, Size: size}, ring.ClockHere(), "hostile")
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Read(1, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		var scribbler sync.WaitGroup
		scribbler.Add(1)
		go func() {
			defer scribbler.Done()
			data, shards, areas := w.Memory()
			random := rand.New(rand.NewPCG(round, 6))
			for !stop.Load() {
				for range 50 {
					i := uint64(random.Uint32())
					rec := word(uint32(random.Uint32()>>3), &i)
					w.Write(&rec)
				}
				at := areas + random.IntN(2*size/8)*8
				switch random.IntN(4) {
				case 0:
					at = shards + 128*random.IntN(2)
				case 1:
					at = random.IntN(len(data)/8) * 8
				}
				n := random.Uint64() >> random.IntN(64)
				atomic.StoreUint64((*uint64)(unsafe.Pointer(&data[at])), n)
				runtime.Gosched()
			}
		}()
		var buf []byte
		for range 200 {
			if _, err = r.Poll(false); err != nil {
				break
			}
			ok := true
			for ok && err == nil {
				buf, ok, err = r.Next(buf)
				records++
			}
			if err != nil {
				break
			}
			r.Time()
			r.Waiting()
			r.Counts()
		}
		if err != nil {
			errors++
		}
		stop.Store(true)
		scribbler.Wait()
		r.Close()
		w.Close()
	}
	runtime.GC()
	if after := leftover.Resident(t); after > before+64<<20 && !raced {
		t.Errorf("the memory has grown from %d to %d bytes", before, after)
	}
	leftover.Back(t, files)
	if errors == 0 || records == 0 {
		t.Errorf("%d errors, %d records: the scribbler does no harm", errors, records)
	}
}

// FuzzReader reads rings whose heads and records are arbitrary.
func FuzzReader(f *testing.F) {
	rec := func(length, site uint32, body ...byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, length)
		b = binary.LittleEndian.AppendUint32(b, site)
		return append(append(b, 0, 0, 0, 0, 0, 0, 0, 0), body...)
	}
	good := rec(24, 7, 1, 2, 3, 4, 5, 6, 7, 8)
	f.Add(uint64(24), good)
	f.Add(uint64(48), slices.Concat(good, good))
	f.Add(uint64(48), slices.Concat(good, rec(24, 1<<32-1, 0, 0, 0, 0, 0, 0, 0, 0)))
	f.Add(uint64(16), rec(16, 7|1<<31|3<<29))
	f.Add(uint64(24), rec(1<<31, 7))
	f.Add(uint64(1<<63), good)
	f.Add(uint64(64<<10), rec(64<<10, 1<<32-1))
	f.Fuzz(func(t *testing.T, head uint64, area []byte) {
		const size = 64 << 10
		w, err := ring.NewWriter(ring.Geometry{Shards: 1, Size: size}, ring.Monotonic, "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		data, shards, areas := w.Memory()
		copy(data[areas:], area)
		binary.LittleEndian.PutUint64(data[shards:], head)
		r, err := w.Read(1, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := r.Poll(true); err != nil {
			return
		}
		total := uint64(0)
		for {
			rec, ok, err := r.Next(nil)
			if !ok || err != nil {
				return
			}
			// A record takes at least its header from the head's bytes.
			if total += 16; total > head || len(rec) < 40 || len(rec) > size+64 {
				t.Fatalf("%d bytes of records, the last of %d, from %d", total, len(rec), head)
			}
		}
	})
}

// TestUnsealed checks that a tracer does not map memory that could shrink.
func TestUnsealed(t *testing.T) {
	w, _ := pair(t, ring.Geometry{Shards: 2, Size: 64 << 10}, ring.Counter)
	data, control := w.Open()
	defer data.Close()
	defer control.Close()
	open := func(flags int) *os.File {
		fd, err := unix.MemfdCreate("unsealed", flags)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "unsealed")
		t.Cleanup(func() { f.Close() })
		data, _, _ := w.Memory()
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, bad := range []*os.File{open(0), open(unix.MFD_ALLOW_SEALING)} {
		if r, err := ring.NewReader(bad, control, 1, 1<<30, nil); err == nil {
			r.Close()
			t.Error("data that is not sealed is fine")
		}
		if r, err := ring.NewReader(data, bad, 1, 1<<30, nil); err == nil {
			r.Close()
			t.Error("positions that are not sealed are fine")
		}
	}
	big, err := ring.NewWriter(ring.Geometry{Shards: 2, Size: 1 << 20}, ring.Counter, "big")
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	if r, err := big.Read(1, 1<<20); err == nil {
		r.Close()
		t.Error("more memory than was asked for is fine")
	}
	if r, err := ring.NewReader(control, data, 1, 1<<30, nil); err == nil {
		r.Close()
		t.Error("exchanged files are fine")
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if r, err := ring.NewReader(dir, control, 1, 1<<30, nil); err == nil {
		r.Close()
		t.Error("a directory is fine")
	}
}

// FuzzHeader maps rings whose headers are arbitrary.
func FuzzHeader(f *testing.F) {
	w, err := ring.NewWriter(ring.Geometry{Shards: 2, Size: 64 << 10}, ring.Counter, "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { w.Close() })
	data, _, _ := w.Memory()
	good := slices.Clone(data[:64])
	f.Add(good)
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		copy(data[:64], good)
		copy(data[:64], header)
		if r, err := w.Read(1, 1<<30); err == nil {
			r.Poll(true)
			r.Close()
		}
	})
}

// FuzzRecording reads recorder's files that are damaged.
func FuzzRecording(f *testing.F) {
	g := ring.Geometry{Shards: 1, Size: 64 << 10}
	path := filepath.Join(f.TempDir(), "x.usdt")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	w, err := ring.NewRecorder(int(file.Fd()), g, ring.Monotonic, "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	for i := range uint64(5000) {
		rec := word(1, &i)
		w.Write(&rec)
	}
	w.Close()
	if _, err := file.Write(ring.AppendObject(nil, []byte("image"), 100, []uint32{1, 2}, []uint64{0x1000, 0x2000})); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	r, err := ring.ReadRecording(good)
	if n := r.Counts(); err != nil || n.Recorded != 5000 || n.Kept < 1000 || n.Damaged != 0 || len(r.Sites()) != 2 || string(r.Sites()[1].Object) != "image" {
		f.Fatalf("%+v, %v", r, err)
	}
	f.Add(0, []byte("damage"), len(good))
	f.Add(8192, []byte{255, 255}, len(good))
	f.Add(len(good)-60, []byte{1, 2, 3}, len(good))
	f.Add(66000, make([]byte, 100), len(good)-3)
	data := make([]byte, len(good))
	f.Fuzz(func(t *testing.T, at int, damage []byte, size int) {
		copy(data, good)
		if at >= 0 && at < len(data) {
			copy(data[at:], damage)
		}
		r, err := ring.ReadRecording(data[:min(max(size, 0), len(data))])
		if err != nil {
			return
		}
		n := uint64(0)
		for rec, err := range r.Records() {
			if err != nil || len(rec) < 40 {
				t.Fatalf("a record of %d bytes, %v", len(rec), err)
			}
			n++
		}
		if n != r.Counts().Kept || len(r.Sites()) > 1000 {
			t.Fatalf("%d records, counts %+v, %d sites", n, r.Counts(), len(r.Sites()))
		}
		r.Close()
	})
}
