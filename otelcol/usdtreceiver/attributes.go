package usdtreceiver

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/go-usdt/usdt/event"
)

// utf8 returns text that others wrote, in which it replaces what is not UTF-8: many receivers of OTLP
// refuse a whole message for it. The kernel cuts names of threads within characters.
func utf8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// put makes attributes of arguments.
func put(to pcommon.Map, args []event.Arg) {
	for i := range args {
		if a := &args[i]; a.Value == nil && a.Err != nil {
			to.PutStr(utf8(a.Name), utf8("("+a.Err.Error()+")"))
		} else {
			set(to.PutEmpty(utf8(a.Name)), a.Value)
		}
	}
}

// set sets a value. All except numbers, bools and text become text.
func set(to pcommon.Value, v any) {
	switch v := v.(type) {
	case nil:
	case bool:
		to.SetBool(v)
	case int64:
		to.SetInt(v)
	case uint64:
		if int64(v) < 0 {
			to.SetStr(fmt.Sprint(v)) // attributes have signed integers
		} else {
			to.SetInt(int64(v))
		}
	case float64:
		to.SetDouble(v)
	case string:
		to.SetStr(utf8(v))
	case []byte:
		to.SetEmptyBytes().FromRaw(v)
	case time.Duration:
		to.SetInt(int64(v))
	case time.Time:
		to.SetStr(v.UTC().Format(time.RFC3339Nano))
	case event.Struct:
		put(to.SetEmptyMap(), v)
	case event.List:
		list := to.SetEmptySlice()
		for i := range v {
			set(list.AppendEmpty(), v[i].Value)
		}
	default:
		to.SetStr(utf8(fmt.Sprint(v)))
	}
}
