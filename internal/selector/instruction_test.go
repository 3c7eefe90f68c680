package selector

import "testing"

func TestInstruction(t *testing.T) {
	for _, tt := range []struct {
		selector        string
		offset, address uint64
		byAddress       bool
		function        string // which matches
	}{
		{"uprobe:x:f+0x1f", 0x1f, 0, false, "f"},
		{"uprobe:x:f+31", 31, 0, false, "f"},
		{"uprobe:x:*+4", 4, 0, false, "g"},
		{"uprobe:x:N::operator+(int)", 0, 0, false, "N::operator+(int)"},
		{"uprobe:x:N::operator+", 0, 0, false, "N::operator+"},
		{"uprobe:x:N::operator++4", 4, 0, false, "N::operator+"},
		{"uprobe:x:f+zero", 0, 0, false, "f+zero"},
		{"uprobe:x:0x401136", 0, 0x401136, true, ""},
	} {
		s, err := Parse(tt.selector)
		if err != nil {
			t.Errorf("%s: %v", tt.selector, err)
			continue
		}
		if s.Offset != tt.offset || s.Address != tt.address || s.ByAddress != tt.byAddress {
			t.Errorf("%s: got offset %#x, address %#x, %v", tt.selector, s.Offset, s.Address, s.ByAddress)
		}
		if got := s.MatchFunction("/bin/x", tt.function); got != (tt.function != "") {
			t.Errorf("%s selects %q: %v", tt.selector, tt.function, got)
		}
		if got := s.String(); got != tt.selector {
			t.Errorf("String of %q: got %q", tt.selector, got)
		}
	}
}
