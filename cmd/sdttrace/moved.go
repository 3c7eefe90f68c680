package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// moved says how what flags and verbs of earlier versions did is written now.
var moved = map[string]string{
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

// elsewhere returns the error for a flag that a verb lacks: it names the verbs that have it.
func elsewhere(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name := unknown.GetSpecifiedName()
	is := "--" + name
	if unknown.GetSpecifiedShortnames() != "" {
		is = "-" + name
		for long, w := range words {
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
	if now := moved["--"+name]; now != "" {
		return fmt.Errorf("%s: write %s", is, now)
	}
	var have []string
	for _, c := range cmd.Root().Commands() {
		if flag := c.Flags().Lookup(name); flag != nil && !flag.Hidden && !c.Hidden {
			have = append(have, c.Name())
		}
	}
	slices.Sort(have)
	switch len(have) {
	case 0:
		return fmt.Errorf("%s, nor of another verb", is)
	case 1:
		return fmt.Errorf("%s: sdttrace %s has it", is, have[0])
	}
	return fmt.Errorf("%s: %s have it", is, strings.Join(have, ", "))
}

// noVerb returns the error for a first word that is neither a verb nor a probe.
func noVerb(word string) error {
	if now := cmp.Or(moved[word], moved["--"+word]); now != "" {
		return fmt.Errorf("%s is no verb: write %s", word, now)
	}
	nearest, least := "", 0
	for _, v := range verbs {
		if d := distance(word, v.name()); nearest == "" || d < least {
			nearest, least = v.name(), d
		}
	}
	return fmt.Errorf("%q is no verb, and a PROBE is [PATH:]PROVIDER:NAME; the nearest verb is %s", word, nearest)
}

// distance returns how many letters must be added, removed or changed to make a into b. A
// beginning that both have counts for b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	if a != "" && strings.HasPrefix(b, a) {
		return 0
	}
	return row[len(b)]
}
