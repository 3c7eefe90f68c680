package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

// flagOf has the flags that set attach.Options, by field.
var flagOf = map[string]string{
	"PIDs": "pid", "Children": "children", "RingSize": "buffer", "MaxString": "max-string", "Strings": "str", "Follow": "follow", "Args": "args", "Rescan": "rescan", "Comm": "comm", "Exe": "exe", "Via": "user", "Sample": "sample", "Stack": "stack", "Interval": "interval", "Cgroup": "cgroup", "Container": "container", "Pod": "pod", "Key": "key", "By": "by", "Quantiles": "quantiles", "MaxGroups": "max-groups",
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
func flagError(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		return usageError{word.Elsewhere(cmd, unknown)}
	}
	var value *pflag.InvalidValueError
	number := (*strconv.NumError)(nil)
	if errors.As(err, &value) && errors.Is(err, flagvalue.ErrNegative) {
		return usageError{fmt.Errorf("--%s %s is negative", value.GetFlag().Name, value.GetValue())}
	}
	unsigned := errors.As(err, &value) && strings.HasPrefix(value.GetFlag().Value.Type(), "uint") // pflag's own errors
	if value == nil || !unsigned && !errors.As(err, &number) && !strings.HasPrefix(value.Unwrap().Error(), "time: ") {
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
	_, parsed := strconv.ParseUint(value.GetValue(), 0, 64)
	if errors.Is(err, strconv.ErrRange) || unsigned && errors.Is(parsed, strconv.ErrRange) {
		want = "a smaller number"
	}
	return usageError{fmt.Errorf("%s %q: want %s", name, value.GetValue(), want)}
}

// checkGiven returns an error for flags that are wrong whatever is traced: without a value, or
// without an effect beside others. It finds the format.
func (f *traceFlags) checkGiven() error {
	var err error
	f.flags.Visit(func(flag *pflag.Flag) {
		if err == nil && saysNothing(flag) {
			err = fmt.Errorf("--%s is empty", flag.Name)
		}
	})
	if err != nil {
		return err
	}
	// Zero is no bound: a flag that sets none is left out.
	for _, name := range []string{"size", "limit", "last", "duration", "interval", "max-groups", "top", "max-string", "buffer", "every", "sample"} {
		if flag := f.flags.Lookup(name); f.given(name) && strings.Trim(flag.Value.String(), "0sKMG") == "" {
			return fmt.Errorf("--%s %s is not positive", name, flag.Value)
		}
	}
	for _, c := range []struct {
		wrong bool
		why   string
	}{
		{f.json && f.given("format") && f.format != "json", "--json and --format " + f.format + " exclude each other"},
		{f.user && f.given("link"), "--link is how the kernel attaches: with --user it attaches to nothing"},
		{f.user && f.given("force"), "--force is for sites that the kernel attaches to: with --user it attaches to none"},
		{f.user && f.given("args"), "--args is for functions, which only the kernel traces, and not for --user"},
		{f.user && (f.given("stop") || f.given("signal")), "--stop and --signal are done by the kernel at the probe: with --user events are seen too late"},
		{f.user && f.given("str"), "--str is for probes without types, which only the kernel traces, and not for --user"},
		{f.children && len(f.command)+len(f.pids) == 0, "--children is for what the processes of -p, or a command, start"},
		{f.children && f.user, "--children is for what the kernel traces, and not for --user"},
		{f.given("wait") && len(f.command) > 0, "--wait has no effect with a command, whose probes are always waited for"},
		{(f.given("comm") || f.given("exe")) && len(f.command)+len(f.pids) > 0, "--comm and --exe are for processes that neither -p nor a command names"},
		{f.given("rescan") && len(f.command) > 0, "--rescan has no effect with a command, which is always looked at"},
	} {
		if c.wrong {
			return errors.New(c.why)
		}
	}
	for _, name := range liveWords {
		if len(f.from) > 0 && f.given(name) {
			return fmt.Errorf("--%s is for live processes, and --from reads recordings", name)
		}
	}
	if len(f.from) > 0 && len(f.command) > 0 {
		return errors.New("--from reads recordings, and starts no command")
	}
	if f.json {
		f.format = "json"
	}
	if len(f.formats) > 0 && !slices.Contains(f.formats, f.format) {
		return fmt.Errorf("unknown format %q: want %s", f.format, strings.Join(f.formats, " or "))
	}
	f.output = format.Of(f.format)
	return nil
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

// suffixes are names of files that only one verb, or one format, writes.
var suffixes = []struct{ suffix, verb, format, what string }{
	{".pb.gz", "profile", "pprof", "a profile for pprof"},
	{".pftrace", "timeline", "", "a timeline"},
	{".html", "page", "", "a page"},
	{".usdt", "record", "", "a recording"},
	{".json", "", "json", "JSON"},
}

// checkSuffix returns an error if the name of the file of --output says that it holds something else
// than what the verb writes.
func (f *traceFlags) checkSuffix(verb string) error {
	for _, s := range suffixes {
		switch {
		case !strings.HasSuffix(f.out, s.suffix):
		case s.verb != "" && s.verb != verb:
			return fmt.Errorf("-o %s is the name of %s, which sdttrace %s writes, and not sdttrace %s", f.out, s.what, s.verb, verb)
		case s.format != "" && f.format != s.format && len(f.formats) > 0:
			return fmt.Errorf("-o %s is the name of %s, and what is written is %s: name another file, or --format %s", f.out, s.what, f.format, s.format)
		}
	}
	return nil
}
