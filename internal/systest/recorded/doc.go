// Package recorded compares what tests record of their own probes with what a tracer decodes
// of the same firings: package providertest makes values by itself, so that a library that
// uses it requires no tracer.
package recorded
