package sdtdump

import (
	"bytes"
	"strings"
	"testing"
)

// TestWrongFlags checks wrong values of every flag: out of range, no pattern, empty,
// or without effect beside the rest.
func TestWrongFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "nothing to read"},
		{[]string{"-p", "0"}, "process id 0 is not positive"},
		{[]string{"-p", "-1"}, "process id -1 is not positive"},
		{[]string{"-p", "x"}, "invalid argument"},
		{[]string{"-p", "0", "/bin/true"}, "either files"},
		{[]string{"-p", "1", "-a"}, "either files"},
		{[]string{"-a", "/bin/true"}, "either files"},
		{[]string{"--probe", "", "-a"}, "--probe is empty"},
		{[]string{"--probe", "x", "-a"}, "want [PATH:]PROVIDER:NAME"},
		{[]string{"--probe", "x:[", "-a"}, "is not closed"},
		{[]string{"--probe", "uprobe:x:y", "-a"}, "selects functions"},
		{[]string{"--format", "", "-a"}, "unknown format"},
		{[]string{"--format", "xml", "-a"}, "unknown format"},
		{[]string{"--json", "--format", "text", "-a"}, "exclude each other"},
		{[]string{"--json", "--format", "c", "-a"}, "exclude each other"},
		{[]string{"--symbols", "--format", "c", "-a"}, "--symbols has no effect with --format c"},
		{[]string{"--disasm", "--format", "bpftrace", "-a"}, "--disasm has no effect with --format bpftrace"},
		{[]string{"--nonsense"}, "unknown flag"},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(test.args, &stdout, &stderr)
		if said := stderr.String(); code != exitUsage || stdout.Len() > 0 || strings.Count(said, "\n") != 1 || !strings.Contains(said, test.want) {
			t.Errorf("sdtdump %q: exit code %d, want %d, prints %q and says %q, want one line with %q", test.args, code, exitUsage, &stdout, said, test.want)
		}
	}
}
