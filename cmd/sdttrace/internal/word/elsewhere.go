package word

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/internal/spelling"
)

// Moved says how what flags and verbs of earlier versions did is written now.
var Moved = map[string]string{
	"replay":           "sdttrace [VERB] --from FILE|PID|DIR [PROBE...]",
	"--count":          "sdttrace count PROBE...",
	"--sum":            "sdttrace stats ARG --show sum PROBE...",
	"--avg":            "sdttrace stats ARG --show avg PROBE...",
	"--min":            "sdttrace stats ARG --show min PROBE...",
	"--max":            "sdttrace stats ARG --show max PROBE...",
	"--stddev":         "sdttrace stats ARG --show stddev PROBE...",
	"--hist":           "sdttrace hist ARG PROBE...",
	"--lhist":          "sdttrace hist ARG --steps LO,HI,STEP PROBE...",
	"--latency":        "sdttrace latency START END",
	"--rate":           "sdttrace count --show rate PROBE...",
	"--record":         "sdttrace record -o FILE PROBE...",
	"--record-size":    "sdttrace record -o FILE --size SIZE PROBE...",
	"--dir":            "sdttrace [VERB] --from DIR/PID [PROBE...]",
	"--pprof":          "sdttrace profile -o FILE PROBE...",
	"--folded":         "sdttrace profile --format folded -o FILE PROBE...",
	"--perfetto":       "sdttrace timeline -o FILE PROBE...",
	"--html":           "sdttrace page -o FILE PROBE...",
	"--snapshot-on":    "sdttrace snapshot EXPR PROBE...",
	"--snapshot-every": "sdttrace snapshot EXPR --every D PROBE...",
	"--cost":           "sdttrace [VERB] -v PROBE...",
}

// others says which flag does what flags of other tracers do.
var others = map[string]string{
	"timeout":      "--duration D",
	"filter":       "--where EXPR",
	"group-by":     "--by A,...",
	"output":       "-o FILE",
	"backtrace":    "--stack",
	"follow-forks": "--children",
}

// Elsewhere returns the error for a flag that a verb lacks: it names the verbs that have it.
func Elsewhere(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name := unknown.GetSpecifiedName()
	is := "--" + name
	if unknown.GetSpecifiedShortnames() != "" {
		is = "-" + name
		for long, w := range All {
			if w.short == name {
				name = long
			}
		}
	}
	verb := cmd.Name()
	if cmd == cmd.Root() {
		verb = "print"
	}
	is += " is no flag of " + verb
	if now := cmp.Or(Moved["--"+name], others[name]); now != "" {
		return fmt.Errorf("%s: write %s", is, now)
	}
	var have, flags []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { flags = append(flags, flag.Name) })
	for _, c := range cmd.Root().Commands() {
		if flag := c.Flags().Lookup(name); flag != nil && !flag.Hidden && !c.Hidden {
			have = append(have, c.Name())
		}
	}
	slices.Sort(have)
	switch len(have) {
	case 0:
		if nearest := spelling.Nearest(name, flags); nearest != "" && unknown.GetSpecifiedShortnames() == "" {
			is += ", whose nearest is --" + nearest
		}
		return fmt.Errorf("%s, nor of another verb", is)
	case 1:
		return fmt.Errorf("%s: sdttrace %s has it", is, have[0])
	}
	return fmt.Errorf("%s: %s have it", is, strings.Join(have, ", "))
}
