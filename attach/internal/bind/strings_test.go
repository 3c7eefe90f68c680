package bind

import "testing"

// TestParseStrings checks which elements of Options.Strings can be understood.
func TestParseStrings(t *testing.T) {
	for text, ok := range map[string]bool{
		"arg0": true, "arg10": true, "arg0[arg1]": true, "arg0->8": true, "arg0->8[arg1]": true, "p:n:arg0": true, "retval": true,
		"arg": false, "arg00": false, "arg-1": false, "arg0[arg01]": false, "arg0[1]": false, "arg0->x": false, "retval[arg0]": false, "uprobe:p:n:arg0": false,
	} {
		if _, err := ParseStrings([]string{text}); (err == nil) != ok {
			t.Errorf("%s: error %v, want one: %t", text, err, !ok)
		}
	}
}
