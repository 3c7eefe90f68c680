package traps

import "testing"

// TestLoops finds out whether sites are in loops.
func TestLoops(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		site int
		want bool
	}{
		"in a loop":            {"\x31\xc0\x90\xff\xc8\x75\xfb\xc3", 2, true},                             // xor; 1: nop; dec; jne 1b; ret
		"behind a loop":        {"\xff\xc8\x75\xfc\x90\xc3", 4, false},                                    // 1: dec; jne 1b; nop; ret
		"in a function":        {"\x90\xc3", 0, false},                                                    // nop; ret
		"out of line":          {"\xff\xc8\x75\x01\xc3\x90\xeb\xfc", 5, false},                            // dec; jne 1f; 2: ret; 1: nop; jmp 2b
		"out of line of loops": {"\xff\xc8\x75\x03\xeb\xfa\xc3\x90\xeb\xf6", 7, true},                     // 3: dec; jne 1f; jmp 3b; ret; 1: nop; jmp 3b
		"with a call":          {"\x90\xe8\x00\x00\x00\x00\xff\xc8\x0f\x85\xf2\xff\xff\xff\xc3", 0, true}, // 1: nop; call; dec; jne 1b; ret
		"computed":             {"\x90\xff\xe0", 0, false},                                                // nop; jmp *%rax
		"cut":                  {"\x90\x0f\x85", 0, false},
	} {
		if got := loops([]byte(test.code), test.site); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
