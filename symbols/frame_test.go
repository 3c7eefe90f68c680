package symbols

import "testing"

// TestFrameName names frames of which more or less is known.
func TestFrameName(t *testing.T) {
	for want, f := range map[string]Frame{
		"main.handle":        {Func: "main.handle", Module: "/srv/shop"},
		"[libfoo.so+0x1129]": {Module: "/usr/lib/libfoo.so", Offset: 0x1129},
		"[[jit]+0x10]":       {Module: "[jit]", Offset: 0x10},
		"[unknown]":          {Address: 1},
		"[ext4]":             {Address: 1<<64 - 1, Module: "[ext4]"},
	} {
		if got := f.Name(); got != want {
			t.Errorf("%+v is named %s, want %s", f, got, want)
		}
	}
}
