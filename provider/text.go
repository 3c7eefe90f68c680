package provider

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Text is an argument, or a field of a [Record], that tracers see as a string. The
// string is made of a value when somebody watches, and not before. [Error],
// [Stringer] and [As] say what it is made of:
//
//	done := provider.NewProbe2[uint64, provider.Text](myapp, "request_done", "id", "err")
//	done.Fire(id, provider.Error(err))
//
// The zero Text is the empty string. Make a Text for the Fire that it is passed to:
// it may hold its value by a pointer, and is converted anew each time that it is
// fired.
//
// The conversion runs on the goroutine that fires, with the locks that it holds, and
// may allocate. If it panics the program goes on, and the text says so as package fmt
// does: <nil> for a nil pointer, else %!v(PANIC=String method: reason).
type Text struct {
	value   unsafe.Pointer // of what convert takes
	convert func(unsafe.Pointer) string
	length  uint64 // in the copy of a record that is fired: of the string that value points to
}

var textType = reflect.TypeFor[Text]()

// Error is the text of err, which is empty if err is nil.
func Error(err error) Text {
	if err == nil {
		return Text{}
	}
	escape(err)
	return Text{value: unsafe.Pointer(&err), convert: errorText}
}

// Stringer is the text that v's method String returns.
func Stringer[V fmt.Stringer](v V) Text {
	escape(v)
	return Text{value: unsafe.Pointer(&v), convert: stringerText[V]}
}

// As is the text that the function text makes of v, such as
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

func errorText(p unsafe.Pointer) (s string) {
	err := *(*error)(p)
	defer caught(&s, err, "Error")
	return err.Error()
}

func stringerText[V fmt.Stringer](p unsafe.Pointer) (s string) {
	v := *(*V)(p)
	defer caught(&s, v, "String")
	return v.String()
}

func conversionText[V any](p unsafe.Pointer) (s string) {
	c := *(*conversion[V])(p)
	defer caught(&s, c.value, "As")
	return c.text(c.value)
}

// caught has a panic of a conversion end there: a tracer that attaches must not end
// the program. The text is that of package fmt.
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

// string returns the text. The value must be where it was.
func (t *Text) string() string {
	if t.convert == nil {
		return ""
	}
	// Conversions copy the value, and keep no pointer to it.
	return t.convert(noescape(t.value))
}

// makeTexts replaces what texts are made of by them, in the copy of a record at block.
// The copy keeps their pointers where pointers are, and the lengths where none is, as
// the garbage collector wants it.
func (s *signature) makeTexts(block unsafe.Pointer) {
	for _, at := range s.texts {
		t := (*Text)(unsafe.Add(block, at))
		text := t.string()
		t.value, t.length = unsafe.Pointer(unsafe.StringData(text)), uint64(len(text))
	}
}

// escape has v escape to the heap with all that it leads to: a conversion may keep
// it, which the compiler does not see, since conversions are called through pointers
// that are hidden from it.
func escape[V any](v V) {
	if escaped.ever {
		escaped.value = v
	}
}

var escaped struct {
	ever  bool // it never is
	value any
}
