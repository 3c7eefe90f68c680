package remark_test

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// TestBrevity warns of short latencies only, and only where the program enters the kernel.
func TestBrevity(t *testing.T) {
	at := func(kind reader.ProbeKind) attach.Plan {
		return attach.Plan{{Probe: reader.Probe{Kind: kind}, Attached: true}}
	}
	quick, slow := total.Group{Count: 3, Avg: 900.5}, total.Group{Count: 3, Avg: 2e6}
	quantile := total.Group{Count: 1, Quantiles: []total.Quantile{{Percent: 50, Value: uint64(12_000)}}}
	for _, c := range []struct {
		name   string
		groups []total.Group
		seen   seen
		want   bool
	}{
		{"short", []total.Group{quick}, seen{via: attach.ViaKernel, plan: at(reader.Uprobe)}, true},
		{"one of two", []total.Group{slow, quick}, seen{via: attach.ViaKernel, plan: at(reader.USDT)}, true},
		{"quantile", []total.Group{quantile}, seen{via: attach.ViaKernel, plan: at(reader.USDT)}, true},
		{"long", []total.Group{slow}, seen{via: attach.ViaKernel, plan: at(reader.USDT)}, false},
		{"idle", []total.Group{{Avg: 0.0}}, seen{via: attach.ViaKernel, plan: at(reader.USDT)}, false},
		{"none", nil, seen{via: attach.ViaKernel, plan: at(reader.USDT)}, false},
		{"not known", []total.Group{{Count: 5}}, seen{via: attach.ViaKernel, plan: at(reader.USDT)}, false},
		{"shared memory", []total.Group{quick}, seen{via: attach.ViaLocal, plan: at(reader.USDT)}, false},
		{"kernel", []total.Group{quick}, seen{via: attach.ViaKernel, plan: at(reader.Kprobe)}, false},
	} {
		var b remark.Brevity
		var said strings.Builder
		b.See(c.groups)
		b.Announce(&said, &c.seen)
		if got := said.String(); (got != "") != c.want || c.want && !strings.Contains(got, "which -v measures") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
