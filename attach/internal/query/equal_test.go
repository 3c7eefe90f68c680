package query

import (
	"reflect"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/fold"
	"github.com/go-usdt/usdt/internal/record"
)

// full returns a signature that has one of all.
func full() *Signature {
	s := &Signature{
		Layout:    record.Layout{Block: 8, Strings: []record.String{{}}},
		Operands:  []operand.Operand{{}, {}},
		Inputs:    []Input{{}},
		Condition: &filter.Condition{Op: filter.And, Left: &filter.Condition{Pattern: filter.Pattern{Pieces: []string{"a"}}}, Right: &filter.Condition{Steps: []filter.Step{{}}}},
		Aggregate: &Aggregate{
			Parts: []Part{{Steps: []filter.Step{{}}, Inputs: []Input{{}}}},
			Pair:  []Part{{Steps: []filter.Step{{}}, Inputs: []Input{{}}}},
		},
		AtReturn: &Signature{},
	}
	s.AddIndirect(record.Indirect{Size: 8})
	return s
}

// TestEqual changes each field that code depends on, and each that one of these has: the signature is no
// longer equal to what it was, and an Index has both.
func TestEqual(t *testing.T) {
	if a, b := full(), full(); !a.Equal(b) || a.hash() != b.hash() {
		t.Fatal("equal signatures differ")
	}
	changed := 0
	change := func(path string, do func(v reflect.Value), of ...any) {
		original, other := full(), full()
		v := reflect.ValueOf(other).Elem()
		for _, step := range of {
			switch step := step.(type) {
			case string:
				v = reflect.Indirect(v).FieldByName(step)
			case int:
				v = v.Index(step)
			}
		}
		do(reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem())
		changed++
		if original.Equal(other) || other.Equal(original) {
			t.Errorf("signatures that differ in %s are equal", path)
		}
		var x Index[int]
		x.Put(original, 1)
		if _, ok := x.Find(other); ok {
			t.Errorf("what differs in %s is found", path)
		}
		x.Put(other, 2)
		if v, ok := x.Find(full()); !ok || v != 1 || x.Len() != 2 {
			t.Errorf("beside what differs in %s: %d of %d, %v", path, v, x.Len(), ok)
		}
	}
	var walk func(path string, v reflect.Value, of []any)
	walk = func(path string, v reflect.Value, of []any) {
		next := func(name string, v reflect.Value, step any) {
			walk(path+"."+name, v, append(of[:len(of):len(of)], step))
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				switch {
				case f.Name == "conditions": // follows from Condition
				case v.Type() == reflect.TypeFor[Signature]() && f.Name == "Groups": // is that of the tracing
				case v.Type() == reflect.TypeFor[filter.Value]() && (f.Name == "Names" || f.Name == "Written"):
					// Conditions have been made of these.
				default:
					next(f.Name, v.Field(i), f.Name)
				}
			}
		case reflect.Slice:
			if v.Len() > 0 {
				next("0", v.Index(0), 0)
				change(path+" (shorter)", func(v reflect.Value) { v.SetLen(v.Len() - 1) }, of...)
			}
			change(path+" (longer)", func(v reflect.Value) { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) }, of...)
		case reflect.Array:
			for i := range v.Len() {
				next("[]", v.Index(i), i)
			}
		case reflect.Pointer:
			switch {
			case v.Type() == reflect.TypeFor[*fold.Function]():
				change(path, func(v reflect.Value) { v.Set(reflect.ValueOf(fold.Of("sql"))) }, of...)
			case v.IsNil():
				change(path, func(v reflect.Value) { v.Set(reflect.New(v.Type().Elem())) }, of...)
			default:
				change(path, func(v reflect.Value) { v.SetZero() }, of...)
				walk(path, v.Elem(), of)
			}
		case reflect.Bool:
			change(path, func(v reflect.Value) { v.SetBool(!v.Bool()) }, of...)
		case reflect.String:
			change(path, func(v reflect.Value) { v.SetString(v.String() + " ") }, of...)
		default:
			if v.CanInt() {
				change(path, func(v reflect.Value) { v.SetInt(v.Int() ^ 1) }, of...)
			} else {
				change(path, func(v reflect.Value) { v.SetUint(v.Uint() ^ 1) }, of...)
			}
		}
	}
	walk("Signature", reflect.ValueOf(full()).Elem(), nil)
	if changed < 200 {
		t.Errorf("only %d fields have been changed", changed)
	}
}

// TestIndex checks what an Index forgets.
func TestIndex(t *testing.T) {
	var x Index[int]
	for i := range 10 {
		x.Put(&Signature{Sample: i}, i)
	}
	x.Put(&Signature{Sample: 3}, 30)
	x.DeleteFunc(func(i int) bool { return i%2 == 1 })
	for i := range 10 {
		v, ok := x.Find(&Signature{Sample: i})
		want := i
		if i == 3 {
			want = 30
		}
		if ok != (want%2 == 0) || ok && v != want {
			t.Errorf("%d: %d, %v", i, v, ok)
		}
	}
	if x.Len() != 6 {
		t.Errorf("%d are left", x.Len())
	}
}
