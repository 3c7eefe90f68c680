// Package usdt is a toolkit for USDT probes, Linux's typed tracepoints of user
// programs: it declares them in Go services, at no cost while nobody watches, and
// finds and traces the probes of any program. This package holds its documentation
// only. Where to begin:
//
// To put probes into a service, use package provider. Any tracer can attach to
// them (bpftrace, bcc, perf, sdttrace), and no cgo is needed:
//
//	var (
//		myapp = provider.New("myapp", nil)
//		start = provider.NewProbe2[uint64, string](myapp, "request_start", "id", "path")
//	)
//
//	func main() {
//		if err := myapp.Load(); err != nil {
//			log.Print(err) // the service runs on; its probes do nothing
//		}
//		defer myapp.Close()
//		start.Fire(7, "/index.html")
//	}
//
// To test that a service's probes fire, use package provider/providertest.
//
// To see which probes a file or a process has, use package reader:
//
//	f, err := reader.Open("/usr/lib/postgresql/15/bin/postgres")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	for p, err := range f.Probes() {
//		if err != nil {
//			return err
//		}
//		fmt.Println(p.Provider, p.Name, p.Args)
//	}
//
// To receive what probes fire, use package attach; to have the kernel sum it up,
// attach.OpenAggregate, attach.OpenLatency and attach.OpenPairs; to attach BPF programs
// of your own, attach.AttachProbes, or package attach/collection if they are written in
// C:
//
//	s, err := attach.Open(ctx, []string{"myapp:request_*"}, nil)
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	for e, err := range s.Events() {
//		if err != nil {
//			return err
//		}
//		fmt.Println(e.Name, e.Args)
//	}
//
// To turn addresses of code into functions, files and lines, use package symbols.
//
// The events come from package event, which holds their values and their JSON; what was added
// up is groups of package total.
// Package prototype names the arguments of programs that do not do so themselves: PostgreSQL's,
// Java's, Python's and others'. Two packages are for authors of tools: notes, which reads and
// writes the sections and the argument strings of USDT, and elfgen, which writes ELF shared
// objects.
//
// Tracing takes no program at all: the commands sdttrace and sdtdump are in cmd.
// The documents beside this package say more: docs/recipes.md has commands, docs has
// guides for authors of services and of tools, ARCHITECTURE.md says how the
// packages fit together, FORMAT.md has the bytes and RATIONALE.md the reasons, and
// SECURITY.md what hostile programs can do.
package usdt
