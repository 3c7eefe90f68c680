package documents_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// numbers are the places where comments for users repeat a constant, such as a default,
// which users do not see. Other comments name the constant. A line has a file, what stands
// around the number there, and the constant with its file.
var numbers = []struct{ file, around, constant string }{
	{"attach/aggregation_builder.go", "two and at most (#),", "attach/aggregation_builder.go maxBounds"},
	{"attach/aggregation_builder.go", "key has at most (#) bytes", "attach/internal/bind/groups.go maxGroupBytes"},
	{"attach/aggregation_builder.go", "the first (#) bytes count", "attach/internal/query/aggregate.go KeyString"},
	{"attach/event_options.go", "to a power of two; 0 means (#)", "attach/event_options.go defaultRingSize"},
	{"attach/event_options.go", "Unwind] (#)", "attach/event_options.go unwindRingSize"},
	{"attach/event_options.go", "slice; 0 means (#)", "attach/event_options.go defaultMaxString"},
	{"attach/options.go", "their first (#) bytes are", "internal/grammar/grammar.go MaxString"},
	{"attach/pairs.go", "many as fit in (#),", "attach/internal/bind/pairrecord.go startBytes"},
	{"attach/pairs.go", "MiB, at most (#)", "attach/internal/bind/pairrecord.go mostStarts"},
	{"attach/target.go", "more than (#) PIDs", "attach/internal/site/sharing.go ManyProcesses"},
	{"attach/latency.go", "wait for their ends; 0 means (#)", "attach/latency.go defaultMaxPending"},
	{"attach/latency.go", "forgotten when (#) of its key", "attach/internal/query/pairs.go MaxWaiting"},
	{"attach/latency.go", "forgotten because (#) others", "attach/internal/query/pairs.go MaxWaiting"},
	{"attach/loss.go", "looks that are (#) apart", "attach/internal/source/losses.go lossInterval"},
	{"attach/snapshot.go", "of all probes; 0 means (#)", "attach/snapshot.go defaultBefore"},
	{"attach/snapshot.go", "0 means 100 and (#)", "attach/snapshot.go defaultAfter"},
	{"notes/section.go", "longer than (#)", "notes/section.go maxNote"},
	{"provider/provider.go", "has more than (#) publishes", "provider/load_linux.go manyObjects"},
	{"provider/provider.go", "beyond the first (#);", "provider/declaration_errors.go maxWrong"},
	{"provider/provider.go", "has attached, or after (#)", "provider/load_linux.go tracerTime"},
	{"provider/struct.go", "structs of more than (#),", "notes/types.go MaxBlockSize"},
	{"provider/struct.go", "KiB, (#) fields", "notes/types.go MaxFields"},
	{"provider/struct.go", "fields or (#) levels", "notes/types.go MaxNesting"},
	{"provider/options.go", "the last (#) files are kept", "provider/recorder_linux.go keptFiles"},
	{"provider/options.go", "of the file; 0 means (#)", "provider/recorder_linux.go defaultRecorder"},
	{"provider/options.go", "each string, (#) bytes are kept", "provider/options.go recordedString"},
	{"reader/check.go", "joined, the first (#)", "reader/file.go maxErrors"},
	{"reader/declared.go", "not loaded: up to (#),", "reader/declared.go maxDeclared"},
	{"reader/site.go", "in the file, up to (#)", "reader/site.go siteSize"},
}

// TestNumbers checks that numbers in comments for users are those of the code.
func TestNumbers(t *testing.T) {
	for _, n := range numbers {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(n.around), `\(#\)`, `(\d[\d,]*(?: (?:KiB|MiB|ms|seconds))?)`)
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(comments(t, n.file), -1)
		file, name, _ := strings.Cut(n.constant, " ")
		want := valueOf(t, file, name)
		if len(found) != 1 {
			t.Errorf("%s: %d comments have %q, want one", n.file, len(found), n.around)
			continue
		}
		if got := number(t, found[0][1]); got != want {
			t.Errorf("%s: a comment has %s in %q, and %s is %d", n.file, found[0][1], n.around, name, want)
		}
	}
}

// number returns the value of digits with a unit.
func number(t *testing.T, text string) int64 {
	digits, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSuffix(digits, ","), ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ms": int64(time.Millisecond), "seconds": int64(time.Second)}[unit]
}

func parsedFile(t *testing.T, file string) *ast.File {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// comments returns the comments of a file, each on one line.
func comments(t *testing.T, file string) string {
	var b strings.Builder
	for _, c := range parsedFile(t, file).Comments {
		b.WriteString(strings.Join(strings.Fields(c.Text()), " ") + "\n")
	}
	return b.String()
}

// valueOf returns the value of a constant, or of a variable's beginning; durations in
// nanoseconds.
func valueOf(t *testing.T, file, name string) int64 {
	t.Helper()
	value := int64(-1)
	ast.Inspect(parsedFile(t, file), func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, id := range s.Names {
			if id.Name != name || i >= len(s.Values) {
				continue
			}
			text := types.ExprString(s.Values[i])
			for unit, d := range map[string]time.Duration{"time.Millisecond": time.Millisecond, "time.Second": time.Second} {
				text = strings.ReplaceAll(text, unit, fmt.Sprint(int64(d)))
			}
			v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
			if err != nil {
				t.Fatalf("%s: %s is %s: %v", file, name, text, err)
			}
			value, _ = constant.Int64Val(v.Value)
		}
		return true
	})
	if value < 0 {
		t.Errorf("%s has no constant %s", file, name)
	}
	return value
}
