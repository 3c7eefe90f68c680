package sdtdump

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// TestDeclared checks that sdtdump recognises a process, this one, that has declared probes
// and not loaded them, alone and beside loaded ones.
func TestDeclared(t *testing.T) {
	p, q := provider.New("undumped", nil), provider.New("dumped", nil)
	provider.NewProbe0(p, "one")
	provider.NewProbe0(p, "two")
	provider.NewProbe0(q, "three")
	if err := q.Load(); err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	const remedy = "without loading: it has to call provider.LoadAll, or to be started with USDT_LOAD=1"
	for _, test := range []struct {
		probe string
		code  int
		want  string
	}{
		{"undumped:one", exitFailed, "has declared undumped:one " + remedy},
		{"undumped:*", exitFailed, "and 1 more " + remedy},
		{"*dumped:*", exitDone, "and 1 more " + remedy},
		{"dumped:*", exitDone, ""},
		{"undumped:three", exitFailed, `no probe matches "undumped:three"`},
	} {
		var stdout, stderr bytes.Buffer
		code := Run([]string{"-p", strconv.Itoa(os.Getpid()), "--probe", test.probe}, &stdout, &stderr)
		if code != test.code || !strings.Contains(stderr.String(), test.want) || test.want == "" && stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, want %d and %q", test.probe, code, &stderr, test.code, test.want)
		}
	}
	if err := p.Load(); err != nil {
		t.Error(err)
	}
	p.Close()
}
