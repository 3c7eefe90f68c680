package attach_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// possible are fields that can have a value of impossible after all.
var possible = map[string]string{
	"SnapshotOptions.Before=-1": "no events",
	"SnapshotOptions.After=-1":  "no events",
	"SpanOptions.Keep=MaxInt":   "as much as there is memory",
	"ProgramOptions.Cookies":    "any number is a cookie",
	"Target.Exe":                "it is looked for later",
	"Target.Cgroup":             "it is looked for later",
	"Target.Container":          "a container may have the name later",
	"Span.Start":                "a selector, which has an error of its own",
	"Span.End":                  "a selector, which has an error of its own",
}

// impossible returns values that no field of a type can have, by what they look like.
func impossible(t reflect.Type) map[string]any {
	long := strings.Repeat("(", 5000)
	switch reflect.Zero(t).Interface().(type) {
	case attach.LinkKind, attach.Via:
		return map[string]any{"-1": -1, "99": 99}
	case time.Duration:
		return map[string]any{"-1": -1}
	case attach.Omit:
		return map[string]any{"128": 128}
	case []string:
		return map[string]any{`[""]`: []string{""}}
	case []float64:
		return map[string]any{"[NaN 1]": []float64{math.NaN(), 1}, "[1 Inf]": []float64{1, math.Inf(1)}, "[]": []float64{}}
	case []int:
		return map[string]any{"[-1]": []int{-1}, "[0]": []int{0}}
	case string:
		return map[string]any{"long": long}
	}
	if t.Kind() == reflect.Int {
		return map[string]any{"-1": -1, "MaxInt": math.MaxInt}
	}
	return nil
}

// TestImpossibleOptions gives each field of each struct of options values that it cannot have. The error
// is an OptionError that names the field, whether there are such probes or not.
func TestImpossibleOptions(t *testing.T) {
	p := start(t, exec.Command(compile(t, "gcc", "-O2")))
	probes := []reader.Probe{live.Probe(t, p.PID(), "args:bare")}
	_, prog := cookieProgram(t, attach.PerfLink)
	none, ctx := []string{"refused:no"}, t.Context()
	s, err := attach.Open(ctx, none, &attach.Options{Rescan: time.Hour, Await: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	of := func(_ any, err error) error { return err }
	open := map[reflect.Type]func(o any) error{
		reflect.TypeFor[attach.Options]():      func(o any) error { return o.(*attach.Options).Validate() },
		reflect.TypeFor[attach.EventOptions](): func(o any) error { return o.(*attach.EventOptions).Validate(nil) },
		reflect.TypeFor[attach.Target]():       func(o any) error { return (&attach.Options{Target: *o.(*attach.Target)}).Validate() },
		reflect.TypeFor[attach.Signal]():       func(o any) error { return (&attach.EventOptions{Signal: *o.(*attach.Signal)}).Validate(nil) },
		reflect.TypeFor[attach.RecordOptions](): func(o any) error {
			return of(attach.Record(ctx, none, o.(*attach.RecordOptions), nil))
		},
		reflect.TypeFor[attach.PairOptions](): func(o any) error {
			return of(attach.OpenPairs(ctx, "refused:no", "refused:never", o.(*attach.PairOptions), nil))
		},
		reflect.TypeFor[attach.LatencyOptions](): func(o any) error {
			return of(attach.OpenLatency(ctx, "refused:no", "refused:never", o.(*attach.LatencyOptions), nil))
		},
		reflect.TypeFor[attach.SpanOptions](): func(o any) error {
			return of(attach.OpenSpans(ctx, none, o.(*attach.SpanOptions), nil))
		},
		reflect.TypeFor[attach.Span](): func(o any) error {
			return of(attach.OpenSpans(ctx, none, &attach.SpanOptions{Spans: []attach.Span{*o.(*attach.Span)}}, nil))
		},
		reflect.TypeFor[attach.SnapshotOptions](): func(o any) (err error) {
			for _, err = range s.Snapshots(*o.(*attach.SnapshotOptions)) {
				break
			}
			return err
		},
		reflect.TypeFor[attach.FindOptions](): func(o any) error { return of(attach.Find(ctx, none, o.(*attach.FindOptions))) },
		reflect.TypeFor[attach.ProgramOptions](): func(o any) error {
			return of(attach.AttachProbes(prog, probes, o.(*attach.ProgramOptions)))
		},
	}
	tried := map[string]bool{}
	for typ, open := range open {
		tried[typ.Name()] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			for text, value := range impossible(f.Type) {
				o := reflect.New(typ)
				o.Elem().Field(i).Set(reflect.ValueOf(value).Convert(f.Type))
				name := typ.Name() + "." + f.Name
				if possible[name] != "" || possible[name+"="+text] != "" {
					continue
				}
				err := open(o.Interface())
				if option := (*attach.OptionError)(nil); !errors.As(err, &option) || option.Option != f.Name && option.Option != typ.Name() {
					t.Errorf("%s=%s: error %v, want one in option %s", name, text, err, f.Name)
				}
			}
		}
	}
	for _, name := range declaredOptions(t) {
		if !tried[name] {
			t.Errorf("%s is not tried", name)
		}
	}
}

// declaredOptions returns the names of the package's structs of options.
func declaredOptions(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		needs.Skip(t, "needs sources")
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^type (\w*Options) struct`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		t.Error(fmt.Errorf("no structs of options in %q", files))
	}
	return names
}
