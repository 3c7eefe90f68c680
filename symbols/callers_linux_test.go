package symbols_test

import (
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/symbols"
)

//go:noinline
func framed() uintptr {
	var room [64]byte
	pc, _, _, _ := runtime.Caller(0)
	room[pc%64]++
	return pc
}

// TestCallersOfGo checks where a function of Go has its return address: at its entry, and in
// its frame, which frame pointers lead to.
func TestCallersOfGo(t *testing.T) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := symbols.NewCallers(f)
	if err != nil {
		t.Fatal(err)
	}
	entry, link := reflect.ValueOf(framed).Pointer(), runtime.GOARCH == "arm64"
	if at, ok := c.At(uint64(entry)); at != (symbols.Caller{Link: link}) || !ok {
		t.Errorf("at the entry: %+v, %v", at, ok)
	}
	at, ok := c.At(uint64(framed()))
	if !ok || !at.Saves || link && at.SaveAt != -8 || !link && (at.At < 64 || at.SaveAt != at.At-8) {
		t.Errorf("in a frame: %+v, %v", at, ok)
	}
	if at, ok := c.At(1); ok {
		t.Errorf("where no code is: %+v", at)
	}
}
