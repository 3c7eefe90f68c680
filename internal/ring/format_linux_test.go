package ring_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-usdt/usdt/internal/ring"
)

// document returns FORMAT.md.
func document(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// dumpAt returns a dump of the bytes of a file from an offset on, a multiple of 16.
func dumpAt(file []byte, at, size int) string {
	var b strings.Builder
	for n, line := range strings.SplitAfter(hex.Dump(file[at:at+size]), "\n") {
		if len(line) > 9 { // the last line has the size only
			fmt.Fprintf(&b, "%08x%s", at+16*n, line[8:])
		}
	}
	return b.String()
}

// requestStart writes a record of the site 3: myapp:request_start(id=41, path="/index.html").
func requestStart(w *ring.Writer) ring.Result {
	block := [3]uint64{41, 0, 11} // addresses of strings read as 0
	path := []byte("/index.html")
	texts := [1]*ring.Text{{At: unsafe.Pointer(unsafe.SliceData(path)), Length: uintptr(len(path))}}
	r := ring.Record{Block: unsafe.Pointer(&block), Size: unsafe.Sizeof(block), Texts: &texts[0], Count: 1, Limit: 1024}
	r.Site(3, 0, false)
	return w.Write(&r)
}

// TestFormatRing checks that FORMAT.md shows the bytes of a data file with one record.
func TestFormatRing(t *testing.T) {
	w, _ := pair(t, ring.Geometry{Shards: 1, Size: 64 << 10}, ring.Monotonic)
	if result := requestStart(w); result != ring.Recorded {
		t.Fatal(result)
	}
	memory, shards, areas := w.Memory()
	file := append([]byte(nil), memory[:areas+128]...)
	binary.LittleEndian.PutUint32(file[40:], 4711)                 // the PID
	binary.LittleEndian.PutUint64(file[areas+8:], 123_456_789_000) // the time
	for _, want := range []string{dumpAt(file, 0, 64), dumpAt(file, shards, 32), dumpAt(file, areas, 64)} {
		if !strings.Contains(document(t), "\n"+want) {
			t.Errorf("FORMAT.md does not have these bytes of a data file:\n%s", want)
		}
	}
}

// TestFormatRecorder checks that FORMAT.md shows the bytes of a flight recorder's file with
// one record, and with an object that is shortened.
func TestFormatRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.usdt")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ring.NewRecorder(int(f.Fd()), ring.Geometry{Shards: 1, Size: 64 << 10}, ring.Monotonic, "myapp")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(ring.AppendObject(nil, []byte("\x7fELF"), 256, []uint32{3}, []uint64{0x1eb0})); err != nil {
		t.Fatal(err)
	}
	if result := requestStart(w); result != ring.Recorded {
		t.Fatal(result)
	}
	w.Close()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const (
		shard = 8192
		part  = 64<<10 + 16<<10 // the part 1
		end   = 2 * 64 << 10    // of the areas
		wall  = 1_795_361_234_567_000_000
	)
	put := func(at int, n uint64) { binary.LittleEndian.PutUint64(file[at:], n) }
	binary.LittleEndian.PutUint32(file[40:], 4711)
	put(64, wall)
	put(72, 100_000_000_000)
	put(part+8, 123_456_700_000)
	put(part+16, wall+23_456_700_000)
	put(part+32+8, 123_456_789_000)
	for _, want := range []string{dumpAt(file, 0, 80), dumpAt(file, shard, 32), dumpAt(file, part, 96), dumpAt(file, end, 56)} {
		if !strings.Contains(document(t), "\n"+want) {
			t.Errorf("FORMAT.md does not have these bytes of a recorder's file:\n%s", want)
		}
	}
	// The bytes that FORMAT.md shows are a file that can be read.
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := ring.OpenRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counts(); r.PID != 4711 || r.Comm != "myapp" || c.Kept != 1 || c.Damaged != 0 || len(r.Sites()) != 1 || r.Begun.UnixNano() != wall {
		t.Errorf("the example is %+v of process %d, %s", c, r.PID, r.Comm)
	}
}
