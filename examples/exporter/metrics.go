package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-usdt/usdt/total"
)

var bounds = []float64{1e6, 1e7, 1e8, 1e9} // nanoseconds

// write writes histograms in the text format of Prometheus.
func write(w io.Writer, groups []total.Group) {
	for _, g := range groups {
		sum, ok := g.Sum.(time.Duration)
		if !ok {
			continue // the probe of this name in a service has no duration
		}
		status, below := escaped.Replace(g.By[0].Text()), uint64(0) // how many took no longer
		for _, le := range bounds {
			for len(g.Hist) > 0 && g.Hist[0].Hi <= le {
				below, g.Hist = below+g.Hist[0].N, g.Hist[1:]
			}
			fmt.Fprintf(w, "request_seconds_bucket{status=\"%s\",le=\"%g\"} %d\n", status, le/1e9, below)
		}
		fmt.Fprintf(w, "request_seconds_bucket{status=\"%s\",le=\"+Inf\"} %d\n", status, g.Count)
		fmt.Fprintf(w, "request_seconds_count{status=\"%s\"} %d\nrequest_seconds_sum{status=\"%s\"} %g\n", status, g.Count, status, sum.Seconds())
	}
}

// escaped is text between the quotes of a label, in which Prometheus knows no other escapes.
var escaped = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
