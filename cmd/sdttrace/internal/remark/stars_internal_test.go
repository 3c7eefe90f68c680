package remark

import "testing"

// TestStars says what is special in patterns only where one may be meant in another way.
func TestStars(t *testing.T) {
	for condition, said := range map[string]bool{
		`path ~ "/item/l?mp"`:           true,
		`path~'l[ai]mp'`:                true,
		`a == 1 && path ~ "\"x\"?"`:     true,
		`path ~ "/item/l*"`:             false,
		`path == "l?mp"`:                false,
		`path ~ "l*" && query == "?"`:   false,
		`query == "?" && path ~ '/i*'`:  false,
		`list[0] == "~" && path ~ "i*"`: false,
		``:                              false,
	} {
		if got := stars(condition); (got != "") != said {
			t.Errorf("%s: %q", condition, got)
		}
	}
}
