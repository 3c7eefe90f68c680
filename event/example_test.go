package event_test

import (
	"fmt"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// request is an event of the probe myapp:request_done.
var request = event.Event{
	Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), PID: 4711, TID: 4712, Comm: "myapp",
	Provider: "myapp", Name: "request_done",
	Args: []event.Arg{
		{Name: "path", Value: "/index.html"},
		{Name: "took", Value: 1500 * time.Microsecond},
		{Name: "peer", Value: event.Struct{{Name: "host", Err: event.ErrFault}, {Name: "port", Value: uint64(443)}}},
	},
}

// AppendJSON writes an event as one line of JSON, into memory that can be reused.
func ExampleEvent_AppendJSON() {
	var line []byte
	line = request.AppendJSON(line[:0])
	fmt.Println(string(line))
	// Output: {"time":"2026-01-02T03:04:05.000000006Z","pid":4711,"tid":4712,"comm":"myapp","provider":"myapp","name":"request_done","args":{"path":"/index.html","took":1500000,"peer":{"host":null,"port":443}},"errors":{"peer.host":"memory not readable"}}
}

// AppendJSON writes the arguments alone, AppendErrors what is wrong with them.
func ExampleStruct_AppendErrors() {
	args := event.Struct(request.Args)
	fmt.Printf("%s\n", args.AppendJSON(nil))
	fmt.Printf("%s\n", args.AppendErrors(nil))
	// Output:
	// {"path":"/index.html","took":1500000,"peer":{"host":null,"port":443}}
	// {"peer.host":"memory not readable"}
}

// A type switch distinguishes values.
func ExampleArg() {
	for _, a := range request.Args {
		switch v := a.Value.(type) {
		case string:
			fmt.Printf("%s is text of %d bytes\n", a.Name, len(v))
		case time.Duration:
			fmt.Printf("%s is a duration of %v ms\n", a.Name, v.Seconds()*1000)
		case event.Struct:
			fmt.Printf("%s has %d fields\n", a.Name, len(v))
		}
	}
	// Output:
	// path is text of 11 bytes
	// took is a duration of 1.5 ms
	// peer has 2 fields
}

// Values of a view's arguments are numbers and bytes, without an allocation.
func ExampleValue() {
	values := []event.Value{
		event.NumberValue(reader.Int, reader.Duration, 1500, 8),
		event.NumberValue(reader.Uint, 0, 0x1ff, 1),
		event.BytesValue(reader.String, 0, []byte("/index"), nil),
		event.TruncatedValue(reader.String, 0, []byte("/a/long/pa")),
	}
	for _, v := range values {
		switch v.Kind {
		case reader.String:
			fmt.Printf("%s %v\n", v.Bytes(), v.Err)
		case reader.Int:
			fmt.Println(time.Duration(v.Int()))
		default:
			fmt.Println(v.Uint())
		}
	}
	// Output:
	// 1.5µs
	// 255
	// /index <nil>
	// /a/long/pa truncated to 10 bytes
}

// A stack has addresses, which the session that delivers it can name.
func ExampleStack() {
	ev := event.Event{Provider: "myapp", Name: "alloc", Stack: &event.Stack{PCs: []uint64{0x401136, 0x401200}}}
	for _, pc := range ev.Stack.PCs {
		fmt.Printf("%#x\n", pc)
	}
	// Output:
	// 0x401136
	// 0x401200
}
