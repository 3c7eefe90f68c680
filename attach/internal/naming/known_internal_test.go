package naming

import (
	"bufio"
	"fmt"
	"os"
	"testing"
)

// TestNamesBesideReading checks that processes are named while files of another one are read,
// which may take long: a large perf map here.
func TestNamesBesideReading(t *testing.T) {
	_, slow := ownCat(t)
	_, other := ownCat(t)
	path := fmt.Sprintf("/tmp/perf-%d.map", slow)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	w := bufio.NewWriter(f)
	for i := range 500_000 {
		fmt.Fprintf(w, "%x 10 function_%d\n", 0x10_0000_0000+i*16, i)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c := Open(nil, nil, false, nil)
	defer c.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.Process(slow)
	}()
	for opened(t, path) == 0 {
		select {
		case <-read:
			t.Fatal("the perf map was not read")
		default:
		}
	}
	if c.Process(other) == nil {
		t.Error("the other process is not known")
	}
	select {
	case <-read:
		t.Error("the other process was known only when the perf map had been read")
	default:
	}
	<-read
}
