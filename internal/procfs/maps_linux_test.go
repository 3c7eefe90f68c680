package procfs_test

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
)

const example = `00400000-00401000 r-xp 00002000 fe:01 12345                              /usr/bin/with space
00401000-00402000 rw-p 00000000 00:00 0 
7f0000000000-7f0000001000 rw-s 0000000000 00:01 7                        /memfd:a\012b (deleted)
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`

func TestParseMaps(t *testing.T) {
	got, err := procfs.ParseMaps([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := []procfs.Mapping{
		{Start: 0x400000, End: 0x401000, Read: true, Exec: true, Offset: 0x2000, Dev: unix.Mkdev(0xfe, 1), Inode: 12345, Path: "/usr/bin/with space"},
		{Start: 0x401000, End: 0x402000, Read: true, Write: true},
		{Start: 0x7f0000000000, End: 0x7f0000001000, Read: true, Write: true, Shared: true, Dev: 1, Inode: 7, Path: "/memfd:a\nb (deleted)"},
		{Start: 0xffffffffff600000, End: 0xffffffffff601000, Exec: true, Path: "[vsyscall]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mappings (-want +got):\n%s", diff)
	}
}

func TestParseMapsErrors(t *testing.T) {
	for _, s := range []string{"x", "1-0 r-xp 0 0:0 0", "0-1 rxp 0 0:0 0", "0-1 r-xp 0 0:0", "0-1 r-xp g 0:0 0", "\n"} {
		if got, err := procfs.ParseMaps([]byte(s)); err == nil {
			t.Errorf("ParseMaps(%q): got %v, want an error", s, got)
		}
	}
}

func TestReadMemory(t *testing.T) {
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	for _, m := range maps {
		if m.Exec && m.Offset == 0 && m.Inode != 0 && m.Read {
			if err := procfs.ReadMemory(os.Getpid(), m.Start, buf); err != nil || string(buf) != "\x7fELF" {
				t.Errorf("at %#x of %s: got % x, %v", m.Start, m.Path, buf, err)
			}
		}
	}
	for _, addr := range []uint64{0, 1 << 63} {
		if err := procfs.ReadMemory(os.Getpid(), addr, buf); err == nil {
			t.Errorf("at %#x: want an error", addr)
		}
	}
	if err := procfs.ReadMemory(99999999, 0x1000, buf); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte(example))
	f.Fuzz(func(t *testing.T, data []byte) {
		maps, err := procfs.ParseMaps(data)
		if err == nil {
			procfs.Objects(1, maps)
		}
	})
}
