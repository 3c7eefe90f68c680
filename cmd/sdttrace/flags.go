package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
)

// flagOf has the flags that set attach.Options, by field.
var flagOf = map[string]string{
	"PIDs": "pid", "RingSize": "buffer", "MaxString": "max-string", "Strings": "str", "Follow": "follow", "Args": "args", "Rescan": "rescan", "Comm": "comm", "Exe": "exe", "Via": "user", "Sample": "sample", "Stack": "stack", "Interval": "interval", "Cgroup": "cgroup",
}

// optionError turns an error in an option into one of usage that names the flag.
func optionError(err error) error {
	var option *attach.OptionError
	if errors.As(err, &option) && flagOf[option.Option] != "" {
		return usageError{fmt.Errorf("--%s: %w", flagOf[option.Option], option.Err)}
	}
	return err
}

// flagError returns the error of usage for a flag that cannot be parsed. It says which values
// the flag takes, where package strconv or time would not.
func flagError(_ *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	number := (*strconv.NumError)(nil)
	if !errors.As(err, &value) || !errors.As(err, &number) && !strings.HasPrefix(value.Unwrap().Error(), "time: ") {
		return usageError{err}
	}
	name, want := "--"+value.GetFlag().Name, ""
	switch value.GetFlag().Value.Type() {
	case "uint", "uint64":
		want = "a whole number from 0 on"
	case "int", "intSlice":
		want = "a whole number"
	case "float64Slice":
		want = "numbers, as in 50,99.9"
	case "duration":
		want = "a time with its unit, such as 500ms, 10s or 1m30s"
		if strings.Contains(value.Unwrap().Error(), "invalid") { // not just that the unit is missing
			want += ", of at most 292 years"
		}
	default:
		return usageError{err}
	}
	if errors.Is(err, strconv.ErrRange) {
		want = "a smaller number"
	}
	return usageError{fmt.Errorf("%s %q: want %s", name, value.GetValue(), want)}
}

// checkGiven returns an error for flags that are wrong whatever is traced:
// without a value, or without an effect beside others.
func (f *traceFlags) checkGiven(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		if err == nil && saysNothing(flag) {
			err = fmt.Errorf("--%s is empty", flag.Name)
		}
	})
	if err != nil {
		return err
	}
	given := flags.Changed
	if err := f.record.check(flags); err != nil {
		return err
	}
	if err := f.fields.checkNames(); err != nil {
		return err
	}
	// Zero is no bound: a flag that sets none is left out.
	for _, name := range []string{"record-size", "limit", "duration", "interval", "max-groups", "top", "max-string", "buffer", "snapshot-every", "sample"} {
		if flag := flags.Lookup(name); given(name) && strings.Trim(flag.Value.String(), "0sKMG") == "" {
			return fmt.Errorf("--%s %s is not positive", name, flag.Value)
		}
	}
	aggregates := f.aggregate.adds()
	for _, c := range []struct {
		wrong bool
		why   string
	}{
		{given("json") && given("format") && f.format != "json", "--json and --format " + f.format + " exclude each other"},
		{given("fields") && !f.printsEvents(), "--fields is for events that are printed one by one"},
		{aggregates && given("limit"), "--limit counts events that are printed: with an aggregation use --duration"},
		{aggregates && given("buffer"), "--buffer is for events that are printed: an aggregation has none"},
		{aggregates && given("sample"), "--sample is for events that are printed: an aggregation counts all"},
		{aggregates && given("stack") && !f.aggregate.byStack(), "--stack is for events that are printed: an aggregation has stacks by --by stack"},
		{f.profile.wanted() && (given("snapshot-on") || given("json") || given("format") || given("top") || given("sort") || given("rate")), "--pprof and --folded take the place of all other output"},
		{f.profile.wanted() && aggregates && !f.aggregate.byStack(), "--pprof and --folded have stacks: groups have them by --by stack"},
		{f.profile.wanted() && aggregates && !f.aggregate.profiled(), "--pprof and --folded have the count, a sum and a latency of groups: use --count, --sum or --latency, without --quantiles"},
		{given("weigh") && aggregates, "--weigh is for single events: groups have the sum of an argument by --sum"},
		{f.timeline.wanted() && (f.aggregate.wanted() || f.profile.wanted() || given("snapshot-on") || given("json") || given("format")), "--perfetto takes the place of all other output"},
		{len(f.timeline.spans) > 0 && given("sample"), "--sample is for single events: it would tear the pairs of --span apart"},
		{f.page.wanted() && (f.aggregate.wanted() || f.profile.wanted() || f.timeline.wanted() || given("snapshot-on") || given("json") || given("format")), "--html takes the place of all other output"},
		{f.profile.pprof == "-" && f.profile.folded == "-", "--pprof and --folded cannot both be written to stdout"},
		{given("weigh") && !f.profile.wanted(), "--weigh is for --pprof and --folded"},
		{aggregates && given("max-string"), "--max-string is for events that are printed: groups are told apart by the first 120 bytes of a text"},
		{f.aggregate.slower.given && f.profile.wanted(), "--slower prints pairs: --pprof and --folded are for single events"},
		{f.aggregate.slower.given && given("sample"), "--sample is for single events: it would tear the pairs of --slower apart"},
		{f.aggregate.slower.given && given("snapshot-on"), "--snapshot-on is for events, and --slower prints pairs of them"},
		{given("max-groups") && len(f.aggregate.by) == 0, "--max-groups has no effect without --by: there is one group"},
		{f.replayed != nil && f.aggregate.order.rate && f.aggregate.interval == 0, "--rate of recordings needs --interval, which says of how long"},
		{aggregates && given("snapshot-on"), "--snapshot-on is for events that are printed, not for an aggregation"},
		{!given("snapshot-on") && (given("before") || given("after") || given("snapshot-every")), "--before, --after and --snapshot-every are for --snapshot-on"},
		{f.snapshots.before < 0, fmt.Sprintf("--before %d is negative", f.snapshots.before)},
		{f.snapshots.after < 0, fmt.Sprintf("--after %d is negative", f.snapshots.after)},
		{f.snapshots.every < 0, fmt.Sprintf("--snapshot-every %v is negative", f.snapshots.every)},
		{f.record.path == "-", "--record - is no file: what it writes is not for a pipe; ./- is a file of that name"},
		{f.user && given("link"), "--link is how the kernel attaches: with --user it attaches to nothing"},
		{f.user && given("force"), "--force is for sites that the kernel attaches to: with --user it attaches to none"},
		{f.user && given("args"), "--args is for functions, which only the kernel traces, and not for --user"},
		{f.user && given("str"), "--str is for probes without types, which only the kernel traces, and not for --user"},
		{given("wait") && len(f.command) > 0, "--wait has no effect with a command, whose probes are always waited for"},
		{(given("comm") || given("exe")) && len(f.command)+len(f.pids) > 0, "--comm and --exe are for processes that neither -p nor a command names"},
		{given("rescan") && len(f.command) > 0, "--rescan has no effect with a command, which is always looked at"},
	} {
		if c.wrong {
			return errors.New(c.why)
		}
	}
	return f.timeline.check(f.page.wanted() || f.serve.wanted())
}

// printsEvents reports whether events are printed one by one.
func (f *traceFlags) printsEvents() bool {
	return !f.aggregate.wanted() && !f.profile.wanted() && !f.timeline.wanted() && !f.page.wanted() && f.snapshots.on == ""
}

// saysNothing reports whether a flag was set to an empty value.
func saysNothing(flag *pflag.Flag) bool {
	switch v := flag.Value.(type) {
	case pflag.SliceValue:
		values := v.GetSlice()
		for _, s := range values {
			if s == "" {
				return true
			}
		}
		return len(values) == 0
	default:
		return flag.Value.String() == ""
	}
}

// bytesValue is a flag for a number of bytes.
type bytesValue int

// units may follow a number of bytes. As in GNU's tools, K is 1024 and
// KB 1000.
var units = map[string]int64{
	"": 1, "B": 1,
	"K": 1 << 10, "KIB": 1 << 10, "KB": 1e3,
	"M": 1 << 20, "MIB": 1 << 20, "MB": 1e6,
	"G": 1 << 30, "GIB": 1 << 30, "GB": 1e9,
}

func (b *bytesValue) Set(s string) error {
	digits := len(s) - len(strings.TrimLeft(s, "+-0123456789"))
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	unit, ok := units[strings.ToUpper(strings.TrimSpace(s[digits:]))]
	switch {
	case err != nil || !ok:
		return errors.New("want a number of bytes, or one with K, M or G")
	case n > math.MaxInt/unit || n < math.MinInt/unit:
		return errors.New("the number of bytes does not fit 64 bits")
	}
	*b = bytesValue(n * unit)
	return nil
}

func (b *bytesValue) String() string { return formatBytes(int(*b)) }
func (b *bytesValue) Type() string   { return "bytes" }

// formatBytes writes n as a multiple of the largest unit that divides it.
func formatBytes(n int) string {
	unit := ""
	for _, u := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.Itoa(n) + unit
}
