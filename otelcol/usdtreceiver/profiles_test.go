package usdtreceiver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// taken is a sample of a profile, with what its numbers lead to.
type taken struct {
	kind, unit string
	value      int64
	stack      []string // functions, the innermost first
	files      []string
	lines      []int64
	module     string // of the innermost
	buildID    bool   // whether that is known
	attributes map[string]any
	resource   pcommon.Map
	scope      string
	took       time.Duration
}

// samples returns all samples. They must be of tables whose first entries are empty.
func samples(t *testing.T, all []pprofile.Profiles) (out []taken) {
	t.Helper()
	for _, one := range all {
		d := one.Dictionary()
		text := d.StringTable().At
		if text(0) != "" || d.StackTable().At(0).LocationIndices().Len() != 0 || d.FunctionTable().At(0).NameStrindex() != 0 || d.MappingTable().At(0).MemoryLimit() != 0 ||
			d.LocationTable().At(0).Lines().Len() != 0 || d.AttributeTable().At(0).KeyStrindex() != 0 || d.LinkTable().Len() != 1 {
			t.Fatal("the first entry of a table is not empty")
		}
		eachProfile(one, func(r pprofile.ResourceProfiles, scope pprofile.ScopeProfiles, p pprofile.Profile) {
			for _, s := range p.Samples().All() {
				if s.Values().Len() != 1 || p.ProfileID().IsEmpty() {
					t.Fatalf("%d values, identifier %v", s.Values().Len(), p.ProfileID())
				}
				one := taken{kind: text(int(p.SampleType().TypeStrindex())), unit: text(int(p.SampleType().UnitStrindex())), value: s.Values().At(0),
					resource: r.Resource().Attributes(), scope: scope.Scope().Name(), took: time.Duration(p.DurationNano())}
				attributes, err := pprofile.FromAttributeIndices(d.AttributeTable(), s, d)
				if err != nil {
					t.Fatal(err)
				}
				one.attributes = attributes.AsRaw()
				for i, l := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
					loc := d.LocationTable().At(int(l))
					for _, line := range loc.Lines().All() {
						f := d.FunctionTable().At(int(line.FunctionIndex()))
						one.stack, one.files, one.lines = append(one.stack, text(int(f.NameStrindex()))), append(one.files, text(int(f.FilenameStrindex()))), append(one.lines, line.Line())
					}
					if i > 0 {
						continue
					}
					m := d.MappingTable().At(int(loc.MappingIndex()))
					one.module = text(int(m.FilenameStrindex()))
					of, err := pprofile.FromAttributeIndices(d.AttributeTable(), m, d)
					if err != nil {
						t.Fatal(err)
					}
					id, _ := of.Get("process.executable.build_id.gnu")
					one.buildID = id.Str() != ""
				}
				out = append(out, one)
			}
		})
	}
	return out
}

func eachProfile(all pprofile.Profiles, f func(pprofile.ResourceProfiles, pprofile.ScopeProfiles, pprofile.Profile)) {
	for _, r := range all.ResourceProfiles().All() {
		for _, s := range r.ScopeProfiles().All() {
			for _, p := range s.Profiles().All() {
				f(r, s, p)
			}
		}
	}
}

// TestProfiles compares profiles with what the program did: how often, and with what sum, from where.
func TestProfiles(t *testing.T) {
	sink := &consumertest.ProfilesSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return profilesOf(t, set, sink, usdtreceiver.Trace{
			Probes: []string{"otelshop:sale"}, Target: here(), Where: "cents != 666",
			Profiles: &usdtreceiver.Profiles{Value: "cents", Unit: "cent", By: []string{"item"}, Interval: 20 * time.Millisecond},
		})
	})
	sum := int64(0)
	for i := range int64(400) {
		sellsMuch(i)
		sellsLittle()
		sellsMuch(666)
		if sum += i; i == 200 { // so that the sums are of more than one profile
			eventually(t, "there is no profile", func() bool { return sink.SampleCount() > 0 })
		}
	}
	fired(t, tel, "otelshop:sale", 1200)
	if o := outcomes(t, tel, "otelshop:sale"); o["filtered"] != 400 || o["lost"]+o["missed"]+o["refused"] != 0 {
		t.Errorf("telemetry says %v", o)
	}
	stop()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range samples(t, sink.AllProfiles()) {
		pid, _ := s.resource.Get("process.pid")
		path, _ := s.resource.Get("process.executable.path")
		if pid.Int() != int64(os.Getpid()) || path.Str() != exe || s.scope != "otelshop" || s.module != exe || s.took <= 0 || s.took > time.Hour {
			t.Fatalf("%+v of %v", s, s.resource.AsRaw())
		}
		by := s.stack[0][strings.LastIndexByte(s.stack[0], '.')+1:]
		if !strings.HasSuffix(s.files[0], "profiles_test.go") || s.lines[0] < 10 || !slices.Contains(s.stack, "testing.tRunner") {
			t.Fatalf("called by %q, in %q, at %v", s.stack, s.files, s.lines)
		}
		got[strings.Join([]string{s.kind, s.unit, by, s.attributes["item"].(string)}, " ")] += s.value
	}
	want := map[string]int64{
		"otelshop.sale.count count sellsMuch gold": 400, "otelshop.sale.sum cent sellsMuch gold": sum,
		"otelshop.sale.count count sellsLittle tin": 400, "otelshop.sale.sum cent sellsLittle tin": 800,
	}
	if len(got) != len(want) {
		t.Errorf("samples %v, want %v", got, want)
	}
	for key, n := range want {
		if got[key] != n {
			t.Errorf("%s: %d, want %d", key, got[key], n)
		}
	}
}

//go:noinline
func sellsMuch(cents int64) { sale.Fire("gold", cents, "") }

//go:noinline
func sellsLittle() { sale.Fire("tin", 2, "") }

// TestProfilesOther checks that the stacks beyond the bound are added up, and that those kept have at
// most so many frames.
func TestProfilesOther(t *testing.T) {
	sink := &consumertest.ProfilesSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return profilesOf(t, set, sink, usdtreceiver.Trace{
			Name: "sales", Probes: []string{"otelshop:sale"}, Target: here(), Profiles: &usdtreceiver.Profiles{By: []string{"cents"}, MaxGroups: 3, MaxFrames: 1, Interval: time.Hour},
		})
	})
	for i := range int64(100) {
		sellsMuch(i % 10)
	}
	fired(t, tel, "sales", 100)
	stop()
	n, others := int64(0), int64(0)
	for _, s := range samples(t, sink.AllProfiles()) {
		if s.kind != "sales.count" || s.unit != "count" {
			t.Errorf("%+v", s)
		}
		if n += s.value; s.stack[0] == "(other)" {
			others += s.value
		} else if !strings.HasSuffix(s.stack[0], ".sellsMuch") || len(s.stack) > 2 {
			t.Errorf("called by %q, want sellsMuch and that others are missing", s.stack)
		}
	}
	if n != 100 || others != 70 {
		t.Errorf("%d events, %d of other stacks, want 100, 70", n, others)
	}
}

// TestProfilesOfC checks what profiles say of a function of a C program, with callers found by its
// tables: lines, and the file with its build-id.
func TestProfilesOfC(t *testing.T) {
	needs.Root(t)
	program := needs.Compile(t, "testdata/inner.c", "gcc", "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,--build-id")
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	sink := &consumertest.ProfilesSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return profilesOf(t, set, sink, usdtreceiver.Trace{
			Name: "inner", Probes: []string{"uprobe:" + program + ":inner"}, Target: usdtreceiver.Target{PIDs: []int{cmd.Process.Pid}},
			Profiles: &usdtreceiver.Profiles{MaxFrames: 64, Unwind: true, Interval: time.Hour},
		})
	})
	if _, err := in.Write(make([]byte, 50)); err != nil {
		t.Fatal(err)
	}
	fired(t, tel, "inner", 50)
	stop()
	all := samples(t, sink.AllProfiles())
	if len(all) != 1 {
		t.Fatalf("samples %+v, want one", all)
	}
	s := all[0]
	if s.kind != "inner.count" || s.value != 50 || s.module != program || !s.buildID || len(s.stack) < 3 || !slices.Equal(s.stack[:3], []string{"inner", "outer", "main"}) || !slices.Equal(s.lines[1:3], []int64{5, 10}) {
		t.Errorf("%+v", s)
	}
}

// TestProfilesCollector has the built collector, which passes profiles on if a feature gate says so,
// send some to another's receiver of OTLP.
func TestProfilesCollector(t *testing.T) {
	needs.Root(t)
	f := otlpreceiver.NewFactory()
	addr := free(t)
	cfg := f.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"grpc": map[string]any{"endpoint": addr}}}).Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	sink := &consumertest.ProfilesSink{}
	r, err := f.(xreceiver.Factory).CreateProfiles(t.Context(), receivertest.NewNopSettings(f.Type()), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	config := fmt.Sprintf(`
receivers:
  usdt:
    traces:
      - probes: ["otelshop:sale"]
        target: {pids: [%d]}
        profiles: {value: cents, by: [item], interval: 50ms}
exporters:
  otlp_grpc: {endpoint: %q, tls: {insecure: true}}
service:
  telemetry: %s
  pipelines:
    profiles: {receivers: [usdt], exporters: [otlp_grpc]}
`, os.Getpid(), addr, ownTelemetry(free(t)))
	p := runCollector(t, config, "--feature-gates=service.profilesSupport")
	items := func(item string) (n, sum int64) {
		for _, s := range samples(t, sink.AllProfiles()) {
			if s.attributes["item"] != item || !slices.ContainsFunc(s.stack, func(f string) bool { return strings.HasSuffix(f, ".TestProfilesCollector") }) {
				continue
			}
			if s.kind == "otelshop.sale.count" {
				n += s.value
			} else {
				sum += s.value
			}
		}
		return n, sum
	}
	eventually(t, "no profile arrives", func() bool {
		p.lives(t)
		sale.Fire("first", 1, "")
		n, _ := items("first")
		return n > 0
	})
	for range 300 {
		sale.Fire("then", 7, "")
	}
	eventually(t, "profiles are missing", func() bool { n, sum := items("then"); return n == 300 && sum == 2100 })
	p.signal(t, syscall.SIGTERM)
	if <-p.ended; p.err != nil {
		t.Errorf("the collector ended: %v", p.err)
	}
}

func profilesOf(t *testing.T, set receiver.Settings, sink *consumertest.ProfilesSink, trace usdtreceiver.Trace) (component.Component, error) {
	t.Helper()
	return usdtreceiver.NewFactory().(xreceiver.Factory).CreateProfiles(t.Context(), set, config(trace), sink)
}
