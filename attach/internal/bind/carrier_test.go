package bind

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestCarriers checks the carriers by which starts and ends are matched, in plans
// of one start and one end.
func TestCarriers(t *testing.T) {
	usdt := func(name string, pid int, flags notes.TypeFlags) site.Site {
		return site.Site{Report: site.Report{PID: pid, Probe: reader.Probe{
			Note: notes.Note{Provider: "carrier", Name: name}, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64,
			Type: &reader.Type{Record: notes.TypeRecord{Flags: flags}},
		}}}
	}
	function := func(kind reader.ProbeKind, class elf.Class, convention reader.Convention) site.Site {
		return site.Site{Report: site.Report{Probe: reader.Probe{
			Note: notes.Note{Provider: "prog", Name: "f"}, Path: "/prog", Machine: elf.EM_X86_64, Class: class,
			Kind: kind, Target: &reader.Function{Symbols: []string{"f"}, Convention: convention},
		}}}
	}
	const marked = notes.CalledStub | notes.GoroutineRegister
	self := os.Getpid() // a Go program
	memory := usdt("end", 0, 0)
	memory.Probe.OpenPath = fmt.Sprintf("/proc/%d/map_files/1000-2000", self)
	for _, test := range []struct {
		what       string
		start, end site.Site
		want       site.Carrier // noCarrier if it is refused
	}{
		{"two stubs that say it", usdt("start", self, marked), usdt("end", self, marked), site.ByGoroutine},
		{"a stub that does not", usdt("start", self, notes.CalledStub), usdt("end", self, notes.CalledStub), site.NoCarrier},
		{"C", usdt("start", 0, 0), usdt("end", 0, 0), site.ByThread},
		{"Go and C", usdt("start", 0, marked), usdt("end", 0, 0), site.NoCarrier},
		{"a memory file of a Go program", usdt("start", 0, 0), memory, site.NoCarrier},
		{"a call", function(reader.Uprobe, elf.ELFCLASS64, reader.CConvention), function(reader.Uretprobe, elf.ELFCLASS64, reader.CConvention), site.ByFrame},
		{"a call whose callee may move the stack pointer", function(reader.Uprobe, elf.ELFCLASS32, reader.CConvention), function(reader.Uretprobe, elf.ELFCLASS32, reader.CConvention), site.ByThread},
		{"a Go function", function(reader.Uprobe, elf.ELFCLASS64, reader.GoRegisters), function(reader.Uretprobe, elf.ELFCLASS64, reader.GoRegisters), site.ByFrame},
		{"a Go function and a stub", function(reader.Uprobe, elf.ELFCLASS64, reader.GoRegisters), usdt("end", self, marked), site.ByGoroutine},
		{"a Go function in assembly", function(reader.Uprobe, elf.ELFCLASS64, reader.GoStack), function(reader.Uretprobe, elf.ELFCLASS64, reader.GoStack), site.NoCarrier},
		{"the entry of a function, and a probe", function(reader.Uprobe, elf.ELFCLASS64, reader.CConvention), usdt("end", 0, 0), site.ByThread},
	} {
		l := &PairLayout{}
		for s, sel := range map[*site.Site]*selector.Selector{&test.start: &l.Start, &test.end: &l.End} {
			var err error
			if *sel, err = selector.Parse(site.Name(&s.Probe)); err != nil {
				t.Fatal(err)
			}
		}
		plan := site.Plan{test.start, test.end}
		l.carry(plan)
		for i := range plan {
			s := &plan[i]
			switch {
			case test.want == site.NoCarrier && i == 1 && (!errors.Is(s.Reason, query.ErrAggregation) || !strings.Contains(s.Reason.Error(), "--key")):
				t.Errorf("%s: %v, want an error that names --key", test.what, s.Reason)
			case test.want != site.NoCarrier && (s.Reason != nil || s.Carrier != test.want):
				t.Errorf("%s: by %v (error %v), want %v", test.what, s.Carrier, s.Reason, test.want)
			}
		}
	}
}
