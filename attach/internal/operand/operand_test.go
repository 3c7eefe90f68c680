package operand

import "testing"

// TestFollowed checks to which memory an operand leads, and what is said of one that
// is no address.
func TestFollowed(t *testing.T) {
	register := Location{Off: 8, Size: 8}
	for _, test := range []struct {
		op, want Operand
		err      string
	}{
		{op: Operand{Kind: Register, Base: register}, want: Operand{Kind: Memory, Base: register, Disp: 16}},
		{op: Operand{Kind: Address, Base: register, Disp: -4}, want: Operand{Kind: Memory, Base: register, Disp: 12}},
		{op: Operand{Kind: Memory, Base: register, Disp: -4}, want: Operand{Kind: Memory, Base: register, Disp: -4, Follow: true, FollowDisp: 16}},
		{op: Operand{Kind: Register, Base: register, Pair: register, HasPair: true}, err: "the argument is not an address that can be followed"},
		{op: Operand{Kind: Const, Value: 7}, err: "the argument is not an address that can be followed"},
	} {
		got, err := test.op.Followed(16)
		switch {
		case test.err != "":
			if err == nil || err.Error() != test.err {
				t.Errorf("%+v: error %v, want %q", test.op, err, test.err)
			}
		case err != nil || got != test.want:
			t.Errorf("%+v: got %+v (error %v), want %+v", test.op, got, err, test.want)
		}
	}
}
