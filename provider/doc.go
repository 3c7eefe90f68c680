// Package provider declares USDT probes in this process at run time and fires
// them.
//
// Probes belong to a [Provider]. They are declared with the types and names of
// their arguments, at package level or later, and published by LoadAll:
//
//	var (
//		myapp = provider.New("myapp", nil)
//		start = provider.NewProbe2[uint64, string](myapp, "request_start", "id", "path")
//	)
//
//	func main() {
//		if err := provider.LoadAll(nil); err != nil {
//			log.Print(err) // the service runs on; the probes that it names do nothing
//		}
//		defer provider.CloseAll()
//		start.Fire(7, "/x")
//	}
//
// In a program of many packages, each package declares its probes in the provider
// that [New] returns for the program's name, and main alone calls [LoadAll] and passes options. A
// declaration that is repeated, such as by a constructor, returns the probe that is there; a
// declaration that differs from another of its name makes a probe beside it. Probes declared
// after LoadAll are published by themselves.
//
// Errors, and values with a method String, are fired as [Text]: start.Fire(7,
// provider.Error(err)) calls err.Error only while somebody watches. A netip.Addr is
// fired as [IP]: provider.Addr(a).
//
// A probe has up to six arguments. A [StructProbe] passes the fields of a struct. Enabled
// reports whether a tracer is attached, so that arguments need to be computed only
// then; [Group.Enabled] does so for several probes, and FireFunc calls a function for the
// arguments:
//
//	flushed.FireFunc(func() (int, string) { return len(batch), summary(batch) })
//
// The closure allocates nothing. It runs as a part of its function: if it panics, so does
// the program. A nil probe, the zero value of one, and a probe that is declared in a nil provider
// or group do nothing.
//
// While nobody watches, Fire inlines to two loads and a compare, less than a
// nanosecond, and allocates nothing. A tracer that attaches (sdttrace, bpftrace, bcc,
// perf, any libbpf program) raises the probe's semaphore; then Fire puts its
// arguments into registers and calls a stub of two instructions. The kernel takes
// over on the first one.
//
// Load generates an ELF shared object in memory and maps it. The object holds the
// notes by which tracers find the probes
// (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation) and BTF that
// names and types the arguments. Load uses no cgo and no dynamic linker. FORMAT.md in
// the module's root describes the object. A service that seccomp confines has to allow
// memfd_create and fcntl besides the system calls of every Go program, and others for some
// options: docs/services.md lists them.
//
// Package providertest records what probes fire, for tests.
//
// Everything in this package may be used by any number of goroutines at once.
package provider
