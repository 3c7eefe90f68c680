package main

import (
	"testing"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/event"
)

// TestAddresses checks that a number which may be an address is printed as one.
func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		arg  event.Arg
		want string
	}{
		{event.Arg{Name: "arg0", Value: uint64(0x7f0123456789)}, "0x7f0123456789"},
		{event.Arg{Name: "arg11", Value: uint64(1) << 32}, "0x100000000"},
		{event.Arg{Name: "arg0", Value: uint64(1)<<32 - 1}, "4294967295"},
		{event.Arg{Name: "arg0", Value: int64(1) << 40}, "1099511627776"},
		{event.Arg{Name: "args", Value: uint64(1) << 40}, "1099511627776"},
		{event.Arg{Name: "arg", Value: uint64(1) << 40}, "1099511627776"},
	} {
		if got := string(format.AppendValue(nil, &test.arg)); got != test.want {
			t.Errorf("%s: %T %[2]v is printed as %s, want %s", test.arg.Name, test.arg.Value, got, test.want)
		}
	}
}
