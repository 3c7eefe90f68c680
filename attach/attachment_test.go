package attach

import (
	"errors"
	"testing"
)

// TestAdoptTooLate adopts what was found while the attachment ended.
func TestAdoptTooLate(t *testing.T) {
	a := unattached(nil)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	more := unattached(Plan{{Reason: errors.New("too late")}})
	if err := a.adopt(more); err != nil {
		t.Error(err)
	}
	if err := more.Wait(t.Context()); err != nil || len(a.Plan()) != 0 {
		t.Errorf("plan %v, error %v, want that nothing is attached", a.Plan(), err)
	}
	// A tracing that has refused all sites adopts them, too.
	s := &Session{}
	s.attached = a
	s.options, s.kind, s.maps = &Options{}, MultiLink, &maps{}
	s.sites.Store(&siteTable{})
	s.extend(Plan{{Path: "missing"}})
}
