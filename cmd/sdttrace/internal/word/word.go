// Package word has the words of sdttrace's command line: its flags, their help, and which verb has one.
package word

import (
	"strings"

	"github.com/go-usdt/usdt/attach"
)

// Word is a flag as every verb that has it understands it.
type Word struct {
	short string
	value string // what follows it in help; empty for a switch
	usage string
}

// All are all flags. A verb has some of them, and none with another meaning.
var All = map[string]Word{
	// Selection of processes and probes.
	"pid":       {"p", "PID,...", "trace these processes only, until all have ended"},
	"children":  {"", "", "also trace what the processes of -p, or the command, start"},
	"comm":      {"", "NAME", "trace processes of this name only, also if they start later"},
	"exe":       {"", "FILE", "trace processes that run this file only, also if they start later"},
	"cgroup":    {"", "PATH", "trace processes of this control group only, e.g. system.slice/myapp.service"},
	"container": {"", "ID|NAME", "trace processes of these containers only, also of later ones"},
	"pod":       {"", "NAMESPACE/NAME", "trace processes of these pods of Kubernetes only, also of later ones"},
	"user":      {"", "", "need no privileges: trace Go services of this user that offer their probes"},
	"wait":      {"", "", "wait for probes that match if there are none yet"},
	"rescan":    {"", "D", "how often to look for probes that appear later; 0 for never"},
	"force":     {"", "", "attach even where that is known to harm the program or the host"},
	"link":      {"", "HOW", "how to attach: " + LinkChoice},
	"from":      {"", "FILE|PID|DIR", "read recordings instead of live processes; may be repeated"},

	// Selection of events.
	"where":    {"", "EXPR", "only events for which this condition holds, e.g. 'status >= 500'"},
	"sample":   {"", "N", "only one in so many events, e.g. 100"},
	"limit":    {"", "N", "end after this many events"},
	"last":     {"", "N", "only the last N events, once tracing or the recording has ended"},
	"duration": {"", "D", "end this long after the probes have been attached to, e.g. 10s"},

	// Form of the output.
	"format":  {"", "FORMAT", "the format of the output"},
	"json":    {"", "", "same as --format json: one object a line"},
	"output":  {"o", "FILE", "write the output to this file; - for stdout"},
	"quiet":   {"q", "", "print only errors and the summary on stderr"},
	"verbose": {"v", "", "say more in the summary: all counts, and what tracing costs"},

	// How arguments are read.
	"str":        {"", "ARG,...", "arguments that are pointers to strings: argN, argN[argM], argN->8"},
	"args":       {"", "ARG,...", "arguments of functions, or types: arg0,arg1:uint8,'arg0:struct conn*'"},
	"follow":     {"", "ARG,...", "pointers of typed probes to follow: peer, peer.next, '*'"},
	"providers":  {"", "FILE,...", "files that name arguments of probes; none for no names"},
	"max-string": {"", "N", "bytes to keep of each string (default 1024)"},
	"buffer":     {"", "SIZE", "buffer between kernel and sdttrace, e.g. 64M (default 4M, for pages 32M)"},

	// Events.
	"fields": {"", "A,...", "only these parts: time, comm, pid, tid, container, probe, args, or arguments by name"},
	"stop":   {"", "[=N|leave[,N]]", "stop the process at the first event that passes, or the first N; leave: for good"},
	"signal": {"", "NAME[,N]", "send the process a signal there, e.g. QUIT for goroutines and Java threads"},
	"stack":  {"", "[=N|dwarf[,N]]", "the calls that led to each event, by frame pointers or call frames"},
	"span":   {"", "START,END[:KEY]", "how long pairs of probes take, of the same KEY; may be repeated"},

	// Groups.
	"by":         {"", "A,...", "a group for each value: arguments, pid, comm, probe, func, module, stack, sql(ARG)"},
	"show":       {"", "V,...", "what is shown: sum, avg, min, max, stddev, p50, p99.9, rate"},
	"quantiles":  {"", "P,...", "these quantiles in percent, e.g. 50,99,99.9"},
	"hist":       {"", "", "a histogram below each group, by powers of two"},
	"steps":      {"", "LO,HI,STEP", "a histogram in equal steps, e.g. 0,10ms,500us"},
	"interval":   {"", "D", "print anew each interval, e.g. 1s"},
	"sort":       {"", "V", "what comes first: count, key, or a value, the greatest first"},
	"top":        {"", "N", "only so many groups, the first ones; of --slower, the slowest pairs"},
	"max-groups": {"", "N", "groups to tell apart; the others are added up as (other)"},
	"key":        {"", "A,...", "arguments that match an END to its START (default goroutine, call or thread)"},
	"slower":     {"", "D", "print each pair that took longer, e.g. 50ms, instead of adding up"},

	// Single verbs.
	"weigh":        {"", "ARG", "add up this argument by stack instead of counting, e.g. bytes"},
	"diff":         {"", "BEFORE", "compare with this recording: --diff BEFORE AFTER, or FILE@FROM,TO"},
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

// Common are the words that verbs share, with what help says of each in half a line.
var Common = []struct{ Name, gloss string }{
	{"pid", "these processes"},
	{"children", "and what they start"},
	{"comm", "processes of this name"},
	{"exe", "processes that run it"},
	{"cgroup", "of a control group"},
	{"container", "of containers"},
	{"pod", "of pods of Kubernetes"},
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

// Links are the values of --link, and LinkChoice is how help names them.
var (
	Links      = []string{attach.AutoLink: "auto", attach.MultiLink: "multi", attach.PerfLink: "perf"}
	LinkChoice = strings.Join(Links[:len(Links)-1], ", ") + " or " + Links[len(Links)-1]
)
