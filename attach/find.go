package attach

import "context"

// Find returns the sites that [OpenAll] would attach to, with what it would
// decide about each, and attaches to none. Of opts it uses Context, PIDs and
// Force; opts may be nil. It needs no privilege but that of reading the files, and of
// seeing the processes that have them mapped.
func Find(selectors []string, opts *Options) (Plan, error) {
	if opts == nil {
		opts = &Options{}
	}
	ctx := opts.Context
	if ctx == nil {
		ctx = context.Background()
	}
	procs, err := holdProcesses(opts.PIDs)
	if err != nil {
		return nil, err
	}
	defer procs.Close()
	d, err := newDiscovery(ctx, selectors, procs)
	if err != nil {
		return nil, err
	}
	plan, err := d.discover()
	if err != nil {
		return nil, err
	}
	planner := newPlanner(opts.Force)
	defer planner.objects.Close()
	for i := range plan {
		planner.plan(&plan[i])
	}
	return plan, nil
}
