// Package peers measures probes beside what else shows what a Go program does:
// OpenTelemetry's spans, runtime/trace, log/slog, and libstapsdt, which declares
// probes at run time in C. It is a module of its own, so that nobody who uses
// probes has the others among their dependencies.
package peers
