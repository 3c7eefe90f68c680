package sdtdump

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/version"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // something could not be read, or nothing matched
	exitUsage  = 2
)

// options are the options of the command line.
type options struct {
	targets []string
	pid     int
	all     bool
	probe   string
	format  string
	json    bool
	symbols bool
	disasm  bool
	check   bool
	// providers are the files that name arguments.
	providers []string

	selector   *selector.Selector // nil for every probe
	prototypes *prototype.Table   // nil for no names but those in the objects
	color      bool
}

// errUsage wraps errors of the command's user.
type errUsage struct{ error }

func (e errUsage) Unwrap() error { return e.error }

// Run runs sdtdump with args, which do not begin with its name, and returns its
// exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	stderr = printable.Writer(stderr)
	code := exitDone
	cmd := command(stdout, stderr, &code)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // cobra keeps commands that complete
		cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
		cmd.RegisterFlagCompletionFunc("probe", completeProbes)
	}
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	if err := cmd.Execute(); err != nil {
		fmt.Fprintf(stderr, "sdtdump: %v\n", err)
		if errors.As(err, &errUsage{}) {
			return exitUsage
		}
		return exitFailed
	}
	return code
}

const examples = `  sdtdump /usr/lib/x86_64-linux-gnu/libstdc++.so.6
  sdtdump --probe 'hotspot:gc__*' /usr/lib/jvm
  sdtdump -p $(pidof postgres | cut -d' ' -f1) --json
  sdtdump -a --probe 'python:*'
  sdtdump --check ./libmine.so
  sdtdump -p $(pidof myapp) --probe 'myapp:*' --format markdown > PROBES.md`

// Command returns the command sdtdump for its documentation.
func Command() *cobra.Command { return command(io.Discard, io.Discard, new(int)) }

func command(stdout, stderr io.Writer, code *int) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "sdtdump [flags] TARGET...",
		Short: "Show the USDT probes of ELF files and of live processes",
		Long: `Show the USDT probes of ELF files and of live processes: provider, name,
addresses and decoded arguments, with names and types where the object has them or
they are known of its program.

A TARGET is an ELF file, a directory, which is walked, or an events directory, in
which services of package provider show their probes to everybody.
On a terminal the text is coloured, unless NO_COLOR is set.

Exit status: 0 done, 1 something could not be read, nothing
matched or --check found faults, 2 bad usage.`,
		Example:       examples,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.targets = args
			if err := o.validate(cmd.Flags()); err != nil {
				return errUsage{err}
			}
			var err error
			if o.prototypes, err = prototype.Load(o.providers...); err != nil {
				return errUsage{err}
			}
			c, err := dump(&o, stdout, stderr)
			*code = c
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVarP(&o.pid, "pid", "p", 0, "probes mapped in process `PID`")
	f.BoolVarP(&o.all, "all", "a", false, "probes mapped in every process")
	f.StringVar(&o.probe, "probe", "", "only probes that match `GLOB`, [PATH:]PROVIDER:NAME")
	f.BoolVar(&o.symbols, "symbols", false, "show the enclosing functions, demangled")
	f.BoolVar(&o.disasm, "disasm", false, "show the instructions at each site, and whether it is watched now")
	f.StringSliceVar(&o.providers, "providers", nil, "`FILE` that names arguments of probes, as in 'mine:request(char *path, long took ns)', beside the known ones; none for no names")
	cmd.Version = version.String()
	cmd.SetVersionTemplate("sdtdump {{.Version}}\n")
	f.Bool("version", false, "print the version and exit")
	f.BoolVar(&o.check, "check", false, "show what libbpf, bpftrace, bcc, gdb, perf and the kernel would miss or refuse, instead of the probes")
	f.StringVar(&o.format, "format", "text", "output `FORMAT`: "+strings.Join(formatNames(), "|"))
	f.BoolVar(&o.json, "json", false, "the same as --format json: one object a line")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return errUsage{fmt.Errorf("%w; see sdtdump --help", err)}
	})
	return cmd
}

func (o *options) validate(flags *pflag.FlagSet) error {
	sources := 0
	for _, given := range []bool{len(o.targets) > 0, flags.Changed("pid"), o.all} {
		if given {
			sources++
		}
	}
	switch {
	case sources == 0:
		return errors.New("nothing to read: give files or directories, -p PID or -a; see sdtdump --help")
	case sources > 1:
		return errors.New("give either files and directories, or -p PID, or -a")
	case flags.Changed("pid") && o.pid <= 0:
		return fmt.Errorf("process id %d is not positive", o.pid)
	case flags.Changed("probe") && o.probe == "":
		return errors.New("--probe is empty: want [PATH:]PROVIDER:NAME, with '*' for any")
	}
	if o.json {
		if flags.Changed("format") && o.format != "json" {
			return fmt.Errorf("--json and --format %s exclude each other", o.format)
		}
		o.format = "json"
	}
	if formatOf(o.format) == nil {
		return fmt.Errorf("unknown format %q: want %s", o.format, strings.Join(formatNames(), ", "))
	}
	for name, set := range map[string]bool{"symbols": o.symbols, "disasm": o.disasm} {
		if set && o.format != "text" && o.format != "json" && (name != "symbols" || o.format != "markdown") {
			return fmt.Errorf("--%s has no effect with --format %s", name, o.format)
		}
	}
	if o.check {
		for _, name := range []string{"format", "json", "symbols", "disasm", "providers"} {
			if flags.Changed(name) {
				return fmt.Errorf("--%s has no effect with --check, which shows no probes", name)
			}
		}
	}
	if o.probe != "" {
		s, err := selector.Parse(o.probe)
		if err != nil {
			return err
		}
		if s.Kind != reader.USDT {
			return fmt.Errorf("probe %q selects functions; sdtdump shows USDT probes", o.probe)
		}
		o.selector = &s
	}
	return nil
}
