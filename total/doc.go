// Package total holds the results of adding up events: groups, the buckets of histograms and
// quantiles, in Go and as JSON. Aggregates and latencies of package attach return them.
package total
