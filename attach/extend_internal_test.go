package attach

import (
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
)

// TestExtendTooLate has a tracing adopt sites that it refuses while it ends.
func TestExtendTooLate(t *testing.T) {
	a := site.Unattached(nil)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s := &Session{}
	s.attached = a
	s.options, s.programs = &settings{}, &programs{tracing: &s.tracing, kind: link.Multi, maps: &load.Maps{}}
	s.sites.Store(&numbering.Table{})
	s.losses = &source.Losses{}
	s.extend(t.Context(), site.Plan{{Report: site.Report{Path: "missing"}}}, time.Time{})
	if n := len(s.Plan()); n != 1 {
		t.Errorf("%d sites in the plan, want the refused one", n)
	}
}
