package attach

import (
	"reflect"
	"testing"
)

// TestAddPairs checks that the sum of two sources has every number.
func TestAddPairs(t *testing.T) {
	var p, more PairStats
	for _, of := range []*PairStats{&p, &more} {
		v := reflect.ValueOf(of).Elem()
		for i := range v.NumField() {
			v.Field(i).SetUint(uint64(i + 1))
		}
	}
	p.add(&more)
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if got, want := v.Field(i).Uint(), uint64(2*(i+1)); got != want {
			t.Errorf("%s is %d, want %d", v.Type().Field(i).Name, got, want)
		}
	}
}
