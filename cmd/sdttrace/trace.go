package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cost"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/look"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/heldup"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// trace does what a verb does with probes until it ends, and says on stderr what became of the
// events.
func (f *traceFlags) trace(ctx context.Context, d deed, probes []string, stdout, stderr io.Writer) (failed error) {
	user := ctx
	ctx, cancel := context.WithCancel(heldup.With(ctx, func(what string) { interrupt.Of(user).HeldUp(what, printable.Writer(stderr)) }))
	defer cancel()
	f.silent = remark.Silences{}
	defer func() { f.silent.Announce(stderr) }()
	opts, err := f.options()
	if err != nil {
		return err
	}
	if f.output.Readable && !f.quiet && !f.user && f.replayed == nil {
		f.meanings.Texts = &format.Texts{}
	}
	probes = look.Whole(probes)
	traced := d.traces(probes)
	for _, probe := range traced {
		sel, err := selector.Parse(probe)
		f.declared = f.declared || err == nil && sel.Kind == reader.USDT
		if err != nil {
			if f.stack.Calls > 0 && flagvalue.IsStack(probe) {
				err = fmt.Errorf("%s is no probe; for --stack write --stack=%s", probe, probe)
			}
			return usageError{err}
		}
	}
	if err := f.events.Validate(opts); err != nil {
		return openError(err)
	}
	if d.writes() && f.out == "" && (f.format == profileFormats[0] || f.base == "" && f.format != profileFormats[1]) && screen.Terminal(stdout) != nil {
		return usageError{errors.New("what this verb writes is not for a terminal: name a file by -o FILE")}
	}
	if err := f.outputs.Check(ctx, f.out, stderr); err != nil {
		return err
	}
	if f.verbose && f.replayed == nil {
		f.costs = cost.New()
		defer f.costs.Close()
	}
	run := func(_ command.Searcher, show func() error) error { return show() }
	commandOutput := output.Inherited(stderr)
	to := &showing{cancel: cancel, stdout: stdout}
	if d.every() > 0 {
		to.screen = f.screen(stdout, stderr)
	}
	stderr = &remark.SerialWriter{W: screen.Folded(printable.Writer(to.screen.Above(printable.Behind(stderr))), stderr)}
	to.stderr = stderr
	if len(f.command) > 0 {
		if err := command.MissingFile(traced); err != nil && !f.children {
			return err
		}
		inKernel, bare := command.InKernel(traced)
		c, err := command.Start(f.command, command.How{User: f.user, InBackground: f.inBackground, Early: inKernel, Bare: bare}, commandOutput)
		if err != nil {
			return unattached(user, traced, f.waitable(err), err)
		}
		if c.Offers() {
			opts.Target.Via = attach.ViaLocal
		}
		defer func() {
			if err := c.Finish(user); failed == nil {
				failed = err
			}
		}()
		run = func(s command.Searcher, show func() error) error {
			remarks := stderr
			if f.quiet {
				remarks = nil
			}
			interrupt.Of(ctx).HandOver(c, remarks)
			defer c.Release()
			return errors.Join(c.Begin(s, remarks), show())
		}
		f.held = c
		opts.Target.PIDs, opts.Target.Children = []int{c.PID()}, f.children
		opts.Rescan, opts.Await = commandRescan, true
	}
	f.warn(ctx, traced, opts, stderr)
	defer func() { f.explainCopied(failed, traced, stderr) }()
	s, show, err := d.open(ctx, probes, opts, to)
	if err != nil {
		return f.explained(unattached(user, traced, f.waitable(err), err))
	}
	if f.held != nil {
		if err := f.held.Load(s); err != nil {
			s.Close()
			return err
		}
	}
	if f.held != nil && !f.children && opts.Target.Via != attach.ViaLocal && len(s.NoMatch()) > 0 {
		if err := command.LackingFile(ctx, traced); err != nil {
			s.Close()
			return f.explained(unattached(user, traced, f.waitable(err), err))
		}
	}
	return f.follow(user, cancel, d, s, stderr, func() (err error) {
		if f.out != "" && !d.writes() {
			file, err := f.outputs.Create(f.out, stdout)
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, file.Close()) }()
			to.stdout = file
		}
		return run(s, show)
	})
}

// warn says on stderr, before anything is attached to, what tracing probes may miss or slow down.
func (f *traceFlags) warn(ctx context.Context, probes []string, opts *attach.Options, stderr io.Writer) {
	if f.quiet || f.replayed != nil {
		return
	}
	if f.comm != "" && f.exe == "" && !f.user {
		remark.Brief(stderr, probes, f.rescan)
	}
	if !f.user && len(f.command) == 0 { // a session of the whole machine says so itself, at its end
		remark.Copied(stderr, f.pids, probes)
		remark.Replaced(stderr, f.pids, f.exe, probes)
	}
	short := f.duration > 0 && f.duration <= remark.HotShort
	if !short && !f.wait && f.events.Sample <= 1 && len(f.command) == 0 {
		remark.Hot(ctx, stderr, probes, opts, f.flags.Lookup("sample") != nil)
	}
}

// explainCopied reports all processes that run a copy of code when a session of the whole machine
// has found nothing.
func (f *traceFlags) explainCopied(err error, probes []string, stderr io.Writer) {
	if f.user || len(f.command)+len(f.pids) > 0 || f.replayed != nil || !errors.Is(err, attach.ErrNoMatch) && !errors.Is(err, attach.ErrNoSite) {
		return
	}
	pids, _ := procfs.PIDs() // the error says what cannot be listed
	remark.Copied(stderr, pids, probes)
}

// screen returns where groups are drawn in place: on a terminal, at intervals of what is
// live. The output of a command on the same terminal would come in between.
func (f *traceFlags) screen(stdout, stderr io.Writer) *screen.Screen {
	if !f.output.Readable || f.out != "" || f.replayed != nil || len(f.command) > 0 && screen.New(stderr) != nil {
		return nil
	}
	return screen.New(stdout)
}

// commandRescan is how often a command is searched for new probes: it is one
// process only.
const commandRescan = 10 * time.Millisecond

// soughtAfter is when a probe, container or pod that is not there is reported first.
const soughtAfter = 2 * time.Second

// follow prints what s traces until it ends, with remarks and a summary on stderr.
func (f *traceFlags) follow(user context.Context, cancel context.CancelFunc, d deed, s session.Session, stderr io.Writer, print func() error) error {
	defer s.Close()
	f.prepared()
	f.silent.Announce(stderr)
	first := s.Plan()
	if !f.quiet && !f.user && s.Via() == attach.ViaLocal {
		fmt.Fprintln(stderr, "sdttrace: without privileges, as by --user: only probes that Go services offer are seen, through shared memory, and not those of other programs")
	}
	switch {
	case f.quiet:
	case f.replayed != nil:
		f.replayed.Announce(stderr)
	case len(first) > 0:
		remark.Plan(stderr, first, f.verbose)
		remark.LeftOut(stderr, s)
		f.meanings.Announce(stderr, first)
		if _, prints := d.(*printing); prints && len(f.args) == 0 {
			remark.Lines(stderr, first)
		}
		if !f.children {
			remark.Children(stderr, f.pids)
		}
	}
	if f.wait && !f.quiet {
		remark.NoMatch(stderr, s, "; waiting, Ctrl-C ends")
	}
	if !f.quiet && f.held != nil && !f.wait {
		defer remark.Sought(s, soughtAfter, stderr)()
	}
	if !f.quiet {
		remark.Stopped(stderr, f.pids)
	}
	if f.duration > 0 {
		defer time.AfterFunc(f.duration, cancel).Stop()
	}
	if f.costs != nil {
		f.costs.Begin(f.traced(), s.Plan)
	}
	if !f.quiet {
		// Containers that start later are traced as well, so this is no error.
		defer f.sought.Watch(soughtAfter, func(missing string) { fmt.Fprintf(stderr, "sdttrace: %s until now\n", printable.String(missing)) })()
	}
	finish := func() {}
	switch {
	case f.quiet:
	case f.replayed != nil:
		finish = func() { f.replayed.AnnounceLosses(s, stderr) }
	default:
		announced, losses := remark.WatchSites(s, stderr, len(first), f.held, f.verbose), remark.Losses(s, f.buffer(), stderr)
		finish = func() {
			announced.Finish()
			losses()
		}
	}
	traceErr := print()
	if f.costs != nil {
		var spent func() time.Duration
		if f.held != nil {
			spent = f.held.Spent
		}
		f.costs.End(spent)
	}
	if err := f.detach(user, s, stderr); err != nil && traceErr == nil {
		traceErr = err
	}
	remark.Closing(s, stderr)
	finish()
	if plan := s.Plan(); traceErr == nil && remark.Unfit(plan) != nil {
		traceErr = remark.Unfit(plan)
	} else if f.quiet || f.replayed != nil {
		remark.Incomplete(stderr, plan, f.replayed != nil)
	}
	if st, err := s.Stats(); traceErr == nil && err == nil && st.Found == 0 && !f.wait {
		traceErr = f.nothing(s.NoMatch())
	} else if f.held != nil {
		remark.NoMatch(stderr, s, "")
	}
	traceErr = f.explained(traceErr)
	where := (*attach.WhereError)(nil) // the condition of a snapshot is compared with the probes that were found
	wrong := errors.As(traceErr, &where)
	if traceErr != nil && !wrong {
		report(stderr, traceErr, "")
	}
	err := f.summarize(d, s, stderr)
	switch {
	case wrong:
		return errors.Join(usageError{traceErr}, err)
	case err != nil:
		return err
	case traceErr != nil:
		return errReported
	}
	return nil
}

// detach ends the session. A signal ends sdttrace if the kernel does not detach.
func (f *traceFlags) detach(user context.Context, s session.Session, stderr io.Writer) error {
	in := interrupt.Of(user)
	defer in.Prepare(stderr)()
	defer heldup.Watch(heldup.With(user, func(what string) { in.HeldUp(what, stderr) }), "detaching")()
	return s.Close()
}

// summarize prints on stderr what became of the events and, if wanted, details and the cost.
func (f *traceFlags) summarize(d deed, s session.Session, stderr io.Writer) error {
	if err := d.conclude(s, stderr); err != nil {
		return err
	}
	remark.Faults(stderr, s, f.where)
	f.meanings.Texts.Announce(stderr)
	remark.Seldom(stderr, s, f.meanings.Table)
	remark.Unfired(stderr, s, f.asked())
	if st, err := s.Stats(); err == nil && st.Received == 0 {
		if missing := f.sought.Missing(); missing != "" {
			fmt.Fprintf(stderr, "sdttrace: %s\n", printable.String(missing))
		}
	}
	if f.replayed == nil {
		remark.Ended(stderr, f.pids)
	}
	if err := remark.Summary(stderr, s, f.where); err != nil {
		return err
	}
	if f.verbose {
		if err := remark.Details(stderr, s); err != nil {
			return err
		}
	}
	if f.costs != nil {
		return f.costs.Print(context.Background(), stderr, s) // the session may have ended by a signal
	}
	return nil
}

// waitable reports whether what is missing can be waited for: it does not run, or is not loaded, yet.
func (f *traceFlags) waitable(err error) bool {
	return !f.wait && len(f.command) == 0 && (len(f.pids) == 0 || errors.Is(err, attach.ErrNoMatch)) && f.replayed == nil && f.flags.Lookup("wait") != nil
}

// asked returns what may be why there is nothing to show.
func (f *traceFlags) asked() remark.Asked {
	return remark.Asked{
		Where: f.where, On: f.events.On, Taken: f.taken, Sample: f.events.Sample,
		Command: f.held != nil, Childless: remark.Childless(f.children, f.user), Table: f.meanings.Table,
	}
}

// explained returns an error with what is known of the name in it, if that is of no argument but of
// a text which people are shown.
func (f *traceFlags) explained(err error) error {
	if err == nil || f.meanings.Table == nil {
		return err
	}
	why := format.Lacking(f.meanings.Table, err)
	if why == "" {
		return err
	}
	explained := fmt.Errorf("%w; %s", err, why)
	if usage := (usageError{}); errors.As(err, &usage) {
		return usageError{explained}
	}
	return explained
}

// traced returns the processes that are traced; nil for all.
func (f *traceFlags) traced() []int {
	switch {
	case f.children:
		return nil
	case f.held != nil:
		return []int{f.held.PID()}
	}
	return f.pids
}

// nothing returns the error for a command without probes that match, which others say why.
func (f *traceFlags) nothing(errs []error) error {
	if len(errs) == 0 {
		return attach.ErrNoMatch
	}
	hint := remark.Childless(f.children, f.user)
	if foreign := remark.Foreign(remark.Selectors(errs)); foreign != "" {
		hint = foreign
	} else if f.declared {
		hint += "; a Go program has to load its probes (provider.LoadAll, or USDT_LOAD=1 in its environment)"
	}
	if f.held != nil && f.held.Missing() != nil {
		hint = fmt.Sprintf(", as far as the command could be seen, which was looked at every %v", commandRescan)
	}
	errs[len(errs)-1] = fmt.Errorf("%w%s", errs[len(errs)-1], hint)
	return errors.Join(errs...)
}
