package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
)

// word is a flag as every verb that has it understands it.
type word struct {
	short string
	value string // what follows it in help; empty for a switch
	usage string
}

// words are all flags. A verb has some of them, and none with another meaning.
var words = map[string]word{
	// Selection of processes and probes.
	"pid":    {"p", "PID,...", "trace these processes only, until all have ended"},
	"comm":   {"", "NAME", "trace processes of this name only, also if they start later"},
	"exe":    {"", "FILE", "trace processes that run this file only, also if they start later"},
	"cgroup": {"", "PATH", "trace processes of this control group only, e.g. system.slice/myapp.service"},
	"user":   {"", "", "need no privileges: trace Go services of this user that offer their probes"},
	"wait":   {"", "", "wait for probes that match if there are none yet"},
	"rescan": {"", "D", "how often to look for probes that appear later; 0 for never"},
	"force":  {"", "", "attach even where that is known to harm the program or the host"},
	"link":   {"", "HOW", "how to attach: auto, multi or perf"},
	"from":   {"", "FILE|PID|DIR", "read recordings instead of live processes; may be repeated"},

	// Selection of events.
	"where":    {"", "EXPR", "only events for which this condition holds, e.g. 'status >= 500'"},
	"sample":   {"", "N", "only one in so many events, e.g. 100"},
	"limit":    {"", "N", "end after this many events"},
	"duration": {"", "D", "end this long after the probes have been attached to, e.g. 10s"},

	// Form of the output.
	"format":  {"", "FORMAT", "the format of the output"},
	"json":    {"", "", "same as --format json: one object a line"},
	"output":  {"o", "FILE", "write the output to this file; - for stdout"},
	"quiet":   {"q", "", "print only errors and the summary on stderr"},
	"verbose": {"v", "", "say more in the summary: all counts, and what tracing costs"},

	// How arguments are read.
	"str":        {"", "ARG,...", "arguments that are pointers to strings: argN, argN[argM], argN->8"},
	"args":       {"", "ARG,...", "arguments of functions, with types: arg0,arg1:uint8,retval:int32"},
	"follow":     {"", "ARG,...", "pointers of typed probes to follow: peer, peer.next, '*'"},
	"providers":  {"", "FILE,...", "files that name arguments of probes; none for no names"},
	"max-string": {"", "N", "bytes to keep of each string (default 1024)"},
	"buffer":     {"", "SIZE", "buffer between kernel and sdttrace, e.g. 64M (default 4M)"},

	// Events.
	"fields": {"", "A,...", "only these parts: time, comm, pid, tid, probe, args, or arguments by name"},
	"stack":  {"", "[=dwarf][,N]", "the calls that led to each event, by frame pointers or call frames"},
	"span":   {"", "START,END[:KEY]", "how long pairs of probes take, of the same KEY; may be repeated"},

	// Groups.
	"by":         {"", "A,...", "a group for each value: arguments, pid, tid, comm, probe, stack, sql(ARG)"},
	"show":       {"", "V,...", "what is shown: sum, avg, min, max, stddev, p50, p99.9, rate"},
	"quantiles":  {"", "P,...", "these quantiles in percent, e.g. 50,99,99.9"},
	"hist":       {"", "", "a histogram below each group, by powers of two"},
	"steps":      {"", "LO,HI,STEP", "a histogram in equal steps, e.g. 0,10ms,500us"},
	"interval":   {"", "D", "print anew each interval, e.g. 1s"},
	"sort":       {"", "V", "what comes first: count, key, or a value, the greatest first"},
	"top":        {"", "N", "only so many groups, the first ones"},
	"max-groups": {"", "N", "groups to tell apart; the others are added up as (other)"},
	"key":        {"", "A,...", "arguments that match an END to its START (default goroutine, call or thread)"},
	"slower":     {"", "D", "print each pair that took longer, e.g. 50ms, instead of adding up"},

	// Single verbs.
	"weigh":        {"", "ARG", "add up this argument by stack instead of counting, e.g. bytes"},
	"flow":         {"", "A,...", "draw arrows between events in which this argument is the same"},
	"counter":      {"", "A,...", "draw this argument, a number, as a counter"},
	"before":       {"", "N", "events before the one that fulfils EXPR"},
	"after":        {"", "N", "events after it"},
	"every":        {"", "D", "at most one snapshot in this time"},
	"size":         {"", "SIZE", "end when the file has this size, e.g. 100MB"},
	"listen":       {"", "ADDR", "the loopback address to serve on; port 0 is one that is free"},
	"allow-attach": {"", "", "without a PROBE: let the page attach to probes, and detach from them"},
}

// hidden are words that no help shows.
var hidden = map[string]bool{"link": true}

// commonWords are the words that verbs share, with what help says of each in half a line.
var commonWords = []struct{ name, gloss string }{
	{"pid", "these processes"},
	{"comm", "processes of this name"},
	{"exe", "processes that run it"},
	{"cgroup", "of a control group"},
	{"user", "without privileges"},
	{"wait", "for probes that come later"},
	{"from", "read recordings"},
	{"where", "condition on arguments"},
	{"sample", "one event in N"},
	{"limit", "end after N events"},
	{"duration", "end after D, e.g. 10s"},
	{"format", ""},
	{"json", "one JSON object a line"},
	{"output", "write to a file"},
	{"quiet", "only errors and a summary"},
	{"verbose", "all counts, and the cost"},
	{"rescan", "look for new ones each D"},
	{"force", "also where known to harm"},
	{"str", "pointers that are strings"},
	{"args", "arguments of functions"},
	{"follow", "follow pointers"},
	{"providers", "names of arguments"},
	{"max-string", "bytes kept of a string"},
	{"buffer", "between kernel and sdttrace"},
}

// wordSet registers words as flags of a verb.
type wordSet struct{ *pflag.FlagSet }

// add registers a word. The value is its default. A verb may say more exactly what the word
// means there.
func (s wordSet) add(name string, value any, exactly ...string) {
	w, ok := words[name]
	if !ok {
		panic("no word " + name)
	}
	if len(exactly) > 0 {
		w.usage = exactly[0]
	}
	switch p := value.(type) {
	case *bool:
		s.BoolVarP(p, name, w.short, *p, w.usage)
	case *string:
		s.StringVarP(p, name, w.short, *p, w.usage)
	case *int:
		s.IntVarP(p, name, w.short, *p, w.usage)
	case *uint64:
		s.Uint64VarP(p, name, w.short, *p, w.usage)
	case *time.Duration:
		s.DurationVarP(p, name, w.short, *p, w.usage)
	case *[]int:
		s.IntSliceVarP(p, name, w.short, *p, w.usage)
	case *[]float64:
		s.Float64SliceVarP(p, name, w.short, *p, w.usage)
	case *[]string:
		s.StringSliceVarP(p, name, w.short, *p, w.usage)
	case *repeated:
		s.StringArrayVarP((*[]string)(p), name, w.short, *p, w.usage)
	case pflag.Value:
		s.VarP(p, name, w.short, w.usage)
	default:
		panic(fmt.Sprintf("word %s of type %T", name, value))
	}
	s.Lookup(name).Hidden = hidden[name]
	if name == "stack" {
		s.Lookup(name).NoOptDefVal = strconv.Itoa(attach.MaxStack)
	}
}

// repeated is a flag that is given once for each value, which may have commas.
type repeated []string

// target registers what says which processes are traced.
func (f *traceFlags) target(set wordSet) {
	set.add("pid", &f.pids)
	set.add("comm", &f.comm)
	set.add("exe", &f.exe)
	set.add("cgroup", &f.group)
	set.add("user", &f.user)
	set.add("wait", &f.wait)
	set.add("rescan", &f.rescan)
	set.add("force", &f.force)
	set.add("link", &f.link)
}

// addedUp registers which events are added up.
func (f *traceFlags) addedUp(set wordSet) {
	f.target(set)
	f.recordings(set)
	set.add("where", &f.where)
	set.add("duration", &f.duration)
}

// recordings registers which recordings are read.
func (f *traceFlags) recordings(set wordSet) { set.add("from", (*repeated)(&f.from)) }

// single registers which events are shown one by one.
func (f *traceFlags) single(set wordSet) {
	set.add("where", &f.where)
	set.add("sample", &f.sample)
	set.add("limit", &f.limit)
	set.add("duration", &f.duration)
	set.add("max-string", &f.maxString)
	set.add("buffer", &f.ringSize)
	set.add("stack", &f.stack)
}

// said registers how the output is said, in the formats that there are.
func (f *traceFlags) said(set wordSet, formats []string) {
	if f.formats = formats; len(formats) > 0 {
		f.format = formats[0]
		set.add("format", &f.format, strings.Join(formats, " or "))
	}
	if slices.Contains(formats, "json") {
		set.add("json", &f.json)
	}
	set.add("output", &f.out)
	set.add("quiet", &f.quiet)
	set.add("verbose", &f.verbose)
}

// arguments registers how arguments are read.
func (f *traceFlags) arguments(set wordSet) {
	set.add("str", &f.strings)
	set.add("args", &f.args)
	set.add("follow", &f.pointers)
	set.add("providers", &f.providers)
}
