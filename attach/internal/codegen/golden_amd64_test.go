package codegen_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// TestPrograms generates programs for what is asked in many ways, and compares their
// instructions with those of testdata.
func TestPrograms(t *testing.T) {
	bindtest.Golden(t, "programs.txt", func(t *testing.T, c *bindtest.Case) string {
		bound, err := c.Bind()
		if err != nil {
			t.Fatal(err)
		}
		var sigs []*query.Signature
		for _, sig := range bound.Signatures() {
			if !c.Local {
				sigs = append(sigs, sig)
			}
		}
		specs, _ := codegen.Specs(sigs, fakeRefs())
		var b strings.Builder
		for _, spec := range specs {
			fmt.Fprintf(&b, "%v, flags %d, %d instructions\n", spec.Type, spec.Flags, len(spec.Instructions))
			for _, in := range spec.Instructions {
				if s := in.Symbol(); s != "" {
					fmt.Fprintf(&b, "%s:\n", s)
				}
				fmt.Fprintf(&b, "\t%s\n", short.Replace(fmt.Sprint(in)))
			}
		}
		return b.String()
	})
}

// short leaves out what each instruction has.
var short = strings.NewReplacer("dst: ", "", "src: ", "", " off: -1", "", " off: 0 imm: 0", "", " imm: 0 <", " <")

// fakeRefs returns maps that no kernel has, each with a number of its own.
func fakeRefs() *codegen.Refs {
	r := &codegen.Refs{CPUs: 2}
	next := 101
	fill := func(v reflect.Value) {
		v.Set(reflect.ValueOf(fakeMap(next)))
		next++
	}
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case *ebpf.Map:
			if name := v.Type().Field(i).Name; name != "Process" && name != "Processes" && name != "Gate" && name != "Then" {
				fill(f)
			}
		case [2]*ebpf.Map:
			fill(f.Index(0))
			fill(f.Index(1))
		}
	}
	r.Signals = &codegen.Signals{Map: fakeMap(next), Spared: []uint32{77, 1}, User: 1000}
	return r
}

// fakeMap returns a map whose descriptor is a number.
func fakeMap(fd int) *ebpf.Map {
	m := &ebpf.Map{}
	field := reflect.ValueOf(m).Elem().FieldByName("fd")
	file := reflect.New(field.Type().Elem())
	raw := file.Elem().FieldByName("raw")
	reflect.NewAt(raw.Type(), raw.Addr().UnsafePointer()).Elem().SetInt(int64(fd))
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(file)
	return m
}
