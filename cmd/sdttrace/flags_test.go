package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

// TestWrongFlags calls the command with every flag set wrongly: out of range,
// without a valid unit, to an invalid pattern, to nothing, and without an effect
// beside the others. The errors depend neither on privileges nor on running
// processes.
func TestWrongFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what flags say")
	}
	const probe = "flagtest:none"
	for _, test := range []struct {
		args string // separated by spaces; '' is an empty one
		want string
	}{
		{"--max-string 100000", "--max-string: 100000 is not between 0 and 8192 bytes"},
		{"--max-string -1", "--max-string -1 is negative"},
		{"--max-string 0", "--max-string 0 is not positive"},
		{"--max-string 1K", "--max-string"},
		{"--buffer -1", "--buffer: -1 is not between 0 and"},
		{"--buffer 0", "--buffer 0 is not positive"},
		{"--buffer 2G", "--buffer: 2147483648 is not between"},
		{"--buffer 64X", "want a number of bytes"},
		{"--buffer M", "want a number of bytes"},
		{"--buffer 99999999999G", "the number of bytes does not fit 64 bits"},
		{"--follow [", "--follow: "},
		{"--follow ''", "--follow is empty"},
		{"--str ''", "--str is empty"},
		{"--str arg", "--str: string argument \"arg\""},
		{"--args ''", "--args is empty"},
		{"--args sum", "--args: it names arguments of functions, and no selector names functions"},
		{"--args arg0:int33", "--args: \"arg0:int33\": unknown type"},
		{"--args arg0:int32,arg0:int8", "--args: argument arg0 has two types"},
		{"--args none,arg0", "--args: none stands for no arguments, and not beside others: none,arg0"},
		{"--args arg0", "--args: it names arguments of functions"},
		{"--args none", "--args: it names arguments of functions"},
		{"--where ''", "--where is empty"},
		{"--where a==", "condition \"a==\", column 4"},
		{"--pid 0", "not positive"},
		{"--pid -1", "not positive"},
		{"--pid ''", "pid"},
		{"--pid x", "pid"},
		{"-p 1 -- true", "-p and a command exclude each other"},
		{"--rescan -1s", "--rescan -1s is negative"},
		{"--rescan 1s -- true", "--rescan has no effect with a command"},
		{"--rescan 1", `--rescan "1": want a time with its unit`},
		{"--duration -1s", "--duration -1s is negative"},
		{"--duration 0s", "--duration 0s is not positive"},
		{"--duration 1", `--duration "1": want a time with its unit`},
		{"--limit -1", "--limit"},
		{"--last -5", "--last -5 is negative"},
		{"top --interval -1s", "--interval -1s is negative"},
		{"--limit 0", "--limit 0 is not positive"},
		{"count --limit 1", "--limit is no flag of count: latency, page, print,"},
		{"--format xml", "unknown format \"xml\": want text or json"},
		{"--format ''", "--format is empty"},
		{"--json --format text", "--json and --format text exclude each other"},
		{"--link x", "link \"x\" is not"},
		{"profile --format text", "--format text compares two recordings: it needs --diff"},
		{"count --buffer 1M", "--buffer is no flag of count"},
		{"count --max-string 10", "--max-string is no flag of count"},
		{"count --max-groups 10", "--max-groups has no effect without --by"},
		{"count --by pid --max-groups 0", "--max-groups 0 is not positive"},
		{"count --by pid --max-groups -1", "--max-groups -1 is negative"},
		{"count --by pid --max-groups 99999999", "the number of groups, 99999999, is not between"},
		{"count --by ''", "--by is empty"},
		{"count --show max", "--show max: count has count and rate"},
		{"--by pid", "--by is no flag of print: count, hist, latency, profile, stats have it"},
		{"--interval 1s", "--interval is no flag of print: count, hist, latency, list, profile, stats, top have it"},
		{"count --interval -1s", "--interval -1s is negative"},
		{"count --interval 0", "--interval 0s is not positive"},
		{"stats", "flagtest:none is a probe: name ARG in front of it"},
		{"stats ''", "there is nothing in ARG, the argument that is added up"},
		{"stats a --show ''", "--show is empty"},
		{"stats a --show median", "--show median: want count, sum, avg"},
		{"stats a --show max,max", "--show names max twice"},
		{"stats a --show max --by pid --sort sum", "--sort sum: the groups have count, key, max"},
		{"timeline --output ''", "--output is empty"},
		{"timeline --json", "--json is no flag of timeline"},
		{"timeline --span a:b", "--span a:b: want two probes, START,END"},
		{"timeline --span a:b,nocolon", "--span a:b,nocolon: "},
		{"timeline --span a:b,a:c,a:d", "a:d is one probe too many; a key stands behind the second one"},
		{"timeline --span a:b,a:c:", "the key is empty"},
		{"timeline --span a:b,a:c --sample 2", "--sample is for single events"},
		{"--span a:b,a:c", "--span is no flag of print: page, profile, serve, timeline have it"},
		{"--flow id", "--flow is no flag of print: sdttrace timeline has it"},
		{"page --counter id", "--counter is no flag of page: sdttrace timeline has it"},
		{"hist a --steps 1,2", "want LO,HI,STEP"},
		{"hist a --steps 1,x,1", "\"x\" is not a number"},
		{"hist a --steps 2,1,1", "want LO < HI"},
		{"hist a --steps 1,2,0", "positive step"},
		{"hist a --steps NaN,2,1", "want LO < HI"},
		{"hist a --steps 0,1e9,1", "at most"},
		{"hist a --steps 1parsec,2ms,1ms", "1parsec"},
		{"snapshot a==", "EXPR: condition \"a==\", column 4"},
		{"snapshot ''", "there is nothing in EXPR"},
		{"record", "name the file to write: -o FILE"},
		{"record -o ''", "--output is empty"},
		{"record -o -", "-o - is no file"},
		{"record -o x --json", "--json is no flag of record"},
		{"record -o x --by a", "--by is no flag of record"},
		{"record -o x --from y", "--from is no flag of record: count, hist, latency, page, print, profile, snapshot, stats, timeline have it"},
		{"--size 1M", "--size is no flag of print: sdttrace record has it"},
		{"record -o x --size 0", "--size 0 is not positive"},
		{"record -o x --size -1", "--size -1 is not positive"},
		{"top --listen x", "--listen is no flag of top: sdttrace serve has it"},
		{"count --timeout 5s a:b", "--timeout is no flag of count: write --duration D"},
		{"count --by pid --stack=dwarf a:b", "--stack has no effect without a group for each stack: write --by stack, also beside other keys, as in --by pid,stack=dwarf"},
		{"-z", "-z is no flag of print, nor of another verb"},
		{"--nonsense", "--nonsense is no flag of print, nor of another verb"},
		{"--wehre x a:b", "--wehre is no flag of print, whose nearest is --where, nor of another verb"},
		{"count --sohw rate a:b", "--sohw is no flag of count, whose nearest is --show, nor of another verb"},
		{"hlep", "the nearest verb is help"},
		{"help conditons", "output, cost; the nearest is conditions"},
		{"help lantency", "; the nearest is latency"},
		{"stats a --show agv", "or p99.9; the nearest is avg"},
	} {
		args := strings.Fields(test.args)
		for i, a := range args {
			if a == "''" {
				args[i] = ""
			}
		}
		if i := strings.Index(test.args, "-- "); i >= 0 {
			n := len(strings.Fields(test.args[:i]))
			args = append(args[:n:n], append([]string{probe}, args[n:]...)...)
		} else {
			args = append(args, probe)
		}
		checkUsage(t, args, test.want)
	}
	for _, test := range []struct{ args, want string }{
		{"latency a:b", "name two probes: latency START END"},
		{"latency a:b c:d --from x -p 1", "--pid is for live processes"},
		{"latency a:b c:d --limit 3", "--limit is for the pairs of --slower"},
		{"latency a:b c:d --slower -5ms", "--slower -5ms is negative"},
		{"latency a:b c:d --slower 5", `--slower "5": want a time with its unit`},
		{"latency a:b c:d --slower=", `--slower "": want a time with its unit`},
		{"latency a:b c:d --slower 5ms --by x", "--slower prints pairs instead of adding them up: --by"},
		{"latency a:b c:d --slower 5ms --quantiles 50", "instead of adding them up: --quantiles"},
		{"latency a:b c:d --slower 5ms --show stddev", "instead of adding them up: --show"},
		{"latency a:b c:d --slower 5ms --hist", "instead of adding them up: --hist"},
		{"latency a:b c:d --slower 5ms --steps 0,9ms,1ms", "instead of adding them up: --steps"},
		{"latency a:b c:d --slower 5ms --interval 1s", "instead of adding them up: --interval"},
		{"latency a:b c:d --slower 5ms --top -3", "--top -3 is negative"},
		{"latency a:b c:d --slower 5ms --sort sum", "instead of adding them up: --sort"},
		{"latency a:b c:d --slower 5ms --sample 3", "--sample is no flag of latency"},
		{"latency a:b c:d --slower 5ms --key sql(x)", "sql(x) makes groups"},
		{"latency a:b c:d --slower 5ms --key machine", "the key machine needs an argument beside it"},
		{"--slower 5ms a:b", "--slower is no flag of print: sdttrace latency has it"},
		{"latency a:b c:d --max-groups 3", "--max-groups has no effect without --by"},
		{"latency a:b c:d e:f", "e:f is one too many"},
		{"cout a:b", "the nearest verb is count"},
		{"nocolon", `"nocolon" is no verb, and a PROBE is [PATH:]PROVIDER:NAME: all probes of a provider are 'nocolon:*'`},
		{"-q cuont a:b", "the nearest verb is count"},
		{"rec -o x a:b", "the nearest verb is record"},
		{"replay x", "replay is no verb: write sdttrace [VERB] --from FILE|PID|DIR [PROBE...]"},
		{"help nothing", `there is no help about "nothing": the topics are probes, `},
		{"--args retval uprobe:/proc/self/exe:main.main", "--args: a function has no retval at its entry"},
		{"--args arg0 uretprobe:/proc/self/exe:main.main", "--args: a function has only retval when it returns"},
		{"--args none uretprobe:/proc/self/exe:main.main", "--args: a function has only retval when it returns"},
		{"profile -o x.pb.gz --format folded a:b", "-o x.pb.gz is the name of a profile for pprof, and what is written is folded"},
		{"print -o x.pb.gz a:b", "which sdttrace profile writes, and not sdttrace print"},
		{"record -o x.pftrace a:b", "-o x.pftrace is the name of a timeline, which sdttrace timeline writes"},
		{"timeline -o x.html a:b", "a page, which sdttrace page writes, and not sdttrace timeline"},
		{"page -o x.usdt a:b", "a recording, which sdttrace record writes"},
		{"count -o x.json a:b", "-o x.json is the name of JSON, and what is written is text: name another file, or --format json"},
		{"list -p 0", "not positive"},
		{"list -p -3", "not positive"},
		{"list 1a", "want [PATH:]PROVIDER:NAME"},
		{"list a:[", "is not closed"},
	} {
		checkUsage(t, strings.Fields(strings.ReplaceAll(test.args, "''", "\x00")), test.want)
	}
}

// checkUsage runs the command and checks that it says in one sentence what is
// wrong with its arguments.
func checkUsage(t *testing.T, args []string, want string) {
	t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "\x00", "")
	}
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), args, &stdout, &stderr)
	said := stderr.String()
	if code != exitUsage || stdout.Len() > 0 || strings.Count(said, "\n") != 2 || !regexp.MustCompile(`\nTry 'sdttrace( [a-z]+)? --help'\.\n$`).MatchString(said) || !strings.Contains(said, want) {
		t.Errorf("sdttrace %q: exit code %d, want %d, prints %q and says %q, want one line with %q", args, code, exitUsage, &stdout, said, want)
	}
}
