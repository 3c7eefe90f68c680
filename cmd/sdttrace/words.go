package main

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

// target registers what says which processes are traced.
func (f *traceFlags) target(set word.Set) {
	set.Add("pid", &f.pids)
	set.Add("children", &f.children)
	set.Add("comm", &f.comm)
	set.Add("exe", &f.exe)
	set.Add("cgroup", &f.group)
	set.Add("container", &f.container)
	set.Add("pod", &f.pod)
	set.Add("user", &f.user)
	set.Add("wait", &f.wait)
	set.Add("rescan", &f.rescan)
	set.Add("force", &f.force)
	set.Add("link", &f.link)
}

// addedUp registers which events are added up.
func (f *traceFlags) addedUp(set word.Set) {
	f.target(set)
	f.recordings(set)
	set.Add("where", &f.where)
	set.Add("duration", &f.duration)
}

// recordings registers which recordings are read.
func (f *traceFlags) recordings(set word.Set) { set.Add("from", (*word.Repeated)(&f.from)) }

// single registers which events are shown one by one.
func (f *traceFlags) single(set word.Set) {
	set.Add("where", &f.where)
	set.Add("sample", &f.events.Sample)
	set.Add("limit", &f.limit)
	set.Add("duration", &f.duration)
	set.Add("max-string", &f.events.MaxString)
	set.Add("buffer", (*flagvalue.Bytes)(&f.events.RingSize))
	set.Add("stack", &f.stack)
}

// said registers how the output is said, in the formats that there are.
func (f *traceFlags) said(set word.Set, formats []string) {
	if f.formats = formats; len(formats) > 0 {
		f.format = formats[0]
		set.Add("format", &f.format, strings.Join(formats, " or "))
	}
	if slices.Contains(formats, "json") {
		set.Add("json", &f.json)
	}
	set.Add("output", &f.out)
	set.Add("quiet", &f.quiet)
	set.Add("verbose", &f.verbose)
}

// arguments registers how arguments are read.
func (f *traceFlags) arguments(set word.Set) {
	set.Add("str", &f.strings)
	set.Add("args", &f.args)
	set.Add("follow", &f.pointers)
	set.Add("providers", &f.providers)
}
