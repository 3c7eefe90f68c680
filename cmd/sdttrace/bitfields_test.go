package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestBitFields reads bit fields that arguments lead to, or that are in registers, and compares and adds them
// up. Values of flags are shown by their names.
func TestBitFields(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gcc")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	for _, flags := range [][]string{{"-g", "-O2"}, {"-gdwarf-5", "-O0"}, {"-gdwarf-4", "-gstrict-dwarf", "-O2"}, {"-gdwarf-3", "-gstrict-dwarf", "-O2"}} {
		path := needs.Compile(t, "testdata/typed/bits.c", append([]string{"gcc"}, flags...)...)
		selector := "uprobe:" + path + ":use"
		for _, test := range []struct {
			words []string
			want  string
		}{
			{[]string{"--limit", "1", "--fields", "args", "--args", "b.id,b.first,b.second,b.third,b.ready,b.state,b.wide,b.far,b.access", selector},
				"b.id=0 b.first=5 b.second=100 b.third=-7 b.ready=1 b.state=GONE b.wide=2199023255551 b.far=-1 b.access=READ|SYNC\n"},
			{[]string{"--fields", "args", "--args", "b.id,b.far", "--where", "b.second > 100 && b.third == -7 && b.far < -2", selector}, "b.id=2 b.far=-3\n"},
			{[]string{"--fields", "args", "--args", "b.second", "--where", `b.state == "GONE" && b.wide == 2199023255550`, selector}, "b.second=101\n"},
			{[]string{"--fields", "args", "--args", "b.second", "--where", `b.access == "READ|SYNC" && b.id == 2`, selector}, "b.second=102\n"},
			{[]string{"--limit", "1", "--fields", "bits.second,bits.far", "--args", "arg0:struct bits*,bits.second,bits.far", selector}, "bits.second=100 bits.far=-1\n"},
		} {
			words := append(append([]string{"print", "-q"}, test.words...), "--", path)
			out, err := exec.Command(sdttrace, words...).Output()
			if got := joined(string(out)); got != test.want || err != nil {
				t.Errorf("%v: %v: %q, error %v, want %q", flags, words, got, err, test.want)
			}
		}
	}
	path := needs.Compile(t, "testdata/typed/bits.c", "gcc", "-g", "-O2")
	out, err := exec.Command(sdttrace, "-q", "--limit", "2", "--fields", "args", "--args", "s.low,s.high,s.rest", "uprobe:"+path+":use", "--", path).Output()
	if want := "s.low=9 s.high=-2048 s.rest=65535\ns.low=9 s.high=-2047 s.rest=65535\n"; joined(string(out)) != want || err != nil {
		t.Errorf("in registers: %q, error %v, want %q", out, err, want)
	}
}
