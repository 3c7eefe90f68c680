package sdtdump

import "testing"

func TestComment(t *testing.T) {
	if got, want := comment("a:b */ int x; /*\nint y;"), `a:b *\/ int x; /*\nint y;`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
