package interop_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// perfRows use perf, which knows the probes of objects only after it has taken
// them into a cache of its own.
func perfRows() []row {
	packages, needs := []string{"linux-perf"}, []string{"perf"}
	unnamed := limit{mark: "no", says: "Couldn't add /proc/", why: "it adds objects to its cache by their real path, which a memory file does not have"}
	limits := map[string]limit{"memfd": unnamed, "dlopen": unnamed}
	unsigned := "prints negative numbers of 8 and 16 bits unsigned; `trace_pipe` of the same events has them right"
	address := "prints the address of a string"
	return []row{
		{
			name: "`perf buildid-cache`, `list`", packages: packages, needs: needs, want: listed, limits: limits,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				cache := filepath.Join(t.TempDir(), "cache")
				out := run(t, "perf", "--buildid-dir", cache, "buildid-cache", "--add", p.path)
				out += run(t, "perf", "--buildid-dir", cache, "list", "sdt")
				return matches(`(?m)^ +sdt_`+p.provider+`:(\w+)() +\[SDT event\]`, out), out
			},
		},
		{
			name: "`perf probe`, `record`, `script`", packages: packages, needs: needs, use: perf, want: shown,
			limits: map[string]limit{
				"memfd": unnamed, "dlopen": unnamed,
				"3":      {mark: "in part", why: unsigned, shows: "-3 1099511627776 249"},
				"6":      {mark: "in part", why: unsigned, shows: "248 200 63936 60000 -320000 9223372036854775808"},
				"8":      {mark: "in part", why: unsigned, shows: "255 201 63935 60001 -320001 4000000001 -64000000001 9223372036854775809"},
				"string": {mark: "in part", why: address, shows: "ADDRESS 1"},
				"record": {mark: "in part", why: address + ", and " + unsigned, shows: "7 65534 ADDRESS 11 8080"},
			},
		},
	}
}

// perf records the probes for a moment and prints what it recorded.
func perf(t *testing.T, p *process) (map[string]string, string) {
	t.Helper()
	dir := t.TempDir()
	perf := func(args ...string) string {
		return run(t, "perf", append([]string{"--buildid-dir", filepath.Join(dir, "cache")}, args...)...)
	}
	for _, group := range interrupted(t) {
		perf("probe", "-q", "-d", group+":*")
	}
	said := perf("buildid-cache", "--add", p.path)
	defer perf("probe", "-q", "-d", "sdt_"+p.provider+":*") // events are the machine's
	for _, s := range shapes {
		said += perf("probe", "-q", fmt.Sprintf("sdt_%s:%s", p.provider, s.name))
	}
	data := filepath.Join(dir, "data")
	said += perf("record", "-q", "-e", "sdt_"+p.provider+":*", "-p", fmt.Sprint(p.pid), "-o", data, "--", "sleep", "2")
	said += perf("script", "-i", data)
	got := matches(`(?m)sdt_`+p.provider+`:(\w+): \([0-9a-f]+\)(.*)$`, said)
	for name, args := range got {
		var values []string
		for _, m := range regexp.MustCompile(`arg\d+=(\S+)`).FindAllStringSubmatch(args, -1) {
			values = append(values, m[1])
		}
		got[name] = strings.Join(values, " ")
	}
	return addresses(got), said
}

// interrupted returns the groups of events that interrupted tests have left
// behind. While they exist, perf adds no events of the same names.
func interrupted(t *testing.T) []string {
	t.Helper()
	events, err := os.ReadFile("/sys/kernel/tracing/uprobe_events")
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^p:(sdt_shapes(\d+))/`).FindAllStringSubmatch(string(events), -1) {
		if _, err := os.Stat("/proc/" + m[2]); err != nil {
			groups[m[1]] = true
		}
	}
	return slices.Collect(maps.Keys(groups))
}
