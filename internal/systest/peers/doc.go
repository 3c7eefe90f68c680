// Package peers compares the cost of probes with other ways to show what a Go
// program does: OpenTelemetry's spans, runtime/trace, log/slog, and in C LTTng-UST and
// libstapsdt, which declares probes at run time. It is a module of its own, so that
// users of probes do not depend on the others. docs/costs.md says what it takes to have all of
// them measured.
package peers
