package attach_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestSharedSite has several notes of one site, and checks that each probe counts its events
// once, and that the plan says which others they may be of.
func TestSharedSite(t *testing.T) {
	path := needs.Compile(t, "testdata/shared.c", "gcc", "-O1")
	p := start(t, exec.Command(path))
	const folded, once, kept = "is at the same address", "the site fires once", "with another semaphore"
	for _, test := range []struct {
		names, counts string
		said          []string // by site: "" for nothing
	}{
		{"one", "one 5", []string{folded}},
		{"two", "two 5", []string{folded, once}},
		{"*o*", "one 5, two 5", []string{folded, folded, once}},
		{"specs", "specs 5", []string{"", "which an event has cannot be told"}},
		{"sem?", "sema 5", []string{folded, kept}},
		{"semas", "semas 5", []string{"", "two semaphores"}},
	} {
		for _, opts := range []attach.Options{{}, {Target: attach.Target{PIDs: []int{p.PID()}}}} {
			of := fmt.Sprintf("%s of PIDs %v", test.names, opts.Target.PIDs)
			a := openAggregate(t, []string{path + ":shared:" + test.names}, attach.Count().By("probe"), &opts)
			p.Do("")
			plan := a.Plan()
			if err := a.Stop(); err != nil {
				t.Fatal(err)
			}
			var counts []string
			for _, g := range readGroups(t, a) {
				counts = append(counts, fmt.Sprintf("%s %d", strings.TrimPrefix(g.By[0].Value.(string), "shared:"), g.Count))
			}
			if got := strings.Join(counts, ", "); got != test.counts {
				t.Errorf("%s: counts %s, want %s", of, got, test.counts)
			}
			said := test.said
			if len(opts.Target.PIDs) > 0 && test.names != "specs" && len(said) > len(plan) {
				said = said[:len(plan)] // equal notes of a process are one site
			}
			if len(plan) != len(said) {
				t.Fatalf("%s: %d sites, want %d", of, len(plan), len(said))
			}
			for i, site := range plan {
				text := strings.Join(site.Notes, "; ")
				if site.Reason != nil {
					text = site.Reason.Error()
				}
				if !strings.Contains(text, said[i]) || said[i] == "" && text != "" {
					t.Errorf("%s: site %d has the remark %q, want %q", of, i, text, said[i])
				}
			}
		}
	}
}

// TestCheckSharedSite checks what is found wrong with such an object.
func TestCheckSharedSite(t *testing.T) {
	f, err := reader.Open(needs.Compile(t, "testdata/shared.c", "gcc", "-O1"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for line := range strings.Lines(f.Check().Error()) {
		if before, _, ok := strings.Cut(line, " one site, 0x"); ok {
			got = append(got, before)
		}
	}
	want := []string{
		"every consumer: shared:one and shared:two have", "every consumer: shared:specs has two notes of",
		"every consumer: shared:sema and shared:semb have", "every consumer: shared:semas has two notes of",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
