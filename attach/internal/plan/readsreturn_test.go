package plan

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestReadsReturn looks for uses of the return address in functions.
func TestReadsReturn(t *testing.T) {
	for _, test := range []struct {
		name, code string
		is32, want bool
	}{
		{"dlsym of glibc", "55 53 4883ec38 64488b042528000000 4889442428 488b05cdd81400 488b9868030000 4885db 742a 488b4310 488b542448", false, true},
		{"dlsym of musl", "488b1424 e900000000", false, true},
		{"mcount", "4883ec38 48890424 488b742438", false, true},
		{"by %rbp", "55 4889e5 4883ec10 488b4508", false, true},
		{"behind a call", "53 e800000000 488b7c2408", false, true},
		{"a push of it", "ff3424", false, true},
		{"get_pc_thunk", "8b1c24 c3", true, true},
		{"an argument on the stack", "488b442408 c3", false, false},
		{"a saved register", "53 488b0424", false, false},
		{"the caller's frame", "488b4508 c3", false, false},
		{"behind the epilogue", "53 5b c3 488b0424", false, false},
		{"another function", "53 4883c408 eb00 488b0424", false, false},
		{"an aligned stack", "4883e4f0 488b0424", false, false},
		{"a barrier", "f0830c2400 f083042400 c3", false, false},
		{"an address", "488d0424 c3", false, false},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(test.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := readsReturn(code, !test.is32); got != test.want {
			t.Errorf("%s: got %t, want %t", test.name, got, test.want)
		}
	}
}
