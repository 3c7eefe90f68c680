package provider

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Text is an argument, or a field of a [StructProbe], that tracers see as a string. Fire
// converts a value to the string only while somebody watches. [Error], [Stringer] and
// [As] choose the value and its conversion:
//
//	done := provider.NewProbe2[uint64, provider.Text](myapp, "request_done", "id", "err")
//	done.Fire(id, provider.Error(err))
//
// The zero Text is the empty string. Make a new Text for each Fire: a Text may hold
// its value by a pointer, and is converted anew each time that it is fired.
//
// The conversion runs on the goroutine that fires, with the locks that it holds, and
// may allocate. If the conversion panics, the program goes on and the text reports
// the panic as package fmt does: <nil> for a nil pointer, %!v(PANIC=String method:
// reason) otherwise.
type Text struct {
	value   unsafe.Pointer // points to the argument of convert
	convert func(unsafe.Pointer) string
	length  uint64 // of a made Text, such as in the fired copy of a record: value points to as many bytes
}

var textType = reflect.TypeFor[Text]()

// Error returns the text of err, which is empty if err is nil.
func Error(err error) Text {
	if err == nil {
		return Text{}
	}
	escape(err)
	return Text{value: unsafe.Pointer(&err), convert: errorText}
}

// Stringer returns the text that v's method String returns.
func Stringer[V fmt.Stringer](v V) Text {
	escape(v)
	return Text{value: unsafe.Pointer(&v), convert: stringerText[V]}
}

// As returns the text that the function text makes of v, such as
//
//	provider.As(user, (*User).Login)
func As[V any](v V, text func(V) string) Text {
	escape(v)
	c := conversion[V]{v, text}
	return Text{value: unsafe.Pointer(&c), convert: conversionText[V]}
}

type conversion[V any] struct {
	value V
	text  func(V) string
}

// errorText returns the text of the error at p: the value of a Text has the type for which
// the Text was made, with this function beside it.
func errorText(p unsafe.Pointer) (s string) {
	err := *(*error)(p)
	defer caught(&s, err, "Error")
	return err.Error()
}

// stringerText is errorText for a V.
func stringerText[V fmt.Stringer](p unsafe.Pointer) (s string) {
	v := *(*V)(p)
	defer caught(&s, v, "String")
	return v.String()
}

// conversionText is errorText for a conversion.
func conversionText[V any](p unsafe.Pointer) (s string) {
	c := *(*conversion[V])(p)
	defer caught(&s, c.value, "As")
	return c.text(c.value)
}

// caught recovers from a panic of a conversion, since a tracer that attaches must not
// end the program, and sets the text as package fmt does.
func caught(s *string, v any, method string) {
	reason := recover()
	if reason == nil {
		return
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
		*s = "<nil>"
		return
	}
	if method != "As" {
		method += " method"
	}
	*s = fmt.Sprintf("%%!v(PANIC=%s: %v)", method, reason)
}

// string returns the text. The value must not have moved.
func (t *Text) string() string {
	if t.convert == nil {
		// It is the zero Text, or is made already and holds the string.
		return unsafe.String((*byte)(noescape(t.value)), t.length)
	}
	// Conversions copy the value, and keep no pointer to it.
	return t.convert(noescape(t.value))
}

// makeTexts converts the Texts in the copy of a record at block. The copy keeps
// pointers where pointers are and lengths where none are, as the garbage collector
// requires.
func (s *signature) makeTexts(block unsafe.Pointer) {
	for _, at := range s.texts {
		t := (*Text)(unsafe.Add(block, at))
		text := t.string()
		*t = made(text)
	}
}

// made returns the Text of a string.
func made(s string) Text {
	return Text{value: unsafe.Pointer(unsafe.StringData(s)), length: uint64(len(s))}
}

// escape makes v escape to the heap with all that it leads to. A conversion may keep
// it, which the compiler does not see, since conversions are called through pointers
// that are hidden from the compiler.
func escape[V any](v V) {
	if escaped.ever {
		escaped.value = v
	}
}

var escaped struct {
	ever  bool // it never is
	value any
}
