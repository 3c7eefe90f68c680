package sdtdump

import (
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// documented is a record with every kind of type.
type documented struct {
	ID    uint32
	Path  string
	Body  []byte
	Took  time.Duration
	At    time.Time
	Peer  netip.Addr
	Codes [3]int16
	From  struct {
		Host string
		Port uint16
	}
	Names []string
	OK    bool
}

// TestMarkdown checks the table of a service: its types are those of Go, and its rows
// are sorted by name, in whatever order the probes were declared.
func TestMarkdown(t *testing.T) {
	p := provider.New("sdtdump_markdown", nil)
	provider.NewStructProbe[documented](p, "served")
	provider.NewProbe2[uint64, string](p, "started", "id", "path")
	provider.NewProbe0(p, "idle")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	args := []string{"-p", strconv.Itoa(os.Getpid()), "--probe", "sdtdump_markdown:*", "--format", "markdown"}
	const want = "| Probe | Arguments | Semaphore |\n" +
		"| --- | --- | --- |\n" +
		"| `sdtdump_markdown:idle` |  | yes |\n" +
		"| `sdtdump_markdown:served` | `ID uint32`, `Path string`, `Body []byte`, `Took time.Duration`, `At time.Time`, `Peer netip.Addr`, " +
		"`Codes [3]int16`, `From struct{Host string; Port uint16}`, `Names []string`, `OK bool` | yes |\n" +
		"| `sdtdump_markdown:started` | `id uint64`, `path string` | yes |\n"
	if got := output(t, args...); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestMarkdownCode(t *testing.T) {
	for in, want := range map[string]string{
		"a:b_c":           "`a:b_c`",
		"a|b":             `a\|b`,
		"a`b`<script>\\*": "a\\`b\\`\\<script\\>\\\\\\*",
		"a\nb":            `a\\nb`,
	} {
		if got := markdownCode(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestNoteType(t *testing.T) {
	for _, c := range []struct {
		arg  notes.Arg
		want string
	}{
		{notes.Arg{Size: 4, Signed: true}, "int32"},
		{notes.Arg{Size: 8}, "uint64"},
		{notes.Arg{Size: 8, Float: true}, "float64"},
	} {
		if got := noteType(&c.arg); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.arg, got, c.want)
		}
	}
}
