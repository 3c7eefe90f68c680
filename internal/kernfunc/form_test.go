package kernfunc

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/reader"
)

// TestForm checks that programs read the same at functions of one form, in every kind of probe: functions of a
// sample, and those of the running kernel.
func TestForm(t *testing.T) {
	data := map[string][]byte{"sample": sample(t)}
	if b, err := os.ReadFile("/sys/kernel/btf/vmlinux"); err == nil { // not all kernels have types
		data["running"] = b
	}
	for name, b := range data {
		types, err := readTypes(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		table := &Table{types: &typeFiles{read: map[string]typeFile{Kernel: {types: types}}}}
		first := map[string]*reader.KernelTypes{}
		lacking, n := 0, 0
		for function, id := range types.functions {
			if n++; n > 5000 {
				break
			}
			for _, kind := range []reader.ProbeKind{reader.Kprobe, reader.Kretprobe, reader.Fentry, reader.Fexit} {
				p := table.Probe(&Function{Name: function, Module: Kernel, Copies: 1}, kind, function)
				form := p.Kernel.Form()
				if form == "" {
					if id != 0 && p.Kernel.Types().Err == nil {
						t.Errorf("%s has no form", function)
					}
					lacking++
					continue
				}
				form = fmt.Sprint(kind, form)
				if first[form] == nil {
					first[form] = p.Kernel.Types()
				} else if diff := cmp.Diff(shownOf(first[form]), shownOf(p.Kernel.Types())); diff != "" {
					t.Fatalf("%s of %s, form %q (-first +other):\n%s", function, name, form, diff)
				}
			}
		}
		t.Logf("%s: %d forms in four kinds", name, len(first))
		if len(first) == 0 || lacking > 2*n {
			t.Errorf("%s: %d forms, %d of %d functions lack one in some kind", name, len(first), lacking, n)
		}
	}
	if form := (&Table{}).formAt(&Function{Name: "vfs_read", Module: Kernel}, reader.Kprobe); form != "" {
		t.Errorf("without types the form is %q", form)
	}
}

// register matches an argument in a register, and its size.
var register = regexp.MustCompile(`-?[1248]@(%r[a-z0-9]+|x[0-9]+)( |$)`)

// shownOf returns what decides what programs read of a function.
func shownOf(k *reader.KernelTypes) (out []string) {
	out = append(out, register.ReplaceAllString(k.Args, "$1$2"), fmt.Sprint(k.Err))
	for i := range k.Params {
		a := &k.Params[i]
		out = append(out, fmt.Sprint(a.Err != nil))
	}
	return out
}
