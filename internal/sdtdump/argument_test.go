package sdtdump

import (
	"testing"

	"github.com/go-usdt/usdt/notes"
)

// TestArgumentPrintable checks that arguments stay printable, since a note chooses
// its symbols and the text of its arguments.
func TestArgumentPrintable(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"8@a\u202eb(%rip)", `uint64 [rip+a\u202eb]`},
		{"8@$\xff", `uint64 =\xff`},
		{"8@\x1b[2J", `?"8@\x1b[2J"`},
	} {
		args := notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, tt.arg)
		if len(args) != 1 {
			t.Fatalf("%q has %d arguments, want 1", tt.arg, len(args))
		}
		if got := string(appendArgument(nil, &args[0])); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.arg, got, tt.want)
		}
	}
}
