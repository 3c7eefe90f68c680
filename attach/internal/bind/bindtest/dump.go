package bindtest

import (
	"fmt"
	"reflect"
	"strings"
)

// Dump writes a value with the names of its fields. It omits fields that are zero and the key
// that a signature remembers. Functions have no value.
func Dump(v any) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(v))
	return b.String()
}

func dump(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dump(b, v.Elem())
	case reflect.Func:
		b.WriteString("func")
	case reflect.Struct:
		b.WriteByte('{')
		sep := ""
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() && v.Type().Field(i).Name != "key" {
				b.WriteString(sep + v.Type().Field(i).Name + ":")
				dump(b, f)
				sep = " "
			}
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			dump(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprint(b, v)
	}
}
