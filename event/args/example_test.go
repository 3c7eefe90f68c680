package args_test

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-usdt/usdt/event/args"
)

// The arguments of an event as JSON, and what is wrong with them.
func ExampleStruct_AppendJSON() {
	all := args.Struct{
		{Name: "trace", Value: args.Hex{0x8c, 0x17}},
		{Name: "tags", Value: args.List{{Value: "a"}, {Err: args.ErrFault}}, Err: fmt.Errorf("%w to 2 of 3 elements", args.ErrTruncated)},
		{Name: "peer", Value: args.Struct{{Name: "port", Value: uint64(80)}}},
	}
	fmt.Println(args.Hex{0x8c, 0x17}.String())
	fmt.Printf("%s\n", all.AppendJSON(nil))
	fmt.Printf("%s\n", all.AppendErrors(nil))
	// Output:
	// 8c17
	// {"trace":"8c17","tags":["a",null],"peer":{"port":80}}
	// {"tags":"truncated to 2 of 3 elements","tags[1]":"memory not readable"}
}

// A record that is nil has no values.
func ExampleStruct_IsNil() {
	all := args.Struct{{Name: "id", Err: args.ErrNil}}
	fmt.Println(all.IsNil(), errors.Is(args.ErrNil, args.ErrFault))
	fmt.Printf("%s\n", all.AppendJSON(nil))
	// Output:
	// true true
	// null
}

func ExampleArg_AppendJSON() {
	at, err := args.Time(1e18 + 7)
	fmt.Printf("%s %v\n", (&args.Arg{Value: at}).AppendJSON(nil), err)
	_, err = args.Time(1<<63 - 1)
	fmt.Println(err)
	peer, ok := args.Address([]byte{10, 0, 0, 1})
	fmt.Printf("%s %t\n", (&args.Arg{Value: peer}).AppendJSON(nil), ok)
	_, ok = args.Address([]byte{10, 0, 0})
	fmt.Println(ok)
	fmt.Printf("%s\n", (&args.Arg{Value: time.Second}).AppendJSON(nil))
	// Output:
	// "2001-09-09T01:46:40.000000007Z" <nil>
	// the time is this or later
	// "10.0.0.1" true
	// false
	// 1000000000
}

// Text is the value of a label.
func ExampleArg_Text() {
	for _, v := range []any{"GET \"/\"\xff", uint64(7), 0.5, args.Hex{1, 2}, netip.MustParseAddr("::1"), nil} {
		fmt.Printf("%s|", (&args.Arg{Value: v}).Text())
	}
	// Output:
	// GET "/"�|7|0.5|0102|::1||
}

// Arguments that AppendJSON and AppendErrors have written, read again.
func ExampleStruct_UnmarshalErrors() {
	var all args.Struct
	err := all.UnmarshalJSON([]byte(`{"id":7,"tags":["a",null]}`))
	if err == nil {
		err = all.UnmarshalErrors([]byte(`{"tags[1]":"memory not readable"}`))
	}
	tags := all[1].Value.(args.List)
	fmt.Println(all[0].Value, tags[0].Value, errors.Is(tags[1].Err, args.ErrFault), err)
	// Output:
	// 7 a true <nil>
}
