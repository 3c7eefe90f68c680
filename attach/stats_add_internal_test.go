package attach

import (
	"reflect"
	"testing"
)

// TestAddAll checks that no number is left out when those of sources are added.
func TestAddAll(t *testing.T) {
	var st, moreStats Stats
	var p, morePairs PairStats
	for _, of := range []any{&st, &moreStats, &p, &morePairs} {
		v := reflect.ValueOf(of).Elem()
		for i := range v.NumField() {
			v.Field(i).SetUint(uint64(i + 1))
		}
	}
	st.Add(moreStats)
	p.add(&morePairs)
	for _, of := range []any{st, p} {
		v := reflect.ValueOf(of)
		for i := range v.NumField() {
			if got, want := v.Field(i).Uint(), uint64(2*(i+1)); got != want {
				t.Errorf("%T.%s is %d, want %d", of, v.Type().Field(i).Name, got, want)
			}
		}
	}
}
