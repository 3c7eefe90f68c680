package supply_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/go-usdt/usdt/"

// layers are the packages of the product, each with the packages of this module
// that it imports. A package comes after all that it imports, so that the order
// of the lines shows that there is no circle.
const layers = `
internal/spelling
github.com/go-usdt/usdt
notes
elfgen
internal/btfgen
internal/cdecl
internal/await
internal/mangled
internal/fold: internal/mangled
internal/held
internal/limits
internal/manpage
internal/heldup
internal/printable
internal/procfs
internal/record
internal/safeelf
internal/container: internal/procfs
internal/debugfile: internal/procfs internal/safeelf
internal/pcln: internal/safeelf
internal/sys
internal/x86
reader: internal/cdecl internal/debugfile internal/held internal/mangled internal/pcln internal/procfs internal/safeelf internal/sys internal/x86 notes
internal/selector: internal/procfs internal/spelling reader
internal/version
prototype: notes
event/args: internal/printable notes
internal/kernel
attach/internal/cgroups: internal/container internal/kernel
attach/internal/selected: attach/internal/cgroups
internal/kallsyms
attach/internal/libbpf
attach/internal/library: internal/procfs internal/safeelf internal/spelling
attach/internal/stackswitch: internal/safeelf internal/x86
attach/internal/returns: internal/x86
attach/internal/overlay: internal/kernel
attach/internal/nested
internal/privilege
attach/internal/process: internal/kernel internal/procfs
attach/internal/family: attach/internal/process internal/kernel internal/procfs
attach/internal/shield
internal/stub: notes
internal/watch: internal/procfs internal/sys
internal/tap: internal/btfgen internal/record internal/stub
internal/ring: internal/record internal/sys
attach/internal/clock: attach/internal/process internal/ring
internal/rendezvous: internal/record internal/ring internal/sys notes
internal/owned: internal/sys
provider: elfgen internal/await internal/btfgen internal/owned internal/record internal/rendezvous internal/ring internal/stub internal/sys internal/tap notes
provider/providertest: event/args internal/btfgen internal/record internal/spelling internal/tap notes provider
internal/kernfunc: internal/owned internal/spelling notes prototype reader
internal/tracepoint: internal/privilege notes reader
internal/typed: prototype reader
symbols/internal/dwarfop
symbols/internal/span
symbols/internal/cfi: internal/safeelf symbols/internal/dwarfop
symbols/internal/jit: symbols/internal/span
symbols/internal/elfsym: internal/safeelf symbols/internal/span
symbols/internal/debuginfo: internal/mangled internal/safeelf symbols/internal/dwarfop symbols/internal/span
symbols: internal/debugfile internal/held internal/mangled internal/pcln internal/procfs internal/safeelf symbols/internal/cfi symbols/internal/debuginfo symbols/internal/elfsym symbols/internal/jit
attach/internal/maplog: internal/kernel internal/procfs internal/safeelf symbols
internal/decode/hook: symbols
internal/grammar:
internal/shape: internal/grammar internal/record internal/spelling notes reader
event: event/args internal/decode/hook internal/printable internal/record internal/shape notes reader symbols
internal/decode: event internal/decode/hook internal/record internal/shape reader symbols
internal/order: event symbols
total: event internal/order reader
profile: event internal/printable symbols total
internal/tracefile: event internal/record internal/shape notes reader symbols
attach/internal/naming: attach/internal/maplog internal/decode internal/kallsyms internal/procfs reader symbols
attach/internal/filter: internal/grammar
internal/kernelsites: internal/kernfunc internal/printable internal/selector internal/spelling internal/tracepoint reader
attach/internal/discover: attach/internal/library attach/internal/maplog attach/internal/overlay attach/internal/process internal/kernelsites internal/kernfunc internal/mangled internal/privilege internal/procfs internal/selector internal/spelling internal/sys reader symbols
attach/internal/link: attach/internal/shield internal/heldup internal/kernel internal/kernfunc internal/privilege internal/procfs internal/sys reader
attach/internal/operand: internal/held internal/procfs internal/safeelf notes reader
attach/internal/operand/operandtest: attach/internal/operand internal/safeelf notes reader
attach/internal/plan: attach/internal/library attach/internal/operand attach/internal/returns attach/internal/stackswitch internal/mangled internal/procfs internal/safeelf internal/sys notes reader
attach/internal/query: attach/internal/filter attach/internal/operand event internal/container internal/fold internal/record internal/shape reader symbols
attach/internal/codegen: attach/internal/cgroups attach/internal/filter attach/internal/operand attach/internal/process attach/internal/query attach/internal/selected internal/held internal/kernel internal/record internal/shape notes reader
attach/internal/semaphore: attach/internal/operand internal/kernel internal/procfs internal/safeelf notes reader
attach/internal/site: attach/internal/discover attach/internal/link attach/internal/operand attach/internal/overlay attach/internal/plan attach/internal/process attach/internal/semaphore internal/privilege internal/procfs internal/tracefile reader
attach/internal/argument: attach/internal/operand internal/selector internal/shape internal/spelling notes reader symbols
attach/internal/bind: attach/internal/argument attach/internal/discover attach/internal/filter attach/internal/operand attach/internal/query attach/internal/site event internal/held internal/kernfunc internal/mangled internal/record internal/selector internal/shape internal/spelling internal/tracefile internal/tracepoint internal/typed notes prototype reader symbols
attach/internal/numbering: attach/internal/bind attach/internal/discover attach/internal/site reader
attach/internal/bind/bindtest: attach/internal/bind attach/internal/filter attach/internal/query attach/internal/site internal/selector notes prototype reader
attach/internal/tally: attach/internal/filter attach/internal/query event internal/fold internal/record internal/shape notes reader symbols
attach/internal/sums: attach/internal/bind attach/internal/query attach/internal/site attach/internal/tally event internal/order reader total
attach/internal/load: attach/internal/bind attach/internal/cgroups attach/internal/codegen attach/internal/process attach/internal/query attach/internal/selected attach/internal/tally internal/container internal/kernel internal/privilege internal/procfs internal/record reader
attach/internal/source: attach/internal/bind attach/internal/cgroups attach/internal/discover attach/internal/query attach/internal/site attach/internal/tally event internal/container internal/decode internal/kernel internal/record internal/rendezvous internal/ring internal/selector internal/tracefile reader
attach/internal/recorder: attach/internal/bind attach/internal/clock attach/internal/naming attach/internal/numbering attach/internal/source event internal/container internal/decode internal/record internal/shape internal/tracefile reader
attach/internal/local: attach/internal/bind attach/internal/clock attach/internal/discover attach/internal/filter attach/internal/process attach/internal/query attach/internal/site attach/internal/source internal/privilege internal/procfs internal/rendezvous internal/selector notes reader
attach: attach/internal/argument attach/internal/bind attach/internal/cgroups attach/internal/clock attach/internal/codegen attach/internal/discover attach/internal/family attach/internal/filter attach/internal/link attach/internal/load attach/internal/local attach/internal/naming attach/internal/nested attach/internal/numbering attach/internal/operand attach/internal/plan attach/internal/process attach/internal/query attach/internal/recorder attach/internal/selected attach/internal/site attach/internal/source attach/internal/sums attach/internal/tally event internal/container internal/decode internal/kernel internal/kernfunc internal/printable internal/privilege internal/procfs internal/record internal/selector internal/shape internal/spelling internal/tracefile internal/tracepoint notes prototype reader symbols total
attach/argasm: attach/internal/operand notes reader
attach/collection: attach attach/internal/discover attach/internal/libbpf attach/internal/link attach/internal/operand attach/internal/plan attach/internal/process attach/internal/site internal/kernel internal/kernfunc internal/privilege internal/selector notes reader
attach/collection/usdt2go: attach/internal/libbpf internal/printable
internal/program: attach internal/kernel reader
internal/traps: attach elfgen internal/kernel internal/procfs internal/program internal/stub internal/sys internal/x86 notes reader
internal/demo: provider
internal/top: internal/printable
internal/gate: attach internal/await internal/kernel internal/privilege internal/procfs notes reader
internal/sdtdump: internal/printable internal/procfs internal/selector internal/version notes prototype reader
internal/genman: internal/manpage internal/sdtdump
cmd/sdtdump: internal/limits internal/sdtdump
cmd/sdttrace/internal/page: event internal/grammar internal/printable reader symbols
cmd/sdttrace/internal/serve: cmd/sdttrace/internal/page internal/printable
cmd/sdttrace/internal/interrupt:
cmd/sdttrace/internal/command: attach cmd/sdttrace/internal/interrupt internal/gate internal/printable internal/procfs internal/program internal/selector notes reader
cmd/sdttrace/internal/output: internal/printable
cmd/sdttrace/internal/screen: internal/printable
cmd/sdttrace/internal/format: attach event internal/held internal/kernfunc internal/mangled internal/printable internal/selector internal/spelling internal/typed notes prototype reader total
cmd/sdttrace/internal/flagvalue: attach
cmd/sdttrace/internal/look: attach cmd/sdttrace/internal/flagvalue internal/selector internal/spelling prototype reader
cmd/sdttrace/internal/shell:
cmd/sdttrace/internal/session: attach event internal/selector internal/sys total
cmd/sdttrace/internal/perfetto: attach cmd/sdttrace/internal/session event internal/printable notes symbols
cmd/sdttrace/internal/bench: attach cmd/sdttrace/internal/format internal/program internal/sys internal/traps provider reader
cmd/sdttrace/internal/cost: attach cmd/sdttrace/internal/format cmd/sdttrace/internal/session internal/printable internal/procfs internal/traps reader
cmd/sdttrace/internal/remark: attach cmd/sdttrace/internal/command cmd/sdttrace/internal/cost cmd/sdttrace/internal/format cmd/sdttrace/internal/session cmd/sdttrace/internal/shell internal/printable internal/procfs internal/selector internal/traps prototype reader total
cmd/sdttrace/internal/recording: cmd/sdttrace/internal/session internal/printable internal/procfs internal/ring internal/tracefile
cmd/sdttrace/internal/list: attach cmd/sdttrace/internal/look cmd/sdttrace/internal/output cmd/sdttrace/internal/recording cmd/sdttrace/internal/remark cmd/sdttrace/internal/screen cmd/sdttrace/internal/shell internal/printable internal/procfs internal/selector internal/tracepoint internal/watch notes prototype reader
cmd/sdttrace/internal/cgroup: cmd/sdttrace/internal/session internal/container internal/printable internal/spelling total
cmd/sdttrace/internal/complete: cmd/sdttrace/internal/session internal/kernelsites internal/printable internal/procfs internal/selector notes prototype reader
cmd/sdttrace/internal/word: attach cmd/sdttrace/internal/flagvalue internal/spelling
cmd/sdttrace/internal/breakpoint: attach cmd/sdttrace/internal/command cmd/sdttrace/internal/flagvalue event internal/gate internal/privilege
cmd/sdttrace/internal/groups: attach cmd/sdttrace/internal/format cmd/sdttrace/internal/output cmd/sdttrace/internal/screen cmd/sdttrace/internal/session internal/spelling total
cmd/sdttrace/internal/profiles: attach cmd/sdttrace/internal/format cmd/sdttrace/internal/recording cmd/sdttrace/internal/session event internal/printable profile
cmd/sdttrace/internal/pagesource: attach cmd/sdttrace/internal/format cmd/sdttrace/internal/list cmd/sdttrace/internal/page cmd/sdttrace/internal/perfetto cmd/sdttrace/internal/remark cmd/sdttrace/internal/serve cmd/sdttrace/internal/session event internal/fold internal/printable internal/version profile reader
cmd/sdttrace/internal/topsource: attach cmd/sdttrace/internal/cgroup cmd/sdttrace/internal/format cmd/sdttrace/internal/session event internal/printable internal/selector internal/top notes prototype reader total
cmd/sdttrace/internal/tour: attach cmd/sdttrace/internal/format cmd/sdttrace/internal/output event internal/demo internal/printable internal/program internal/sdtdump
cmd/sdttrace/internal/receiver: attach internal/selector
cmd/sdttrace: attach cmd/sdttrace/internal/bench cmd/sdttrace/internal/breakpoint cmd/sdttrace/internal/cgroup cmd/sdttrace/internal/command cmd/sdttrace/internal/complete cmd/sdttrace/internal/cost cmd/sdttrace/internal/flagvalue cmd/sdttrace/internal/format cmd/sdttrace/internal/groups cmd/sdttrace/internal/interrupt cmd/sdttrace/internal/list cmd/sdttrace/internal/look cmd/sdttrace/internal/output cmd/sdttrace/internal/page cmd/sdttrace/internal/pagesource cmd/sdttrace/internal/perfetto cmd/sdttrace/internal/profiles cmd/sdttrace/internal/receiver cmd/sdttrace/internal/recording cmd/sdttrace/internal/remark cmd/sdttrace/internal/screen cmd/sdttrace/internal/serve cmd/sdttrace/internal/session cmd/sdttrace/internal/shell cmd/sdttrace/internal/topsource cmd/sdttrace/internal/tour cmd/sdttrace/internal/word internal/container internal/demo internal/gate internal/grammar internal/heldup internal/limits internal/printable internal/procfs internal/selector internal/spelling internal/top internal/version profile prototype reader
`

// testRoom reports whether only tests, and other test rooms, may import a
// package.
func testRoom(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/systest/")
}

// TestLayers checks that each package imports what layers says and nothing else of
// this module, that no package imports one above it, and that the product does not
// import test rooms.
func TestLayers(t *testing.T) {
	want, position := map[string][]string{}, map[string]int{}
	for line := range strings.Lines(strings.TrimSpace(layers)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		position[pkg] = len(position)
		want[pkg] = strings.Fields(imports)
		for _, lower := range want[pkg] {
			if at, ok := position[lower]; !ok || at >= position[pkg] {
				t.Errorf("layers: %s stands before %s, which it imports", pkg, lower)
			}
		}
	}
	for _, line := range list(t, "-f", `{{.ImportPath}}{{range .Imports}},{{.}}{{end}}`, "./...") {
		pkgs := strings.Split(line, ",")
		pkg := strings.TrimPrefix(pkgs[0], module)
		imports := []string{}
		for _, i := range pkgs[1:] {
			if i, ok := strings.CutPrefix(i, module); ok {
				imports = append(imports, i)
			}
		}
		if testRoom(pkg) {
			continue
		}
		if room := slices.IndexFunc(imports, testRoom); room >= 0 {
			t.Errorf("%s imports %s, which is for tests", pkg, imports[room])
		}
		if strings.HasPrefix(pkg, "examples/") {
			continue
		}
		allowed, ok := want[pkg]
		if !ok {
			t.Errorf("%s has no line in layers", pkg)
		} else if got, want := fmt.Sprint(imports), fmt.Sprint(allowed); got != want {
			t.Errorf("%s imports %s, layers says %s", pkg, got, want)
		}
		delete(want, pkg)
	}
	for pkg := range want {
		t.Errorf("layers has a line for %s, which does not exist", pkg)
	}
}

// TestDependencies checks that programs contain only what they use.
func TestDependencies(t *testing.T) {
	for _, pkg := range []string{"notes", "elfgen"} {
		if deps := list(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+pkg); !slices.Equal(deps, []string{module + pkg}) {
			t.Errorf("%s depends on %q, want the standard library only", pkg, deps)
		}
	}
	for _, dep := range list(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./provider") {
		if !strings.HasPrefix(dep, module) && dep != "golang.org/x/sys/unix" {
			t.Errorf("provider depends on %s, want x/sys only beside the standard library", dep)
		}
	}
	for _, heavy := range []string{"crypto", "debug/elf", "encoding/json", "net", "os/exec", "text/template"} {
		if slices.Contains(list(t, "-deps", "./provider"), heavy) {
			t.Errorf("provider depends on %s, which services that declare probes would carry", heavy)
		}
	}
	for pkg, not := range map[string][]string{
		"reader":  {"github.com/cilium/ebpf", "github.com/cilium/ebpf/link", "github.com/spf13/cobra"},
		"symbols": {"github.com/cilium/ebpf", "github.com/spf13/cobra", module + "reader"},
		"event":   {"github.com/cilium/ebpf", "github.com/cilium/ebpf/link", "github.com/spf13/cobra"},
		"total":   {"github.com/cilium/ebpf", "github.com/cilium/ebpf/link", "github.com/spf13/cobra"},
		"attach":  {"github.com/spf13/cobra", "charm.land/bubbletea/v2"},
	} {
		deps := list(t, "-deps", "./"+pkg)
		for _, dep := range not {
			if slices.Contains(deps, dep) {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
}

// TestArchitectureNamesAll checks that ARCHITECTURE.md, or the page that describes its rooms,
// names every package.
func TestArchitectureNamesAll(t *testing.T) {
	var text []byte
	for _, path := range []string{"ARCHITECTURE.md", "docs/rooms.md"} {
		b, err := os.ReadFile("../../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	for _, floor := range []string{"internal/", "internal/systest/", "attach/internal/", "symbols/internal/"} {
		rooms, err := os.ReadDir("../../../" + floor)
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range rooms {
			if room.IsDir() && !strings.Contains(string(text), floor+room.Name()) {
				t.Errorf("ARCHITECTURE.md and docs/rooms.md do not name %s%s", floor, room.Name())
			}
		}
	}
}
