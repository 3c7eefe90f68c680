package attach_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/total"
)

// integer is a type of C.
type integer struct {
	bits   uint
	signed bool
}

func (n integer) String() string {
	return fmt.Sprintf("%sint%d_t", map[bool]string{false: "u"}[n.signed], n.bits)
}

func (n integer) least() *big.Int {
	if !n.signed {
		return new(big.Int)
	}
	return new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), n.bits-1))
}

func (n integer) greatest() *big.Int {
	return new(big.Int).Sub(new(big.Int).Add(n.least(), new(big.Int).Lsh(big.NewInt(1), n.bits)), big.NewInt(1))
}

func (n integer) has(v *big.Int) bool { return v.Cmp(n.least()) >= 0 && v.Cmp(n.greatest()) <= 0 }

// values are those at the bounds of the type, and of others.
func (n integer) values() (all []*big.Int) {
	last := new(big.Int).Sub(n.least(), big.NewInt(1))
	for _, v := range []*big.Int{n.least(), big.NewInt(-1), big.NewInt(0), big.NewInt(1), big.NewInt(100), new(big.Int).Rsh(n.greatest(), 1), new(big.Int).Add(new(big.Int).Rsh(n.greatest(), 1), big.NewInt(1)), n.greatest()} {
		if n.has(v) && v.Cmp(last) > 0 {
			all, last = append(all, v), v
		}
	}
	return all
}

// mixture is a probe whose sites have arguments of two types, as variables in registers and in
// memory and as constants.
type mixture [2]integer

func mixtures() (all []mixture) {
	var types []integer
	for bits := uint(8); bits <= 64; bits *= 2 {
		types = append(types, integer{bits, true}, integer{bits, false})
	}
	for i, n := range types {
		for _, other := range types[i:] {
			all = append(all, mixture{n, other})
		}
	}
	return all
}

func (m mixture) name() string { return m[0].String() + "_" + m[1].String() }

func (m mixture) signed() bool { return m[0].signed || m[1].signed }

// fired are the values that the program fires: each in a register, in memory and as a constant.
func (m mixture) fired() (all []*big.Int) {
	for _, n := range m.types() {
		for _, v := range n.values() {
			all = append(all, v, v, v)
		}
	}
	return all
}

func (m mixture) types() []integer {
	if m[0] == m[1] {
		return m[:1]
	}
	return m[:]
}

// source writes the program's code for the probe.
func (m mixture) source(b *strings.Builder) {
	name, constants := m.name(), 0
	var calls strings.Builder
	for _, n := range m.types() {
		for _, form := range []string{"r", "m"} {
			fmt.Fprintf(b, "#undef STAP_SDT_ARG_CONSTRAINT\n#define STAP_SDT_ARG_CONSTRAINT %s\n", form)
			fmt.Fprintf(b, "static void __attribute__((noipa)) %s_%s_%s(%s x) { DTRACE_PROBE1(integers, %s, x); }\n", name, n, form, n, name)
		}
		fmt.Fprintf(b, "#undef STAP_SDT_ARG_CONSTRAINT\n#define STAP_SDT_ARG_CONSTRAINT r\n")
		fmt.Fprintf(b, "static void __attribute__((noipa)) %s_%s_end(%s x) { DTRACE_PROBE1(integers, %s_end, x); DTRACE_PROBE(integers, done); }\n", name, n, n, name)
	}
	fmt.Fprintf(b, "#undef STAP_SDT_ARG_CONSTRAINT\n#define STAP_SDT_ARG_CONSTRAINT n\n")
	for i, n := range m.types() {
		for _, v := range n.values() {
			end := m.types()[len(m.types())-1-i] // the other type, if it has the value
			if !end.has(v) {
				end = n
			}
			literal := fmt.Sprintf("(%s)%s", n, v)
			switch {
			case n.bits == 64 && !n.signed:
				literal += "u"
			case v.Cmp(integer{64, true}.least()) == 0:
				literal = "INT64_MIN"
			}
			fmt.Fprintf(b, "static void __attribute__((noipa)) %s_%d(void) { DTRACE_PROBE1(integers, %s, %s); }\n", name, constants, name, literal)
			for _, start := range []string{fmt.Sprintf("%s_%s_r(%s)", name, n, literal), fmt.Sprintf("%s_%s_m(%s)", name, n, literal), fmt.Sprintf("%s_%d()", name, constants)} {
				fmt.Fprintf(&calls, "\t%s; %s_%s_end((%s)%s);\n", start, name, end, end, literal)
			}
			constants++
		}
	}
	fmt.Fprintf(b, "static void %s(void) {\n%s}\n", name, &calls)
}

// integersProgram compiles a program that fires the probe whose name it reads.
func integersProgram(t *testing.T, all []mixture) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include <sys/sdt.h>\n")
	for _, m := range all {
		m.source(&b)
	}
	b.WriteString("int main(void) {\n\tchar line[64];\n\twhile (fgets(line, sizeof line, stdin)) {\n")
	for _, m := range all {
		fmt.Fprintf(&b, "\t\tif (!strcmp(line, \"%s\\n\")) %s();\n", m.name(), m.name())
	}
	b.WriteString("\t\tputs(\"done\");\n\t\tfflush(stdout);\n\t}\n\treturn 0;\n}\n")
	source := filepath.Join(t.TempDir(), "integers.c")
	if err := os.WriteFile(source, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return needs.Compile(t, source, "gcc", "-O1")
}

// TestIntegers has one probe's argument be of two types at its sites, of every size and sign,
// and compares what is computed of it with what the program fired.
func TestIntegers(t *testing.T) {
	all := mixtures()
	if testing.Short() {
		all = []mixture{{{32, true}, {32, false}}, {{64, true}, {64, false}}, {{8, true}, {64, false}}, {{16, false}, {64, false}}}
	}
	p := start(t, exec.Command(integersProgram(t, all)))
	live := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
	for i, m := range all {
		fire := func() { p.Do("%s", m.name()) }
		if i%3 > 0 && !testing.Short() { // programs and Go are compared in a third
			m.check(t, live, fire)
			continue
		}
		eachWay(t, func(t *testing.T) { m.check(t, live, fire) })
		file := startRecord(t, []string{"integers:*"}, &live)
		fire()
		t.Run("replay", func(t *testing.T) { m.check(t, *file.end(t), nil) })
	}
}

// check opens aggregates and latencies, and compares what they have after fire with what was
// fired. fire is nil for recordings.
func (m mixture) check(t *testing.T, opts attach.Options, fire func()) {
	begin, end := "integers:"+m.name(), "integers:"+m.name()+"_end"
	open := func(what attach.Aggregation, where string) *attach.Aggregate {
		opts := opts
		opts.Where = where
		return openAggregate(t, []string{begin}, what, &opts)
	}
	latency := func(end string, what attach.LatencyOptions) *attach.Latency {
		l, err := latencyBy(t, context.Background(), begin, end, &what, &opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	values := open(attach.Hist("arg0").And(attach.Sum("arg0"), attach.Min("arg0"), attach.Max("arg0")), "")
	by := open(attach.Count().By("arg0"), "")
	computed := open(attach.Count().By("arg0/3"), "")
	wheres := map[string]func(v *big.Int) bool{
		"arg0 < 0 || arg0 == 100":                   func(v *big.Int) bool { return v.Sign() < 0 || v.Cmp(big.NewInt(100)) == 0 },
		"arg0 > 127 && arg0 != 9223372036854775808": func(v *big.Int) bool { return v.Cmp(big.NewInt(127)) > 0 && v.String() != "9223372036854775808" },
		"arg0 >= 9223372036854775808 || arg0/2 == -64": func(v *big.Int) bool {
			return v.BitLen() > 63 && v.Sign() > 0 || new(big.Int).Quo(v, big.NewInt(2)).Cmp(big.NewInt(-64)) == 0
		},
	}
	filtered := map[string]*attach.Aggregate{}
	for where := range wheres {
		filtered[where] = open(attach.Count(), where)
	}
	keyed := latency(end, attach.LatencyOptions{Key: []string{"arg0"}, By: []string{"arg0"}})
	kept := latency("integers:done", attach.LatencyOptions{Key: []string{"tid"}, By: []string{"arg0"}})
	if fire != nil {
		fire()
		var stopping sync.WaitGroup // the kernel takes its time for each
		for _, a := range append(slices.Collect(maps.Values(filtered)), values, by, computed) {
			stopping.Go(func() { a.Stop() })
		}
		stopping.Go(func() { keyed.Stop() })
		stopping.Go(func() { kept.Stop() })
		stopping.Wait()
	}
	m.checkValues(t, values)
	counts, thirds := map[string]uint64{}, map[string]uint64{}
	for _, v := range m.fired() {
		counts[v.String()]++
		thirds[new(big.Int).Quo(v, big.NewInt(3)).String()]++
	}
	m.checkGroups(t, "by the argument", by, counts)
	m.checkGroups(t, "by a third of the argument", computed, thirds)
	m.checkGroups(t, "pairs by the argument", keyed, counts)
	m.checkGroups(t, "pairs by the argument of the start", kept, counts)
	for where, holds := range wheres {
		want := map[string]uint64{}
		for _, v := range m.fired() {
			if holds(v) {
				want[""]++
			}
		}
		m.checkGroups(t, where, filtered[where], want)
	}
}

// totals are an Aggregate or a Latency.
type totals interface {
	Stop() error
	Done() <-chan struct{}
	Via() attach.Via
	Read() ([]total.Group, error)
	Stats() (attach.Stats, error)
}

// read returns all groups.
func (m mixture) read(t *testing.T, a totals) []total.Group {
	t.Helper()
	if a.Via() == attach.ViaRecording {
		<-a.Done()
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func (m mixture) checkGroups(t *testing.T, what string, a totals, want map[string]uint64) {
	t.Helper()
	got := map[string]uint64{}
	for _, g := range m.read(t, a) {
		key := ""
		if len(g.By) > 0 {
			if key = fmt.Sprint(g.By[0].Value); g.By[0].Err != nil {
				key = g.By[0].Err.Error()
			}
		}
		got[key] += g.Count
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s, %s (-want +got):\n%s", m.name(), what, d)
	}
	if st := checkSum(t, a); st.Lost != 0 || st.Missed != 0 {
		t.Errorf("%s, %s: %+v", m.name(), what, st)
	}
}

// checkValues compares sums: signed ones lack what only an unsigned number of 64 bits can be.
func (m mixture) checkValues(t *testing.T, a *attach.Aggregate) {
	t.Helper()
	most := integer{64, m.signed()}
	var want []*big.Int
	sum, lost := new(big.Int), uint64(0)
	for _, v := range m.fired() {
		if !most.has(v) {
			lost++
			continue
		}
		want = append(want, v)
		sum.Add(sum, v)
	}
	least, greatest := want[0], want[0]
	buckets := map[string]uint64{}
	for _, v := range want {
		if v.Cmp(least) < 0 {
			least = v
		}
		if v.Cmp(greatest) > 0 {
			greatest = v
		}
		bound := new(big.Int)
		switch v.Sign() {
		case -1: // from -4 to less than -2
			bound.Lsh(big.NewInt(-1), uint(new(big.Int).Not(v).BitLen()))
		case 1:
			bound.Lsh(big.NewInt(1), uint(v.BitLen()-1))
		}
		f, _ := new(big.Float).SetInt(bound).Float64()
		buckets[fmt.Sprint(f)]++
	}
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 64)) // sums wrap around
	if !most.has(sum) {
		sum.Sub(sum, new(big.Int).Lsh(big.NewInt(1), 64))
	}
	groups := m.read(t, a)
	if len(groups) != 1 {
		t.Fatalf("%s: %d groups", m.name(), len(groups))
	}
	g := groups[0]
	if int(g.Count) != len(want) || fmt.Sprint(g.Sum, g.Min, g.Max) != fmt.Sprint(sum, least, greatest) {
		t.Errorf("%s: count %d, sum %v, min %v, max %v; want %d, %v, %v, %v", m.name(), g.Count, g.Sum, g.Min, g.Max, len(want), sum, least, greatest)
	}
	got := map[string]uint64{}
	for _, b := range g.Hist {
		if b.N > 0 {
			got[fmt.Sprint(b.Lo)] = b.N
		}
	}
	if d := cmp.Diff(buckets, got); d != "" {
		t.Errorf("%s: buckets (-want +got):\n%s", m.name(), d)
	}
	if st := checkSum(t, a); st.Lost != lost {
		t.Errorf("%s: %+v, want %d lost", m.name(), st, lost)
	}
}
