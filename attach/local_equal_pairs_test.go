package attach_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

// TestEqualPairs compares how the same starts and ends are matched both ways: by keys of
// every kind and by goroutine, nested, too deep, without partners, and with too little
// room.
func TestEqualPairs(t *testing.T) {
	p := provider.New("equalpairs", &provider.Options{Local: true})
	t.Cleanup(func() { p.Close() })
	start := provider.NewProbe4[int, string, float64, provider.IP](p, "start", "id", "path", "ratio", "peer")
	end := provider.NewProbe4[int, string, float64, provider.IP](p, "end", "id", "path", "ratio", "peer")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	peers := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::1"), {}}
	args := func(i int) (int, string, float64, netip.Addr) {
		return i, fmt.Sprint("/", i%5), float64(i) / 4, peers[i%len(peers)]
	}
	// fire1 and fire2 fire one of the two with the arguments of i.
	fire1 := func(i int) { id, path, ratio, peer := args(i); start.Fire(id, path, ratio, provider.Addr(peer)) }
	fire2 := func(i int) { id, path, ratio, peer := args(i); end.Fire(id, path, ratio, provider.Addr(peer)) }
	fire := func() {
		for i := range 20 {
			fire1(i)
		}
		for i := range 10 { // the others wait
			fire2(2 * i)
		}
		fire2(100) // without a start, unless by goroutine
		for range 40 {
			fire1(7) // too deep
		}
		for range 35 {
			fire2(7)
		}
	}
	for _, test := range []struct {
		what  attach.LatencyOptions
		where string
	}{
		{attach.LatencyOptions{}, ""},
		{attach.LatencyOptions{By: []string{"path"}}, "id > 3"},
		{attach.LatencyOptions{Key: []string{"id"}, By: []string{"path", "pid", "comm"}}, ""},
		{attach.LatencyOptions{Key: []string{"path"}, By: []string{"peer", "ratio"}}, ""},
		{attach.LatencyOptions{Key: []string{"ratio", "peer"}}, `path != "/1"`},
		{attach.LatencyOptions{Key: []string{"pid", "id"}, By: []string{"id"}, MaxGroups: 3}, ""},
	} {
		t.Run(fmt.Sprint(test.what.Key, test.what.By, " ", test.where), func(t *testing.T) {
			o := own()
			o.Where = test.where
			two := both(t, o, func(o *attach.Options) (*attach.Latency, error) {
				return attach.OpenLatency(t.Context(), "equalpairs:start", "equalpairs:end", &test.what, o)
			})
			done := make(chan struct{})
			go func() { // of its own, for pairs by goroutine
				defer close(done)
				fire()
			}()
			<-done
			var texts [2][]string
			for i, a := range two {
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
				pairs, err := a.Pairs()
				if err != nil {
					t.Fatal(err)
				}
				groups, err := a.Read()
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range groups {
					by, err := json.Marshal(total.Group{By: g.By, Count: g.Count})
					if err != nil {
						t.Fatal(err)
					}
					texts[i] = append(texts[i], string(by))
				}
				slices.Sort(texts[i])
				texts[i] = append(texts[i], fmt.Sprintf("%+v %+v", pairs, checkSum(t, a)))
				if len(groups) == 0 || pairs.Pairs == 0 {
					t.Errorf("groups %v, %+v", groups, pairs)
				}
				a.Close()
			}
			if d := cmp.Diff(texts[0], texts[1]); d != "" {
				t.Errorf("pairs (-kernel +local):\n%s", d)
			}
		})
	}
}
