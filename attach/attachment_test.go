package attach

import (
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/link"
)

// TestAdoptTooLate adopts what was found while the attachment ended.
func TestAdoptTooLate(t *testing.T) {
	a := unattached(nil)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	more := unattached(Plan{{Attached: true}})
	if err := a.adopt(more); err != nil {
		t.Error(err)
	}
	if err := more.Wait(t.Context()); err != nil {
		t.Errorf("it is not detached: %v", err)
	}
	if n := a.Plan().Attached(); n != 1 {
		t.Errorf("%d sites in the plan, want the one that may have fired", n)
	}
	// A tracing that has refused all sites adopts them, too.
	s := &Session{}
	s.attached = a
	s.options, s.kind, s.maps = &settings{}, link.Multi, &maps{}
	s.sites.Store(&siteTable{})
	s.extend(t.Context(), Plan{{Path: "missing"}}, time.Time{})
}
