package attach_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestI386 reads the forms of arguments that only 32-bit programs have, as gcc
// writes them.
func TestI386(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := filepath.Join(t.TempDir(), "i386")
	flags := append(needs.I386[1:], "-fPIE", "-no-pie", "-o", path, "testdata/i386.c")
	if msg, err := exec.Command("gcc", flags...).CombinedOutput(); err != nil {
		needs.Skip(t, "needs gcc and sys/sdt.h: %v: %s", err, msg)
	}
	forms := map[string]bool{}
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Arguments() {
			forms["pair"] = forms["pair"] || a.Pair != ""
			forms["GOTOFF"] = forms["GOTOFF"] || a.Reloc == "GOTOFF"
			forms["index"] = forms["index"] || a.Index != "" && a.Reloc == "GOTOFF"
		}
	}
	if d := cmp.Diff(map[string]bool{"pair": true, "GOTOFF": true, "index": true}, forms); d != "" {
		t.Errorf("forms that this gcc writes (-want +got):\n%s", d)
	}
	needs.Runs32Bit(t, path)
	p := start(t, exec.Command(path))
	s := open(t, path+":wide:*", &attach.Options{Strings: []string{"wide:table:arg2"}})
	p.Do("")
	got := map[string][]arg{}
	for _, ev := range drain(t, s) {
		got[ev.Name] = argsOf(ev)
	}
	want := map[string][]arg{
		"pairs": number(int64(-64000000000), uint64(0xfedcba9876543210)),
		"table": number(int64(-4), int64(-2), "text"),
		"wrap":  number(uint64(4242), uint64(4242), int64(-3)),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}
