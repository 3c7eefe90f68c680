package total_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// groups are what an aggregate such as attach.Hist("ms").By("path") returns.
var groups = []total.Group{
	{By: []event.Arg{{Name: "path", Value: "/slow"}}, Count: 1, Hist: []total.Bucket{{Lo: 512, Hi: 1024, N: 1}}},
	{By: []event.Arg{{Name: "path", Value: "/"}}, Count: 3, Max: uint64(12), Quantiles: []total.Quantile{{Percent: 99, Value: uint64(12)}}},
}

// Groups are ordered by their keys, by count or by a value.
func ExampleGroup_CompareKeys() {
	byPath := slices.SortedFunc(slices.Values(groups), func(a, b total.Group) int { return a.CompareKeys(&b) })
	for _, g := range byPath {
		fmt.Println(g.By[0].Value, g.Count)
	}
	// Output:
	// / 3
	// /slow 1
}

// AppendJSON writes a group as one line of JSON, into memory that can be reused.
func ExampleGroup_AppendJSON() {
	var line []byte
	for i := range groups {
		line = groups[i].AppendJSON(line[:0], time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		fmt.Println(string(line))
	}
	// Output:
	// {"time":"2026-01-02T03:04:05.000000000Z","by":{"path":"/slow"},"count":1,"hist":[{"lo":512,"hi":1024,"n":1}]}
	// {"time":"2026-01-02T03:04:05.000000000Z","by":{"path":"/"},"count":3,"max":12,"quantiles":{"p99":12}}
}

// A quantile is named as --show of sdttrace has it.
func ExampleQuantile_Name() {
	for _, q := range groups[1].Quantiles {
		fmt.Println(q.Name(), q.Value)
	}
	// Output: p99 12
}

// Buckets go from Lo to less than Hi.
func ExampleBucket() {
	for _, b := range groups[0].Hist {
		fmt.Printf("from %g to %g: %d\n", b.Lo, b.Hi, b.N)
	}
	// Output: from 512 to 1024: 1
}
