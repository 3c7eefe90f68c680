package attach

import (
	"context"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// FindOptions say what [Find] finds.
type FindOptions struct {
	// Target says which processes are searched, by PIDs only.
	Target Target
	// Force decides about sites as [Options.Force] does.
	Force bool
	// Types says that functions shall have what debugging information says of their arguments
	// and results: [reader.Function.Typed].
	Types bool
}

// Validate checks the options without looking at processes, as [Options.Validate] does. o may be nil.
func (o *FindOptions) Validate() error {
	if o == nil {
		return nil
	}
	_, err := o.Target.byPID()
	return err
}

// Find returns the sites that [Open] would find, with what it would decide about
// each, and attaches to none. When ctx is done, Find ends with the context's cause.
// opts may be nil. Find needs no privileges except to read the files and to see
// the processes that have them mapped.
func Find(ctx context.Context, selectors []string, opts *FindOptions) (Plan, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &FindOptions{}
	}
	target, err := opts.Target.byPID()
	if err == nil {
		err = target.exist()
	}
	if err != nil {
		return nil, err
	}
	procs, err := process.Hold(target.PIDs)
	if err != nil {
		return nil, err
	}
	defer procs.Close()
	parsed, err := parseSelectors(selectors)
	if err != nil {
		return nil, err
	}
	if err := checkKernelKinds(parsed); err != nil {
		return nil, err
	}
	found, err := discover.New(parsed, procs).First(ctx)
	if err != nil {
		return nil, err
	}
	plan := site.PlanOf(found)
	planner := newPlanner(opts.Force)
	defer planner.Objects.Close()
	plan = plan.AtReturns(planner)
	if err := plan.Decide(ctx, planner); err != nil {
		return nil, err
	}
	if opts.Types {
		types := discover.NewTypes(parsed)
		defer types.Close()
		for i := range plan {
			types.Read(&plan[i].Probe)
		}
	}
	return handOut(plan), nil
}
