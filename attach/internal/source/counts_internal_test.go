package source

import (
	"reflect"
	"testing"
)

// TestCountsAdd checks that the sum of two sources has every number.
func TestCountsAdd(t *testing.T) {
	var c, more Counts
	for _, of := range []*Counts{&c, &more} {
		v := reflect.ValueOf(of).Elem()
		for i := range v.NumField() {
			v.Field(i).SetUint(uint64(i + 1))
		}
	}
	c.add(more)
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if got, want := v.Field(i).Uint(), uint64(2*(i+1)); got != want {
			t.Errorf("%s is %d, want %d", v.Type().Field(i).Name, got, want)
		}
	}
}
