package attach_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/internal/systest/bare"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

var (
	corpusShare = flag.Int("corpus", 800, "execute one of `N` instructions of the corpus; all with 1")
	corpusPart  = flag.Uint("corpus-part", 0, "which of these `N`, from 0 on: all of it in parts")
)

// corpusBatch is how many instructions one program has.
const corpusBatch = 1 << 15

// instructionSet is a kind of machine with its corpus.
type instructionSet struct {
	machine *bare.Machine
	forms   func(share int, yield func(form) bool) // one of so many instructions, in all encodings
	random  func(seed uint64) []form
	begin   func(p *bare.Process) // the states to begin with
}

// form is an instruction of the corpus.
type form struct {
	code     []byte
	operand  int  // where a displacement is in code, 0 if there is none
	absolute bool // whether it is an address instead
	hash     uint32
	decoded  string // by what the kernel's decoder knows a vector instruction, "" for others
}

// TestCorpus executes instructions with and without a probe at each, and compares all
// registers, memory and signals. An instruction that makes a difference must be
// refused.
func TestCorpus(t *testing.T) {
	for _, set := range instructionSets {
		t.Run(set.machine.Name, func(t *testing.T) {
			driver := set.driver(t)
			total, refused, differ := 0, 0, 0
			for forms := range set.executable(t, driver) {
				r := set.compare(t, driver, forms, false)
				total, refused = total+len(forms), refused+r.refused
				for _, d := range r.differ {
					t.Errorf("%s", d)
				}
				if differ += len(r.differ); differ > 1000 {
					break
				}
			}
			t.Logf("%d forms that the processor knows, %d refused", total, refused)
			if total-refused < 150 {
				t.Errorf("only %d forms were executed with a probe", total-refused)
			}
		})
	}
}

// TestCorpusRefused attaches to refused instructions by force, and checks that the
// corpus finds what they do wrong: for each reason, an instruction that differs.
func TestCorpusRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("short: executes thousands of instructions that differ")
	}
	for _, set := range instructionSets {
		t.Run(set.machine.Name, func(t *testing.T) {
			driver := set.driver(t)
			wrong, right := map[string]int{}, map[string]int{}
			for forms := range set.executable(t, driver) {
				r := set.compare(t, driver, forms, true)
				for why, n := range r.wrong {
					wrong[why] += n
				}
				for why, n := range r.right {
					right[why] += n
				}
				break
			}
			for why, n := range wrong {
				t.Logf("%d wrong, %d right: %s", n, right[why], why)
			}
			for why, n := range right {
				if wrong[why] == 0 {
					t.Logf("0 wrong, %d right: %s", n, why)
				}
			}
			if len(wrong) < 5 {
				t.Errorf("instructions were executed wrongly for %d reasons: want those of jumps, calls, nops, returns and pushf", len(wrong))
			}
		})
	}
}

// driver returns the program that executes the instructions.
func (set *instructionSet) driver(t testing.TB) string {
	needs.Root(t)
	return needs.Compile(t, "./testdata/corpus.c", set.machine.Driver...)
}

// executable yields the instructions of one in share of the corpus that this processor
// knows, in batches. Each opcode is in the share with some of its operands.
func (set *instructionSet) executable(t *testing.T, driver string) func(func([]form) bool) {
	return func(yield func([]form) bool) {
		var known []form
		flush := func(least int) bool {
			for len(known) > 0 && len(known) >= least {
				n := min(len(known), corpusBatch)
				if !yield(known[:n:n]) {
					return false
				}
				known = slices.Clone(known[n:])
			}
			return true
		}
		if testing.Short() { // on an emulated machine
			left := 2048
			if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
				left = 768 // perf events are slow to close
			}
			for seed := uint64(0); left > 0; seed++ {
				forms := set.random(seed)
				left -= len(forms)
				known = append(known, set.executed(t, driver, forms)...)
			}
			flush(0)
			return
		}
		var all []form
		stopped := false
		try := func() {
			known = append(known, set.executed(t, driver, all)...)
			all = all[:0]
			stopped = !flush(corpusBatch)
		}
		set.forms(*corpusShare, func(f form) bool {
			if all = append(all, f); len(all) == corpusBatch {
				try()
			}
			return !stopped
		})
		if !stopped && len(all) > 0 {
			try()
		}
		if !stopped {
			flush(0)
		}
	}
}

// executed returns the forms that are instructions of this processor, and some others.
func (set *instructionSet) executed(t *testing.T, driver string, forms []form) (out []form) {
	m := set.start(t, driver, forms)
	defer m.close()
	m.run(t)
	for i, f := range forms {
		if m.Results[i].Signal != uint32(unix.SIGILL) || f.hash/4096%512 == 0 {
			out = append(out, f)
		}
	}
	return out
}

// attachable returns the forms that the kernel's decoder knows. Where it does not know one
// among thousands, it takes the library dozens of attempts to find out which.
func attachable(forms []form) (out []form) {
	ask := map[string][]byte{}
	for _, f := range forms {
		if _, ok := kernelKnows.Load(f.decoded); !ok && f.decoded != "" {
			ask[f.decoded] = f.code
		}
	}
	var eg errgroup.Group
	eg.SetLimit(64) // each waits for the kernel
	for key, code := range ask {
		eg.Go(func() error {
			kernelKnows.Store(key, !link.Refuses(code))
			return nil
		})
	}
	_ = eg.Wait() // there are no errors
	for _, f := range forms {
		if knows, ok := kernelKnows.Load(f.decoded); !ok || knows.(bool) {
			out = append(out, f)
		}
	}
	return out
}

// kernelKnows has the answers for each form.decoded.
var kernelKnows sync.Map

// outcome is what a comparison has found.
type outcome struct {
	refused      int
	differ       []string
	wrong, right map[string]int // by the reason for which instructions were to be refused
}

// compare executes forms with and without probes; with force, also the refused forms.
func (set *instructionSet) compare(t *testing.T, driver string, forms []form, force bool) (r outcome) {
	r.wrong, r.right = map[string]int{}, map[string]int{}
	r.refused = len(forms)
	forms = attachable(forms)
	r.refused -= len(forms)
	m := set.start(t, driver, forms)
	defer m.close()
	without := m.run(t)
	again := m.run(t)
	a, err := attach.OpenAggregate(t.Context(), []string{"uprobe:" + m.path + ":piece_*"},
		attach.Count().By("probe").MaxGroups(8*corpusBatch), &attach.Options{Force: force})
	if errors.Is(err, attach.ErrNoSite) {
		r.refused += len(forms)
		return r
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	sites := map[string]*attach.Site{}
	plan := a.Plan()
	for i := range plan {
		sites[plan[i].Probe.Name] = &plan[i]
	}
	with := m.run(t)
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	hits := map[string]uint64{}
	for _, g := range groups {
		name := fmt.Sprint(g.By[0].Value)
		hits[name[strings.LastIndex(name, ":")+1:]] += g.Count
	}
	var repeated []bare.Result
	ends := map[int]bare.State{} // of what differs
	for i, f := range forms {
		s := sites[bare.Name(i)]
		if s == nil {
			t.Fatalf("% x is not in the plan", f.code)
		}
		if !s.Attached {
			r.refused++
			continue
		}
		forced := slices.IndexFunc(s.Notes, func(n string) bool { return strings.HasPrefix(n, "forced: ") })
		if force && forced < 0 {
			continue
		}
		random := without[i].Hash != again[i].Hash
		differs := !random && with[i].Hash != without[i].Hash
		if differs {
			// An interrupt may have come between: when it returns, a null selector, as lgs loads, is zero.
			if repeated == nil {
				repeated = m.run(t)
			}
			differs = repeated[i].Hash != without[i].Hash
		}
		differs = differs || hits[s.Probe.Name] != 1
		switch {
		case force && differs:
			r.wrong[s.Notes[forced]]++
		case force:
			r.right[s.Notes[forced]]++
		case differs && len(ends) < 100:
			ends[i] = m.end(t, i)
		}
	}
	if err := errors.Join(a.Close(), a.Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	for i, end := range ends {
		before := m.end(t, i)
		what := set.difference(&before, &end)
		if what == "" {
			what = fmt.Sprintf("%d events, want one", hits[bare.Name(i)])
		}
		r.differ = append(r.differ, fmt.Sprintf("% x: %s", forms[i].at(i), what))
	}
	slices.Sort(r.differ)
	return r
}

// corpusMachine executes a batch of forms.
type corpusMachine struct {
	*bare.Process
	path string
}

func (set *instructionSet) start(t *testing.T, driver string, forms []form) *corpusMachine {
	t.Helper()
	pieces := make([][]byte, len(forms))
	for i, f := range forms {
		pieces[i] = f.at(i)
	}
	m := &corpusMachine{path: filepath.Join(t.TempDir(), "corpus")}
	if err := os.WriteFile(m.path, set.machine.Program(pieces), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.Process, err = bare.Start(driver, m.path, len(forms)); err != nil {
		t.Fatal(err)
	}
	for i, f := range forms {
		m.Results[i].Variant = f.hash >> 8 % bare.Variants
	}
	set.begin(m.Process)
	return m
}

// close ends the program and frees its file's memory.
func (m *corpusMachine) close() {
	m.Close()
	os.Remove(m.path)
}

// run executes all forms.
func (m *corpusMachine) run(t *testing.T) []bare.Result {
	t.Helper()
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(m.Results)
}

// end executes form i and returns its end.
func (m *corpusMachine) end(t *testing.T, i int) bare.State {
	t.Helper()
	s, err := m.State(i)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// difference says how two executions differ, "" if they do not.
func (set *instructionSet) difference(want, got *bare.State) string {
	if want.Signal != got.Signal || want.Code != got.Code || want.Fault != got.Fault {
		return fmt.Sprintf("signal %d (code %d) at address %#x, want %d (code %d) at %#x", got.Signal, got.Code, got.Fault, want.Signal, want.Code, want.Fault)
	}
	var text []string
	for i, name := range set.machine.Registers {
		if got.Regs[i] != want.Regs[i] {
			text = append(text, fmt.Sprintf("%s is %#x, want %#x", name, got.Regs[i], want.Regs[i]))
		}
	}
	for name, b := range map[string][2][]byte{"memory": {got.Data, want.Data}, "the extended state": {got.Vector, want.Vector}} {
		for i := range b[0] {
			if b[0][i] != b[1][i] {
				text = append(text, fmt.Sprintf("%s at %#x is %#x, want %#x", name, i, b[0][i], b[1][i]))
				break
			}
		}
	}
	slices.Sort(text)
	return strings.Join(text, ", ")
}
