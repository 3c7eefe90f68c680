package attach_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestNilRecord checks that a record which is nil is told apart from one that cannot be read,
// by all ways: it has no arguments, and its groups are those of nil.
func TestNilRecord(t *testing.T) {
	type deep struct{ Name string }
	type record struct {
		ID    int
		Text  string
		Names []string
		Deep  *deep
	}
	dir := t.TempDir()
	p := provider.New("nilrecord", &provider.Options{Local: true, FlightRecorder: &provider.FlightRecorder{Dir: dir}})
	defer p.Close()
	plain := provider.NewStructProbe[struct{ ID int }](p, "plain")
	whole := provider.NewStructProbe[record](p, "whole")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	o := own()
	o.Follow = []string{"Deep"}
	selectors := []string{"nilrecord:*"}
	two := both(t, o, func(o *attach.Options) (*attach.Session, error) { return attach.Open(t.Context(), selectors, o) })
	for _, s := range two {
		defer s.Close()
	}
	kernel := own()
	kernel.Target.Via = attach.ViaKernel
	saved := startRecord(t, selectors, &kernel)
	groups := both(t, own(), func(o *attach.Options) (*attach.Aggregate, error) {
		return attach.OpenAggregate(t.Context(), []string{"nilrecord:whole"}, attach.Count().By("ID", "Text", "Deep.Name"), o)
	})
	rec := providertest.Record(t, p)
	plain.Fire(nil)
	whole.Fire(nil)
	whole.Fire(&record{})
	for i, a := range groups {
		defer a.Close()
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		want := []string{`{"by":{"ID":0,"Text":"","Deep.Name":null},"count":1}`, `{"by":{"ID":null,"Text":null,"Deep.Name":null},"count":1}`}
		if d := cmp.Diff(want, groupsOf(t, a)); d != "" {
			t.Errorf("groups of way %d (-want):\n%s", i, d)
		}
	}
	ways := map[string][]event.Event{"kernel": drain(t, two[0]), "local": drain(t, two[1]), "test": fired.Traced(rec.All())}
	files, err := filepath.Glob(filepath.Join(dir, "*.usdt"))
	if err != nil {
		t.Fatal(err)
	}
	ways["recorder"], _ = replay(t, "nilrecord:*", attach.Options{}, files...)
	ways["file"], _ = replay(t, "nilrecord:*", attach.Options{}, saved.end(t).Target.Recordings...)
	for way, events := range ways {
		var got []string
		for _, ev := range events {
			got = append(got, string(event.Struct(ev.Args).AppendErrors(event.Struct(ev.Args).AppendJSON(nil))))
		}
		want := []string{"null", "null", `{"ID":0,"Text":"","Names":[],"Deep":null}`}
		if way != "kernel" && way != "local" { // where Deep is not followed
			want[2] = `{"ID":0,"Text":"","Names":[],"Deep":0}`
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want):\n%s", way, d)
		}
	}
}
