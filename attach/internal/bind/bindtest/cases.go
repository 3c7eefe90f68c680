package bindtest

import (
	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// Cases returns the cases whose signatures and programs are kept in testdata.
func Cases() []Case {
	number := []Probe{{Name: "n", Args: "-4@%edi 8@-8(%rbp) 8@$7"}}
	request := []Probe{{Name: "r", Args: "8@%rdi -4@%esi 8@%rdx 8@%rcx 8@%r8", Type: Request()}}
	pair := []Probe{{Name: "start", Args: "8@%rdi 8@%rsi"}, {Name: "end", Args: "8@%rdi 4@%esi"}}
	sums := func(c query.Computation) *query.Computation { return &c }
	all := query.Computation{Value: "arg0", Functions: query.Of(query.Sum, query.Avg, query.Min, query.Max, query.Stddev), Hist: true, Quantiles: []float64{50}}
	float := all
	float.Value = "ratio"
	return []Case{
		{Name: "numbers", Probes: number},
		{Name: "i386", Probes: []Probe{{Name: "n", Args: "-4@4(%esp) 8@%eax 1@%al", I386: true}}},
		{Name: "halves", Probes: []Probe{{Name: "n", Args: "16@(%rdi) 16@%rax"}}},
		{Name: "unreadable", Probes: []Probe{{Name: "n", Args: "8f@%xmm0 8@sym(%rip) 8@what"}}},
		{Name: "many", Probes: []Probe{{Name: "n", Args: many}}},
		{Name: "omit", Probes: number, Binder: bind.Binder{Omit: query.Omit{Time: true, Task: true, Comm: true}}},
		{Name: "sample", Probes: number, Binder: bind.Binder{Sample: 100}},
		{Name: "stop", Probes: number, Binder: bind.Binder{Signal: 19}},
		{Name: "signal and text", Probes: number, Strings: []string{"arg1"}, Binder: bind.Binder{Signal: 10}},
		{Name: "text", Probes: number, Strings: []string{"arg1"}},
		{Name: "text with a length", Probes: pair, Strings: []string{"p:start:arg0[arg1]"}},
		{Name: "text behind a pointer", Probes: number, Strings: []string{"arg1->16"}},
		{Name: "stack", Probes: number, Binder: bind.Binder{Stack: 20}},
		{Name: "copied stack", Probes: number, Binder: bind.Binder{Stack: 20, Unwind: true}},
		{Name: "typed", Probes: request},
		{Name: "typed, followed", Probes: request, Binder: bind.Binder{Follow: []string{"peer"}}},
		{Name: "known", Probes: []Probe{{Name: "n", Args: "8@%rdi 8@%rsi -8@%rdx -4@%ecx"}}, Where: `query ~ "SELECT*" && took > 5ms`, Binder: bind.Binder{Prototypes: prototypes("p:n(char *query[query_len], size_t query_len, long took ns, int other)")}},
		{Name: "known by registers", Probes: []Probe{{Name: "n", Args: "8@%rdi -4@%esi", Type: numbers()}}},
		{Name: "where number", Probes: number, Where: "arg0 > 3 && (arg0 < 100 || arg1 == 5)"},
		{Name: "where computed", Probes: number, Where: "arg1 % 10 + arg0 << 2 >= 3 && arg0 / arg1 != 1 && arg0 - 1 > -5"},
		{Name: "where text", Probes: request, Where: `path ~ "/api/*x*.html" || path[:4] == "/img" || comm != "curl"`},
		{Name: "where float", Probes: request, Where: "ratio >= 0.5 && !(ratio < 0.25)"},
		{Name: "where pointed", Probes: request, Where: "peer.port == 443 && status < 0"},
		{Name: "where task", Probes: number, Where: `pid != 1 && tid > 7 && cpu == 0 && uid == 1000 && comm == "sh"`},
		{Name: "count", Probes: number, Sums: sums(query.Computation{})},
		{Name: "count by numbers", Probes: number, Sums: sums(query.Computation{By: []string{"arg0", "arg1", "probe"}})},
		{Name: "count by task", Probes: number, Sums: sums(query.Computation{By: []string{"pid", "tid", "cpu", "uid", "comm"}})},
		{Name: "count by text", Probes: request, Sums: sums(query.Computation{By: []string{"path", "path[:8]", "comm[:3]"}})},
		{Name: "count by expressions", Probes: number, Sums: sums(query.Computation{By: []string{"arg0/10", "arg1 & 4095", "arg0 % arg1"}})},
		{Name: "count by stack", Probes: number, Binder: bind.Binder{Stack: 10}, Sums: sums(query.Computation{By: []string{"stack"}})},
		{Name: "count by float", Probes: request, Sums: sums(query.Computation{By: []string{"ratio", "peer.port"}})},
		{Name: "count statements", Probes: request, Binder: bind.Binder{Recorded: true}, Sums: sums(query.Computation{By: []string{"sql(path)", "cpu"}})},
		{Name: "sums", Probes: number, Sums: &all},
		{Name: "sums of floats", Probes: request, Sums: &float, Where: "status != 0"},
		{Name: "bounds", Probes: number, Sums: sums(query.Computation{Value: "arg1", Hist: true, Bounds: []float64{0, 10, 20.5}, By: []string{"pid"}})},
		{Name: "fractions", Probes: number, Sums: sums(query.Computation{Value: "arg1", Hist: true, Division: query.ByEighths, By: []string{"pid"}})},
		{Name: "fractions of floats", Probes: request, Sums: sums(query.Computation{Value: "ratio", Hist: true, Division: query.ByQuarters})},
		{Name: "signs", Probes: []Probe{{Name: "a", Args: "-8@%rdi 8@%rsi"}, {Name: "b", Args: "8@%rdi -4@%esi"}}, Sums: sums(query.Computation{Value: "arg0", Functions: query.Of(query.Sum), By: []string{"arg1"}})},
		{Name: "a site without the argument", Probes: []Probe{{Name: "a", Args: "8@%rdi"}, {Name: "a", Args: ""}, {Name: "b", Args: ""}}, Sums: sums(query.Computation{Value: "arg0", Functions: query.Of(query.Max), By: []string{"arg0"}})},
		{Name: "a site with another form", Probes: []Probe{{Name: "a", Args: "8@%rdi 8@%rsi"}, {Name: "a", Args: "8f@(%rdi) 4@%esi"}}, Where: "arg1 & 1 == 0", Sums: sums(query.Computation{Value: "arg0", Functions: query.Of(query.Sum), By: []string{"arg0"}})},
		{Name: "a site that a condition does not fit", Probes: []Probe{{Name: "a", Args: "8@%rdi"}, {Name: "a", Args: "8f@(%rdi)"}}, Where: "arg0 & 1 == 0", Sums: sums(query.Computation{})},
		{Name: "another probe", Probes: []Probe{{Name: "a", Args: "8@%rdi"}, {Name: "b", Args: "8f@(%rdi)"}}, Sums: sums(query.Computation{By: []string{"arg0"}})},
		{Name: "keys that are too long", Probes: request, Sums: sums(query.Computation{By: []string{"path", "path", "path", "path"}})},
		{Name: "a key that is no text", Probes: number, Sums: sums(query.Computation{By: []string{"sql(pid)"}})},
		{Name: "latency", Probes: pair, Start: "p:start", End: "p:end", Sums: sums(query.Computation{Value: "latency", Hist: true})},
		{Name: "latency by key", Probes: pair, Start: "p:start", End: "p:end", Key: []string{"arg0"}, Where: "arg0 > 5", Sums: sums(query.Computation{Value: "latency", Functions: query.Of(query.Sum), By: []string{"arg1", "comm"}})},
		{Name: "pairs", Probes: pair, Start: "p:start", End: "p:end", Key: []string{"arg0", "machine"}, Whole: true},
		{Name: "recorded latency", Probes: pair, Binder: bind.Binder{Recorded: true}, Start: "p:start", End: "p:end", Key: []string{"arg0"}, Sums: sums(query.Computation{Value: "latency", Hist: true, By: []string{"arg1"}})},
		{Name: "pairs by thread", Probes: pair, Start: "p:start", End: "p:end", Whole: true, Where: "arg0 > 1 && arg1 < 5"},
		{Name: "latency by what only starts have", Probes: []Probe{{Name: "start", Args: "8@%rdi 8@%rsi 8@%rdx"}, {Name: "start", Args: "8@%rdi 8@%rsi -8@%rdx"}, {Name: "end", Args: "8@%rdi"}}, Start: "p:start", End: "p:end", Key: []string{"arg0"}, Sums: sums(query.Computation{Value: "latency", Functions: query.Of(query.Sum), By: []string{"arg2", "arg0", "comm"}})},
		{Name: "both start and end", Probes: pair, Start: "p:*", End: "p:end", Key: []string{"arg0"}, Sums: sums(query.Computation{Value: "latency", Functions: query.Of(query.Sum)})},
		{Name: "kept", Probes: request, Binder: bind.Binder{Keep: true}},
		{Name: "flat pairs", Probes: pair, Start: "p:start", End: "p:end", Key: []string{"arg0"}, Whole: true, Flat: true},
		{Name: "flat latency", Probes: pair, Start: "p:start", End: "p:end", Where: "arg0 > 1", Flat: true, Sums: &query.Computation{Value: "latency", Functions: query.Of(query.Sum)}},
		{Name: "local pairs", Probes: []Probe{{Name: "start", Type: Request()}, {Name: "end", Type: Request()}}, Local: true, Start: "p:start", End: "p:end", Key: []string{"id"}, Whole: true},
		{Name: "local without types", Probes: number, Local: true},
		{Name: "local by cpu", Probes: request, Local: true, Sums: sums(query.Computation{By: []string{"cpu"}})},
		{Name: "local", Probes: request, Local: true, Where: "status == 200", Sums: sums(query.Computation{Value: "id", Functions: query.Of(query.Sum), By: []string{"path", "pid"}})},
	}
}

// many are more arguments than a record has reads for.
const many = "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9 8@(%rsp) 8@8(%rsp) 8@16(%rsp) 8@24(%rsp) 8@32(%rsp) 8@40(%rsp) " +
	"8@48(%rsp) 8@56(%rsp) 8@64(%rsp) 8@72(%rsp) 8@80(%rsp) 8@88(%rsp) 8@96(%rsp) 8@104(%rsp) 8@112(%rsp) 8@120(%rsp) " +
	"8@128(%rsp) 8@136(%rsp) 8@144(%rsp) 8@152(%rsp) 8@160(%rsp) 8@168(%rsp) 8@176(%rsp) 8@184(%rsp) 8@192(%rsp) 8@200(%rsp) 8@208(%rsp)"
