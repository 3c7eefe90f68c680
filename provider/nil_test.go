//go:build linux

package provider_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// instrumented is a client of a library, whose zero value has no probes.
type instrumented struct {
	zero   *provider.Probe0
	one    *provider.Probe1[int]
	two    *provider.Probe2[int, string]
	three  *provider.Probe3[int, string, bool]
	four   *provider.Probe4[int, string, bool, float64]
	five   *provider.Probe5[int, string, bool, float64, []byte]
	six    *provider.Probe6[int, string, bool, float64, []byte, provider.Text]
	record *provider.StructProbe[struct{ N int }]
}

// TestNil checks that nil probes and records do nothing.
func TestNil(t *testing.T) {
	var c instrumented
	for i, call := range []func(){
		func() { c.zero.Fire() },
		func() { c.one.Fire(1) },
		func() { c.two.Fire(1, "") },
		func() { c.three.Fire(1, "", true) },
		func() { c.four.Fire(1, "", true, 1.5) },
		func() { c.five.Fire(1, "", true, 1.5, nil) },
		func() { c.six.Fire(1, "", true, 1.5, nil, provider.Text{}) },
		func() { c.record.Fire(nil) },
		func() { c.one.FireFunc(nil) },
		func() { c.two.FireFunc(nil) },
		func() { c.three.FireFunc(nil) },
		func() { c.four.FireFunc(nil) },
		func() { c.five.FireFunc(nil) },
		func() { c.six.FireFunc(nil) },
		func() { c.record.FireFunc(nil) },
	} {
		func() {
			defer func() {
				if e := recover(); e != nil {
					t.Errorf("call %d of a nil probe: %v", i, e)
				}
			}()
			call()
		}()
	}
	if c.zero.Enabled() || c.one.Enabled() || c.two.Enabled() || c.three.Enabled() || c.four.Enabled() || c.five.Enabled() || c.six.Enabled() || c.record.Enabled() {
		t.Error("a nil probe is enabled")
	}
}

// TestProviderPlace checks that a wrong name of a provider is reported with its place.
func TestProviderPlace(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	p := provider.New("my-app", nil)
	want := fmt.Sprintf("nil_test.go:%d: provider name \"my-app\" is not a C identifier", line+1)
	if err := p.Load(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Load returns %v, want %q in it", err, want)
	}
	provider.Forget("my-app")
}
