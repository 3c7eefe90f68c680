package usdtslog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"

	"github.com/go-usdt/usdt/contrib/slog"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

var logs = provider.New("slog", nil)

// TestSlogtest checks that a wrapped handler passes the tests of log/slog, watched or not,
// and that what the probe fires passes them as well.
func TestSlogtest(t *testing.T) {
	for _, watched := range []bool{false, true} {
		var b bytes.Buffer
		slogtest.Run(t, func(t *testing.T) slog.Handler {
			b.Reset()
			if watched {
				providertest.Record(t, logs)
			}
			return usdtslog.NewHandler(slog.NewJSONHandler(&b, nil), nil)
		}, func(t *testing.T) map[string]any {
			var m map[string]any
			if err := json.Unmarshal(b.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			return m
		})
	}
	var rec *providertest.Recorder
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		rec = providertest.Record(t, logs)
		return usdtslog.NewHandler(nil, nil)
	}, func(t *testing.T) map[string]any {
		return result(t, fired.Args(rec.Events("record")[0]))
	})
}

// result returns an event as slogtest wants it: with groups as maps.
func result(t *testing.T, args map[string]any) map[string]any {
	t.Helper()
	m := map[string]any{slog.LevelKey: slog.Level(args["level"].(int64)).String(), slog.MessageKey: args["msg"]}
	// An event has a time of its own, whether the record has one or not.
	if !strings.Contains(t.Name(), "/zero-time") {
		m[slog.TimeKey] = true
	}
	for _, word := range strings.Fields(args["attrs"].(string)) {
		key, value, _ := strings.Cut(word, "=")
		in, path := m, strings.Split(key, ".")
		for _, group := range path[:len(path)-1] {
			if in[group] == nil {
				in[group] = map[string]any{}
			}
			in = in[group].(map[string]any)
		}
		in[path[len(path)-1]] = value
	}
	return m
}

// counting counts the records that it is given.
type counting struct {
	slog.Handler
	sync.Mutex
	below int
}

func (c *counting) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo {
		c.Lock()
		c.below++
		c.Unlock()
	}
	return c.Handler.Handle(ctx, r)
}

// TestText checks the text of attributes against slog.TextHandler's.
func TestText(t *testing.T) {
	rec := providertest.Record(t, logs)
	for _, attrs := range [][]any{
		{},
		{"a", 1, "b", "two words", "c", `"`, "d", "", "e", "x=y", "f", []byte("z"), "msg", "again", "level", "x"},
		{"err", errors.New("no\nway"), "nil", nil, slog.Group("g", "x", 1, slog.Group("", "y", 2), slog.Group("none"))},
		{"panics", panics{}, "resolves", resolves{}, "odd"},
	} {
		var want bytes.Buffer
		text := slog.NewTextHandler(&want, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		for _, h := range []slog.Handler{text, usdtslog.NewHandler(nil, nil)} {
			slog.New(h).With("w", 1).WithGroup("in").With("v", resolves{}).WithGroup("").Info("m", attrs...)
		}
		events := rec.Events("record")
		got := events[len(events)-1]
		if got := "level=INFO msg=m " + fired.Args(got)["attrs"].(string) + "\n"; got != want.String() {
			t.Errorf("got %q, want %q", got, want.String())
		}
	}
}

// TestWith checks that values are those of the time of With, whatever the wrapped handler
// does with them.
func TestWith(t *testing.T) {
	rec := providertest.Record(t, logs)
	value := &changing{N: 1}
	log := slog.New(usdtslog.NewHandler(redacting{slog.DiscardHandler}, nil)).With("v", value, slog.Group("g", "v", value), "secret", "plain", slog.Attr{}, "nil", nil)
	value.N = 2
	log.Info("m", "v", value)
	if got, want := fired.Args(rec.Events("record")[0])["attrs"], `v=&{N:1} g.v=&{N:1} secret=plain nil=<nil> v=&{N:2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

type changing struct{ N int }

// redacting changes the attributes that it is given, which are its own.
type redacting struct{ slog.Handler }

func (r redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	clear(attrs)
	return r
}

type panics struct{}

func (panics) MarshalText() ([]byte, error) { panic("at the disco") }

type resolves struct{}

func (resolves) LogValue() slog.Value { return slog.GroupValue(slog.Int("r", 1)) }

// TestLevels checks that the wrapped handler gets what it enables, and nothing else,
// while listeners come and go.
func TestLevels(t *testing.T) {
	below := &counting{Handler: slog.NewTextHandler(io.Discard, nil)}
	log := slog.New(usdtslog.NewHandler(below, nil))
	var wait sync.WaitGroup
	stop := make(chan bool)
	for range 4 {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					log.Debug("below")
				}
			}
		})
	}
	for range 100 {
		t.Run("watched", func(t *testing.T) { providertest.Record(t, logs) })
	}
	close(stop)
	wait.Wait()
	if below.below != 0 {
		t.Errorf("%d records below the level were passed on", below.below)
	}
}

type traceKey struct{}

// TestTraced has sdttrace print records of several goroutines.
func TestTraced(t *testing.T) {
	tr := fired.Trace(t, "slog:record", "--where", `level < 0 && attrs ~ "*n=*"`)
	var written bytes.Buffer
	ids := func(ctx context.Context) (trace [16]byte, span [8]byte) {
		if n, ok := ctx.Value(traceKey{}).(byte); ok {
			trace[0], span[7] = n, n
		}
		return trace, span
	}
	log := slog.New(usdtslog.NewHandler(slog.NewTextHandler(&written, nil), &usdtslog.Options{IDs: ids}))
	const goroutines, records = 8, 100
	var wait sync.WaitGroup
	for g := range goroutines {
		log := log.With("g", g)
		wait.Go(func() {
			ctx := context.WithValue(t.Context(), traceKey{}, byte(g+1))
			for n := range records {
				log.DebugContext(ctx, "tick", "n", n)
				log.InfoContext(ctx, "left out")
			}
		})
	}
	wait.Wait()
	events := tr.Stop()
	next := map[string]int{}
	for _, ev := range events {
		g, n, _ := strings.Cut(ev.Args["attrs"].(string), " ")
		i, _ := strconv.Atoi(strings.TrimPrefix(g, "g="))
		trace := "0" + strconv.Itoa(i+1) + strings.Repeat("00", 15)
		if n != "n="+strconv.Itoa(next[g]) || ev.Args["level"] != -4.0 || ev.Args["msg"] != "tick" || ev.Args["trace_id"] != trace || ev.Args["span_id"] != strings.Repeat("00", 7)+trace[:2] {
			t.Errorf("got %v, want n=%d", ev.Args, next[g])
		}
		next[g]++
	}
	if len(events) != goroutines*records || strings.Count(written.String(), "\n") != goroutines*records || strings.Contains(written.String(), "tick") {
		t.Errorf("%d events and %d lines, want %d each", len(events), strings.Count(written.String(), "\n"), goroutines*records)
	}
}

// TestKnown checks that package prototype knows the probes.
func TestKnown(t *testing.T) { fired.Known(t, "slog", 1) }

// TestAllocs checks that unwatched records take no allocation more.
func TestAllocs(t *testing.T) {
	bare := slog.NewTextHandler(io.Discard, nil)
	write := func(h slog.Handler) func() {
		log := slog.New(h)
		return func() {
			log.LogAttrs(t.Context(), slog.LevelInfo, "request", slog.Int("a", 1))
			log.LogAttrs(t.Context(), slog.LevelDebug, "request", slog.Int("a", 1))
		}
	}
	fired.NoAllocs(t, write(bare), write(usdtslog.NewHandler(bare, nil)))
}

// BenchmarkUnwatched writes a record by a handler, by one that is wrapped, and one below
// the level.
func BenchmarkUnwatched(b *testing.B) {
	if err := provider.LoadAll(nil); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	bare := slog.NewTextHandler(io.Discard, nil)
	ctx := b.Context()
	for _, h := range []struct {
		name    string
		handler slog.Handler
	}{{"bare", bare}, {"wrapped", usdtslog.NewHandler(bare, nil)}} {
		for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
			b.Run(h.name+"/"+level.String(), func(b *testing.B) {
				b.ReportAllocs()
				log := slog.New(h.handler)
				for b.Loop() {
					log.LogAttrs(ctx, level, "request", slog.Int("a", 1))
				}
			})
		}
	}
}
