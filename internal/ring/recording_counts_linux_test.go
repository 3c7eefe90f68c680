package ring_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/ring"
)

// TestRecordingDamageCounts counts the events that a damaged part has lost: exactly, if
// none has been replaced by a later one.
func TestRecordingDamageCounts(t *testing.T) {
	w, path := recorder(t, ring.Geometry{Shards: 1, Size: 64 << 10}, ring.Monotonic)
	defer w.Close()
	write := func(n uint64) {
		for i := range n {
			rec := word(1, &i)
			w.Write(&rec)
		}
	}
	copied := filepath.Join(t.TempDir(), "copied")
	damaged := func() ring.RecordingCounts {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const areas = 64 << 10 // of one shard
		for part := areas; part < areas+64<<10; part += 16 << 10 {
			if binary.LittleEndian.Uint64(data[part:]) != 0 {
				at := part + 32 + 100*24
				binary.LittleEndian.PutUint32(data[at:], 1<<30)
				break
			}
		}
		if err := os.WriteFile(copied, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ring.OpenRecording(copied)
		if err != nil {
			t.Fatal(err)
		}
		return r.Counts()
	}
	write(1000)
	if c := damaged(); !c.Exact || c.Damaged != 1 || c.Recorded != 1000 || c.Kept+c.Illegible != 1000 || c.Illegible < 500 {
		t.Errorf("%+v, want all but 100 of the first part counted", c)
	}
	write(100_000)
	// A part holds 681 records of 24 bytes.
	if c := damaged(); c.Exact || c.Damaged != 1 || c.Illegible != 581 {
		t.Errorf("%+v, want an estimate of 581", c)
	}
}

// TestRecordingRefused opens what is not a recorder's file, and does not wait for it.
func TestRecordingRefused(t *testing.T) {
	w, good := recorder(t, ring.Geometry{Shards: 1, Size: 64 << 10}, ring.Monotonic)
	defer w.Close()
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.OpenRecording(path); err == nil || err.Error() != "it is no regular file" {
		t.Errorf("a FIFO: %v", err)
	}
	os.Remove(path)
	later := append([]byte(nil), data...)
	later[8] = 2
	for _, test := range []struct {
		data []byte
		want string
	}{
		{nil, "it is empty"},
		{[]byte("text"), "it is neither the file of a flight recorder nor one of sdttrace record"},
		{later, "it has version 2 of the format, and this program reads version 1"},
		{data[:5000], "read the heads of 1 shards"},
	} {
		if err := os.WriteFile(path, test.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ring.OpenRecording(path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}
