package attach_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/bare"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

var corpusShare = flag.Int("corpus", 800, "execute one of `N` instructions of the corpus; all with 1")

// corpusBatch is how many instructions one program has.
const corpusBatch = 4096

// TestCorpus executes every form of instructions with and without a probe at it, and
// compares all registers, memory and signals. What differs must be refused.
func TestCorpus(t *testing.T) {
	total, refused, differ, share := 0, 0, 0, share()
	for forms := range executable(t, share) {
		r := compare(t, forms, false)
		total, refused = total+len(forms), refused+r.refused
		for _, d := range r.differ {
			t.Errorf("%s", d)
		}
		if differ += len(r.differ); differ > 1000 {
			break
		}
	}
	t.Logf("%d forms that the processor knows, %d refused", total, refused)
	if total*share < 200_000 && !testing.Short() || total < 500 {
		t.Errorf("only %d forms were executed, one in %d", total, share)
	}
}

// TestCorpusRefused attaches to refused instructions by force, and checks that the
// corpus finds what they do wrong: for each reason, an instruction that differs.
func TestCorpusRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("short: executes thousands of instructions that differ")
	}
	wrong, right := map[string]int{}, map[string]int{}
	for forms := range executable(t, share()) {
		r := compare(t, forms, true)
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
}

// share returns what the processor and the kernel have time for: one in so many forms.
func share() int {
	share := *corpusShare
	if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
		share *= 20
	}
	return share
}

// executable yields the instructions of one in share of the corpus that this processor
// knows, in batches. Each opcode is in the share with some of its operands.
func executable(t *testing.T, share int) func(func([]form) bool) {
	return func(yield func([]form) bool) {
		if testing.Short() { // emulated machines take a minute to go through the whole corpus
			for seed := range uint64(16) {
				if !yield(executed(t, randomForms(seed))) {
					return
				}
			}
			return
		}
		var all, known []form
		stopped := false
		try := func() {
			known = append(known, executed(t, all)...)
			all = all[:0]
			for len(known) >= corpusBatch && !stopped {
				stopped = !yield(known[:corpusBatch:corpusBatch])
				known = slices.Clone(known[corpusBatch:])
			}
		}
		corpus(func(f form) bool {
			if int(f.hash()%uint32(share)) == 0 && !f.excluded() {
				all = append(all, f)
			}
			if len(all) == corpusBatch {
				try()
			}
			return !stopped
		})
		if !stopped {
			try()
		}
		if !stopped && len(known) > 0 {
			yield(known)
		}
	}
}

// excluded reports whether the instruction must not be executed: it would wait, or call
// the hypervisor.
func (f form) excluded() bool {
	rest := f.code[f.opcode:]
	if f.opcode < 1 || f.code[f.opcode-1] != 0x0f || len(rest) < 2 {
		return false
	}
	switch rest[0] {
	case 0x01:
		return rest[1] == 0xc1 || rest[1] == 0xd9 || rest[1] >= 0xf8
	case 0xae:
		return rest[1] >= 0xf0 && rest[1] <= 0xf7
	}
	return false
}

// executed returns the forms that are instructions of this processor.
func executed(t *testing.T, forms []form) (out []form) {
	m := newCorpusMachine(t, forms)
	defer m.Close()
	var end bare.State
	for i, f := range forms {
		m.run(t, i, f, &end)
		if end.Signal != unix.SIGILL || f.hash()/4096%512 == 0 {
			out = append(out, f)
		}
	}
	return out
}

// outcome is what a comparison has found.
type outcome struct {
	refused      int
	differ       []string
	wrong, right map[string]int // by the reason for which instructions were to be refused
}

// compare executes forms with and without probes; with force, also the refused forms.
func compare(t *testing.T, forms []form, force bool) (r outcome) {
	r.wrong, r.right = map[string]int{}, map[string]int{}
	m := newCorpusMachine(t, forms)
	defer m.Close()
	without := make([]bare.State, len(forms))
	var again bare.State
	random := make([]bool, len(forms)) // what two executions do not agree on
	for i, f := range forms {
		m.run(t, i, f, &without[i])
		m.run(t, i, f, &again)
		random[i] = m.difference(&without[i], &again) != ""
	}
	opts := &attach.Options{Force: force}
	a, err := attach.OpenAggregate(t.Context(), []string{"uprobe:" + m.path + ":piece_*"}, attach.Count().By("probe").MaxGroups(2*corpusBatch), opts)
	if errors.Is(err, attach.ErrNoSite) {
		r.refused = len(forms)
		return r
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	sites := map[string]*attach.Site{}
	plan := a.Plan()
	for i := range plan {
		s := &plan[i]
		sites[s.Probe.Name] = s
	}
	attached := map[string]int{}
	what := make([]string, len(forms))
	for i, f := range forms {
		s := sites[bare.Name(i)]
		forced := s != nil && slices.ContainsFunc(s.Notes, func(n string) bool { return strings.HasPrefix(n, "forced: ") })
		switch {
		case s == nil:
			t.Fatalf("% x is not in the plan", f.code)
		case !s.Attached:
			r.refused++
			continue
		case force && !forced:
			continue
		}
		attached[s.Probe.Name] = i
		m.run(t, i, f, &again)
		if !random[i] {
			what[i] = m.difference(&without[i], &again)
		}
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	hits := map[string]uint64{}
	for _, g := range groups {
		_, name, _ := strings.Cut(fmt.Sprint(g.By[0].Value), ":")
		_, name, _ = strings.Cut(name, ":")
		hits[name] += g.Count
	}
	for name, i := range attached {
		if n := hits[name]; n != 1 && what[i] == "" {
			what[i] = fmt.Sprintf("%d events, want one", n)
		}
		if force {
			n := sites[name].Notes
			why := n[len(n)-1]
			if what[i] != "" {
				r.wrong[why]++
			} else {
				r.right[why]++
			}
		} else if what[i] != "" {
			r.differ = append(r.differ, fmt.Sprintf("% x: %s", forms[i].at(i), what[i]))
		}
	}
	slices.Sort(r.differ)
	return r
}

// corpusMachine executes a batch of forms.
type corpusMachine struct {
	*bare.Process
	path   string
	vector []byte
	data   []byte
}

func newCorpusMachine(t *testing.T, forms []form) *corpusMachine {
	t.Helper()
	pieces := make([][]byte, len(forms))
	for i, f := range forms {
		pieces[i] = f.at(i)
	}
	m := &corpusMachine{path: filepath.Join(t.TempDir(), "corpus")}
	if err := os.WriteFile(m.path, bare.Program(pieces), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.Process, err = bare.Start(m.path); err != nil {
		needs.Skip(t, "needs ptrace: %v", err)
	}
	m.vector = m.extended()
	m.data = make([]byte, bare.DataSize)
	for i := range uint64(bare.DataSize / 8) {
		binary.LittleEndian.PutUint64(m.data[8*i:], bare.CodeAt+i) // breakpoints
	}
	return m
}

// extended returns an extended state without two equal registers: small integers in the
// even vector registers, numbers in the odd ones and those of the x87.
func (m *corpusMachine) extended() []byte {
	const legacySSE, header = 160, 512
	v := bytes.Clone(m.Vector)
	for i := range 8 {
		copy(v[32+16*i:], []byte{0, 0, 0, 0, 0, 0, 0, 0xc0 | byte(i), byte(i), 0x40}) // 1.5 and more
	}
	v[4] = 0xff // all of them valid
	fill := func(part []byte, seed int) {
		for i := 0; i+4 <= len(part); i += 4 {
			n := uint32(seed + i/4)
			if i/16%2 == 1 {
				n = 0x3f800000 + n<<12
			}
			binary.LittleEndian.PutUint32(part[i:], n)
		}
	}
	fill(v[legacySSE:legacySSE+256], 1)
	if len(v) <= header {
		return v
	}
	features := binary.LittleEndian.Uint64(v[464:]) // XCR0
	binary.LittleEndian.PutUint64(v[header:], features&0xe7|3)
	if features&4 != 0 && len(v) >= 832 {
		fill(v[576:832], 100) // upper halves of ymm
	}
	return v
}

// run executes form i from the same state each time.
func (m *corpusMachine) run(t *testing.T, i int, f form, end *bare.State) {
	begin := bare.State{Vector: m.vector, Data: m.data, Regs: m.Registers()}
	r, h := &begin.Regs, f.hash()
	at := func(n uint64) uint64 { return bare.DataAt + n }
	r.Rax, r.Rcx, r.Rdx = 0x4711, 5, 0
	if h>>8&1 != 0 {
		r.Rax, r.Rcx, r.Rdx = at(0x100), 0x11223344, at(0x180)
	}
	r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp = at(0x200), at(0x280), at(0x300), at(0x380), at(0x1000)
	r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15 = at(0x400), at(0x480), at(0x500), at(0x580), at(0x600), at(0x680), at(0x700), at(0x780)
	r.Eflags = []uint64{0x202, 0x247, 0x283, 0xa06}[h>>9&3] // none; carry, zero, parity; sign, carry; overflow, parity
	r.Rip, r.Orig_rax, r.Fs_base, r.Gs_base = bare.At(i), ^uint64(0), 0x40, 0x80
	if err := m.Run(&begin, end); err != nil {
		t.Fatalf("% x: %v", f.at(i), err)
	}
}

// difference says how two executions differ, "" if they do not.
func (m *corpusMachine) difference(want, got *bare.State) string {
	a, b := want.Regs, got.Regs
	for _, r := range []*unix.PtraceRegs{&a, &b} {
		const resume = 1 << 16
		r.Orig_rax, r.Eflags = 0, r.Eflags&^resume
	}
	switch {
	case want.Signal != got.Signal || want.Code != got.Code:
		return fmt.Sprintf("%v (code %d) at %#x, want %v (code %d) at %#x", got.Signal, got.Code, b.Rip, want.Signal, want.Code, a.Rip)
	case want.Fault != got.Fault:
		return fmt.Sprintf("%v at address %#x, want %#x", got.Signal, got.Fault, want.Fault)
	case a != b:
		return fmt.Sprintf("registers are %+v, want %+v", b, a)
	case !bytes.Equal(want.Data, got.Data):
		return "memory differs"
	}
	// The place of the last x87 instruction, and which parts are in use, are not state
	// that programs compute with.
	left, right := bytes.Clone(want.Vector), bytes.Clone(got.Vector)
	for _, v := range [][]byte{left, right} {
		clear(v[6:24])
		clear(v[464:min(520, len(v))])
	}
	if !bytes.Equal(left, right) {
		return "the extended state differs"
	}
	return ""
}
