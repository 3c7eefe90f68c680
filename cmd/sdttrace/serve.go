package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/serve"
	"github.com/go-usdt/usdt/internal/version"
)

const serveExample = `  sdttrace serve 'myapp:request_*'               the page of --html, while events come
  sdttrace serve --stack --span myapp:request_start,myapp:request_done:id 'myapp:*'
  sdttrace serve                                 which probes there are, and who watches them
  sdttrace serve --allow-attach                  and attach to them by a click
  sdttrace serve --listen 127.0.0.1:8080 'myapp:*'   then, elsewhere: ssh -L 8080:127.0.0.1:8080 HOST`

const serveHelp = `serve attaches to probes as sdttrace PROBE does, and prints the address of a page for
browsers of this machine. The page is that of --html, and changes every second while
events come: how often probes fire, histograms, with --span latencies, with --stack a
flame graph, and a table of the newest events. "p" pauses it, "?" lists its keys.
However slow a browser is, tracing does not wait for it: counts and charts are of all
events. When sdttrace ends, pages that are open get what is left, and stay as they are.

Without a PROBE, serve shows the tree of the machine's probes: which processes have
them, and who watches them, as sdttrace list prints it. With --allow-attach, a click
attaches to a probe, in all processes or in those of -p, and its events are shown; the
next click detaches. What the page has attached to is detached when sdttrace ends.

Only who knows the address can read the page: it has a token of 128 random bits, new in
each run. serve listens on loopback addresses only, and refuses what other pages ask for.
Without --allow-attach it does nothing but answer.`

// serveFlags are the flags of "sdttrace serve".
type serveFlags struct {
	listen   string
	attach   bool
	listener net.Listener // nil of all other commands
}

func (f *serveFlags) wanted() bool { return f.listener != nil }

func newServeCommand(stdout, stderr io.Writer) *cobra.Command {
	f := traceFlags{link: "auto", format: "text"}
	f.aggregate.order.sort = "count" // nothing is added up
	cmd := &cobra.Command{
		Use:     "serve [flags] [PROBE...] [-- CMD ARG...]",
		Short:   "Show what is traced in a browser, live",
		Long:    serveHelp,
		Example: serveExample,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if f.serve.attach { // of which the page has the tree
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeProbes(cmd, args, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, f.command = args[:dash], args[dash:]
				if len(f.command) == 0 {
					return usageError{errors.New("name a command after --")}
				}
			}
			traces := len(args)+len(f.timeline.spans) > 0
			if err := f.checkServed(cmd.Flags(), traces); err != nil {
				return usageError{err}
			}
			if f.serve.listener, err = serve.Listen(f.serve.listen); err != nil {
				return listenError(err)
			}
			defer f.serve.listener.Close()
			if err := f.checkGiven(cmd.Flags()); err != nil {
				return usageError{err}
			}
			if traces {
				return f.trace(cmd.Context(), args, stdout, stderr)
			}
			return f.serveTree(cmd.Context(), stdout, stderr)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.serve.listen, "listen", "127.0.0.1:0", "the loopback address to serve on; port 0 is one that is free")
	flags.BoolVar(&f.serve.attach, "allow-attach", false, "without a PROBE: let the page attach to probes, and detach from them")
	f.registerTarget(flags)
	flags.StringArrayVar(&f.timeline.spans, "span", nil, "show how long pairs of probes take, START,END or, of the same argument, START,END:KEY; may be repeated")
	registerStack(flags, &f.stack)
	flags.Uint64Var(&f.limit, "limit", 0, "end after this many events")
	flags.IntVar(&f.sample, "sample", 0, "show one in so many events, e.g. 100")
	f.registerSession(flags)
	return cmd
}

// listenError returns an error of --listen: of usage if that is no address to serve on.
func listenError(err error) error {
	if wrong := (serve.AddressError)(""); errors.As(err, &wrong) {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	return fmt.Errorf("--listen: %w", err)
}

// checkServed returns an error for flags that have no effect beside others.
func (f *traceFlags) checkServed(flags *pflag.FlagSet, traces bool) error {
	switch {
	case traces && f.serve.attach:
		return errors.New("--allow-attach is for the tree of probes, which serve shows without a PROBE")
	case traces:
		return nil
	case len(f.command) > 0:
		return errors.New("name the probes of the command that serve starts, e.g. '*:*'")
	}
	for _, name := range []string{"comm", "exe", "limit", "wait", "cost", "verbose"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s needs a PROBE: without any, serve shows which probes there are", name)
		}
	}
	if f.serve.attach {
		return nil
	}
	for _, name := range []string{"where", "sample", "stack", "str", "follow", "args", "max-string", "buffer", "force", "link"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s needs a PROBE, or --allow-attach: otherwise serve traces nothing", name)
		}
	}
	return nil
}

// printServed prints the page's address.
func printServed(s *serve.Server, stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "sdttrace: %s\n", s.URL())
	return outputError(err)
}

// servePage adds up events and pairs until there are enough or no more, and serves the page
// meanwhile.
func (f *traceFlags) servePage(ctx context.Context, t *timeline, cancel context.CancelFunc, stdout io.Writer) error {
	p := page.New(appendValue)
	s := serve.New(f.serve.listener, serve.Options{Page: p, Summary: func() page.Summary {
		summary, err := t.summary()
		if err != nil {
			summary = page.Summary{Command: commandLine(os.Args)} // sdttrace reports it when it ends
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
		err = f.addPage(p, t, cancel)
	}
	cancel()
	return errors.Join(err, <-failed, s.Close())
}

// serveTree serves the tree of the machine's probes, and what the page attaches to.
func (f *traceFlags) serveTree(ctx context.Context, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts, err := f.options()
	if err != nil {
		return err
	}
	if err := opts.Validate(); err != nil {
		return openError(err)
	}
	p := page.New(appendValue)
	clicked := newClicked(ctx, f, opts, p)
	o := serve.Options{
		Page: p, Tree: (&probeTree{pids: f.pids, attached: clicked}).read,
		Summary: func() page.Summary {
			st := clicked.stats()
			return page.Summary{Command: commandLine(os.Args), Lost: st.Lost, Filtered: st.Filtered, Version: version.String(), Tree: true, Losses: clicked.losses()}
		},
	}
	if f.serve.attach {
		o.Change = clicked.change
	}
	s := serve.New(f.serve.listener, o)
	s.Start()
	if f.duration > 0 {
		defer time.AfterFunc(f.duration, cancel).Stop()
	}
	failed := printServed(s, stdout)
	if failed == nil {
		if f.serve.attach && !f.quiet {
			fmt.Fprintln(stderr, "sdttrace: the page may attach to probes; Ctrl-C ends")
		} else if !f.quiet {
			fmt.Fprintln(stderr, "sdttrace: the page is read-only; Ctrl-C ends")
		}
		failed = s.Wait(ctx)
	}
	clicked.close(stderr)
	failed = errors.Join(failed, s.Close())
	if st := clicked.stats(); f.serve.attach {
		fmt.Fprintf(stderr, "sdttrace: %d events, %d lost, %d filtered\n", st.Received, st.Lost, st.Filtered)
	}
	return failed
}
