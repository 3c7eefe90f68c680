package output_test

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
)

// smallPipe returns a pipe that takes a page, and what sdttrace writes to it by. asked ends waiting.
func smallPipe(t *testing.T) (r *os.File, w io.Writer, asked *atomic.Pointer[time.Time]) {
	t.Helper()
	r, file, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); file.Close() })
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil { // Fd makes it one that blocks
		t.Fatal(err)
	}
	asked = new(atomic.Pointer[time.Time])
	w = output.Ending(file, func() time.Time {
		if at := asked.Load(); at != nil {
			return *at
		}
		return time.Time{}
	})
	flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFL, 0)
	if err != nil || w == io.Writer(file) || output.Inherited(w) != io.Writer(file) || flags&unix.O_NONBLOCK != 0 {
		t.Fatalf("%T is %T behind, with flags %#x (%v): want the file, which blocks", w, output.Inherited(w), flags, err)
	}
	return r, w, asked
}

// TestUnread checks that a write to a pipe that nobody reads waits until sdttrace is asked to end, and
// that later ones fail at once.
func TestUnread(t *testing.T) {
	_, w, asked := smallPipe(t)
	text := strings.Repeat("x", 3*os.Getpagesize())
	done := make(chan error)
	go func() {
		n, err := io.WriteString(w, text)
		if n != os.Getpagesize() {
			t.Errorf("wrote %d bytes, want a page", n)
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("a write has ended that nobody has read: %v", err)
	case <-time.After(300 * time.Millisecond): // the only way to see that it waits
	}
	now := time.Now()
	asked.Store(&now)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("it ends with %v", err)
	}
	if n, err := io.WriteString(w, "y"); n != 0 || err == nil {
		t.Errorf("a later write: %d, %v", n, err)
	}
}

// TestReadAfterAsked checks that all comes of what is read, also after sdttrace was asked to end. The
// reader may have no processor for as long as a write waits, so it tries again.
func TestReadAfterAsked(t *testing.T) {
	text := strings.Repeat("0123456789", 10000)
	got, failed := readAfterAsked(t, text)
	for range 5 {
		if failed != nil {
			got, failed = readAfterAsked(t, text)
		}
	}
	if failed != nil || got != text {
		t.Errorf("read %d bytes, %v, want %d", len(got), failed, len(text))
	}
}

// readAfterAsked returns what is read of a text, and the error of its write.
func readAfterAsked(t *testing.T, text string) (string, error) {
	r, w, asked := smallPipe(t)
	long := time.Now().Add(-time.Hour)
	asked.Store(&long)
	done := make(chan error)
	got := make([]byte, len(text))
	go func() {
		io.ReadFull(r, got) // the write has an error if this has one
		done <- nil
	}()
	_, err := io.WriteString(w, text)
	if err != nil {
		r.SetReadDeadline(time.Now()) // the rest does not come
	}
	<-done
	return string(got), err
}

// TestEndingFile leaves what is no pipe as it is. A pipe that nobody can read is closed.
func TestEndingFile(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if w := output.Ending(null, nil); w != io.Writer(null) || output.Inherited(w) != w {
		t.Errorf("%s becomes %T", null.Name(), w)
	}
	r, w, _ := smallPipe(t)
	r.Close()
	if _, err := io.WriteString(w, "x"); output.Error(err) != nil || err == nil {
		t.Errorf("a closed pipe: %v", err)
	}
}
