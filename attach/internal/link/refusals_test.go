package link

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// kindsOf returns the kinds of links of a line of refusals.
func (r *refusal) kindsOf() []Kind {
	if r.kinds != nil {
		return r.kinds
	}
	return slices.Concat(user, functions, tramps, tracepoints)
}

// TestRefusals has a kernel refuse one of three sites with each error, for each kind of link: what is said is the
// line of the table, and the other sites are attached to unless all are concerned.
func TestRefusals(t *testing.T) {
	met := map[*refusal]bool{}
	for i := range refusals {
		r := &refusals[i]
		for _, k := range r.kindsOf() {
			if refusalOf(k, r.err) != r {
				continue // the kind has a line of its own
			}
			met[r] = true
			calls := map[string]*refusing{"opened": {events: map[uint64]error{2: r.err}}, "linked": {refuse: map[uint64]error{2: r.err}}}
			for when, kernel := range calls {
				if when == "opened" && mechanisms[k].open == nil || when == "linked" && errors.Is(r.err, unix.EINVAL) && (k == Perf || k == KernelPerf) {
					continue // a perf event that is open runs no program of another type
				}
				t.Run(fmt.Sprintf("%d/%v/%s", i, r.err, when), func(t *testing.T) {
					links, refused, err := refusedBy(t, k, kernel)
					closeAll(t, links)
					says := refused[1]
					if r.whole {
						says = err
					}
					if says == nil || !errors.Is(says, r.err) || !strings.Contains(says.Error(), r.says) || strings.Count(says.Error(), r.says) > 1 {
						t.Errorf("kind %d: %v, sites %v, want %q", k, err, refused, r.says)
					}
					if alone := err == nil && refused[0] == nil && refused[2] == nil; alone == r.whole {
						t.Errorf("kind %d: %v, sites %v; want all of them concerned: %t", k, err, refused, r.whole)
					}
					if r.whole && !strings.HasPrefix(err.Error(), "attach to ") {
						t.Errorf("kind %d: %v does not say where", k, err)
					}
				})
			}
		}
		if !met[r] {
			t.Errorf("no kind of link meets line %d, %v", i, r.err)
		}
	}
}

// refusedBy attaches to three sites by a kind of link.
func refusedBy(t *testing.T, k Kind, kernel *refusing) ([]Link, []error, error) {
	t.Helper()
	if !slices.Contains(tramps, k) {
		g := groupOf(kernel, 3)
		g.Kernel = !slices.Contains(user, k)
		return g.Attach(t.Context(), k)
	}
	patches := &patching{lacks: k == TrampolineOne, refuse: map[uint32]error{2: kernel.refuse[2]}}
	return functionsOf(patches, 1, 2, 3).Attach(t.Context())
}

// TestEveryRefusal checks that each error that the kernel has for attaching is explained for every kind of link.
func TestEveryRefusal(t *testing.T) {
	for _, err := range []unix.Errno{
		unix.EAGAIN, unix.EBADF, unix.EBUSY, unix.E2BIG, unix.EINTR, unix.EINVAL, unix.EIO, unix.EMFILE, unix.ENFILE, unix.ENODEV,
		unix.ENOMEM, unix.ENOSPC, unix.EOPNOTSUPP, enotsupp,
	} {
		for _, k := range slices.Concat(user, functions, tramps, tracepoints) {
			if refusalOf(k, err) == nil {
				t.Errorf("nothing is said of %v, links of kind %d", err, k)
			}
		}
	}
	for err, kinds := range map[unix.Errno][]Kind{
		unix.ENOENT: slices.Concat(functions, tramps, tracepoints), unix.EADDRNOTAVAIL: slices.Concat(functions, tramps),
		unix.ESRCH: functions, unix.EILSEQ: functions, unix.ENOEXEC: user, unix.EEXIST: tracepoints,
	} {
		for _, k := range kinds {
			if refusalOf(k, err) == nil {
				t.Errorf("nothing is said of %v, links of kind %d", err, k)
			}
		}
	}
}

// TestRefusalsDocumented compares the table in the documents with the one here.
func TestRefusalsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{
		fmt.Sprint(user): "functions of programs, probes", fmt.Sprint(functions): "`kprobe:`", fmt.Sprint(tramps): "`fentry:`", fmt.Sprint(tracepoints): "`tracepoint:`",
		fmt.Sprint([]Kind(nil)): "all others",
	}
	var want strings.Builder
	for i := range refusals {
		r := &refusals[i]
		name := "not supported"
		if errno, ok := r.err.(unix.Errno); ok {
			if name = unix.ErrnoName(errno); errno == enotsupp {
				name = "ENOTSUPP"
			} else if errno == unix.EOPNOTSUPP {
				name = "EOPNOTSUPP" // which has two names
			}
		}
		concerned := "one"
		if r.whole {
			concerned = "all"
		}
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", name, at[fmt.Sprint(r.kinds)], concerned, r.says)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/requirements.md lacks these lines, in this order:\n%s", &want)
	}
}
