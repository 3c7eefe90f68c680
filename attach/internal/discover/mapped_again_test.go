package discover

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMappedAgain maps a file, unmaps it before a look at the process searches its files, and maps it
// again: the next look finds it.
func TestMappedAgain(t *testing.T) {
	file, err := os.Open(object.Write(t, "shop.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	mapped := func() []byte {
		b, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	unmap := func(b []byte) {
		if err := unix.Munmap(b); err != nil {
			t.Fatal(err)
		}
	}
	d := New(parsed(t, "shop:*"), holdSelf(t))
	d.begin(t.Context())
	b := mapped()
	if !d.changed(os.Getpid()) {
		t.Fatal("the process was not looked at before")
	}
	unmap(b)
	if err := d.search(os.Getpid()); err != nil || d.found.Len() != 0 {
		t.Fatalf("got %q, %v, of a file that is not mapped", names(d.found), err)
	}
	b = mapped()
	defer unmap(b)
	if found, err := d.More(t.Context()); err != nil || found.Len() == 0 {
		t.Errorf("got %q, %v, want the probes of %s", names(found), err, file.Name())
	}
}
