package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/pagesource"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/serve"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/shell"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/version"
)

var serveVerb = verb{
	use:   "serve [PROBE...]",
	short: "Show what is traced in a browser, live",
	about: `serve prints the address of a page for browsers of this machine. It is the page of
sdttrace page, and changes every second while events come. When sdttrace ends, pages
that are open get what is left. Tracing does not wait for slow browsers. Its buttons make files of
the events that it shows, the newest 64 MiB: a recording, a timeline, a profile, folded stacks.

It shows the tree of the machine's probes if no PROBE is named: which processes have them, and
who watches them, as sdttrace list prints it. With --allow-attach a click attaches to a probe,
in all processes or in those of -p, and the next detaches, as the end of sdttrace does.

Only a user who knows the address can read the page: it has a token of 128 random bits, new in
each run. serve listens on loopback addresses only, and refuses requests of other pages.`,
	examples: `  sdttrace serve postgresql                      a first look at a provider, live
  sdttrace serve 'myapp:request_*'
  sdttrace serve --stack --span myapp:request_start,myapp:request_done:id 'myapp:*'
  sdttrace serve                                 which probes there are, and who watches them
  sdttrace serve --allow-attach                  and attach to them by a click
  sdttrace serve --listen 127.0.0.1:8080 'myapp:*'   then, elsewhere: ssh -L 8080:127.0.0.1:8080 HOST`,
	does: func(f *traceFlags) deed {
		return &serving{spanning: spanning{traceFlags: f}, listen: "127.0.0.1:0"}
	},
}

// serving shows what is traced in a browser.
type serving struct {
	spanning
	listen   string
	clicks   bool
	listener net.Listener
}

func (d *serving) words(set word.Set) {
	set.Add("listen", &d.listen)
	set.Add("allow-attach", &d.clicks)
	d.spanning.words(set)
	set.Add("quiet", &d.quiet)
	set.Add("verbose", &d.verbose)
}

func (d *serving) writes() bool { return false }

func (d *serving) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	t, err := d.watch(ctx, probes, opts, mostKept)
	kept := &pagesource.Kept{Timeline: t, Events: probes, Spans: d.texts, Traced: d.traces(probes), Options: *opts}
	return t, func() error { return d.servePage(ctx, t, kept.Write, to.cancel, to.stdout) }, err
}

// mostKept is how much memory events for downloads take.
const mostKept = 64 << 20

// run listens, and traces, or shows the tree of probes.
func (d *serving) run(ctx context.Context, probes []string, stdout, stderr io.Writer) (err error) {
	traces := len(d.traces(probes)) > 0
	if err := d.checkServed(traces); err != nil {
		return usageError{err}
	}
	if d.listener, err = serve.Listen(d.listen); err != nil {
		return listenError(err)
	}
	defer d.listener.Close()
	if traces {
		return d.trace(ctx, d, probes, stdout, stderr)
	}
	return d.serveTree(ctx, stdout, stderr)
}

// listenError returns an error of --listen: of usage if that is no address to serve on.
func listenError(err error) error {
	if wrong := (serve.AddressError)(""); errors.As(err, &wrong) {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	return fmt.Errorf("--listen: %w", err)
}

// checkServed returns an error for flags that have no effect beside others.
func (f *serving) checkServed(traces bool) error {
	switch {
	case traces && f.clicks:
		return errors.New("--allow-attach is for the tree of probes, which serve shows without a PROBE")
	case traces:
		return nil
	case len(f.command) > 0:
		return errors.New("name the probes of the command that serve starts, e.g. '*:*'")
	}
	for _, name := range []string{"comm", "exe", "limit", "wait", "verbose"} {
		if f.given(name) {
			return fmt.Errorf("--%s needs a PROBE: without any, serve shows which probes there are", name)
		}
	}
	if f.clicks {
		return nil
	}
	for _, name := range []string{"where", "sample", "stack", "str", "follow", "args", "max-string", "buffer", "force", "link"} {
		if f.given(name) {
			return fmt.Errorf("--%s needs a PROBE, or --allow-attach: otherwise serve traces nothing", name)
		}
	}
	return nil
}

// printServed prints the page's address.
func printServed(s *serve.Server, stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "sdttrace: %s\n", s.URL())
	return output.Error(err)
}

// servePage adds up events and pairs until there are enough or no more, and serves the page
// meanwhile.
func (f *serving) servePage(ctx context.Context, t *session.Timeline, keep func(context.Context, string, io.Writer) error, cancel context.CancelFunc, stdout io.Writer) error {
	p := page.New(format.AppendValue)
	s := serve.New(f.listener, serve.Options{Page: p, Keep: keep, Summary: func() page.Summary {
		summary, err := pagesource.Summary(t, shell.Line(os.Args), f.asked())
		if err != nil {
			summary = page.Summary{Command: shell.Line(os.Args)} // sdttrace reports it when it ends
		}
		return summary
	}})
	s.Start()
	failed := make(chan error, 1)
	go func() {
		err := s.Wait(ctx)
		cancel()
		failed <- err
	}()
	err := printServed(s, stdout)
	if err == nil {
		err = f.filler(p).Fill(t, cancel)
	}
	cancel()
	return errors.Join(err, <-failed, s.Close())
}

// serveTree serves the tree of the machine's probes, and what the page attaches to.
func (f *serving) serveTree(ctx context.Context, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts, err := f.options()
	if err != nil {
		return err
	}
	if err := f.events.Validate(opts); err != nil {
		return openError(err)
	}
	p := page.New(format.AppendValue)
	clicked := pagesource.NewClicked(ctx, &f.events, opts, p, f.meanings, openError)
	o := serve.Options{
		Page: p, Tree: (&pagesource.Tree{PIDs: f.pids, Attached: clicked}).Read,
		Summary: func() page.Summary {
			st := clicked.Stats()
			return page.Summary{Command: shell.Line(os.Args), Lost: st.Lost + st.Missed, Filtered: st.Filtered, Version: version.String(), Tree: true, Losses: clicked.Losses()}
		},
	}
	if f.clicks {
		o.Change = clicked.Change
	}
	s := serve.New(f.listener, o)
	s.Start()
	if f.duration > 0 {
		defer time.AfterFunc(f.duration, cancel).Stop()
	}
	failed := printServed(s, stdout)
	if failed == nil {
		if f.clicks && !f.quiet {
			fmt.Fprintln(stderr, "sdttrace: the page may attach to probes; Ctrl-C ends")
		} else if !f.quiet {
			fmt.Fprintln(stderr, "sdttrace: the page is read-only; Ctrl-C ends")
		}
		failed = s.Wait(ctx)
	}
	clicked.Close(stderr)
	failed = errors.Join(failed, s.Close())
	if st := clicked.Stats(); f.clicks {
		fmt.Fprintf(stderr, "sdttrace: %s, %d lost, %d filtered\n", printable.Many(st.Received, "event", "events"), st.Lost+st.Missed, st.Filtered)
	}
	return failed
}
