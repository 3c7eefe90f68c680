// Command main fires what version1.usdt has: the probes of an order, with arguments of most kinds.
// It waits until somebody watches. The file was made by
//
//	CGO_ENABLED=0 go build -trimpath -o /tmp/v1/shop ./cmd/sdttrace/testdata/version1/shop
//	gcc -O1 -fno-omit-frame-pointer -o /tmp/v1/calls cmd/sdttrace/testdata/version1/calls.c
//	/tmp/v1/shop &
//	sdttrace record -o version1.usdt --stack=3 --str arg0 --follow Peer --limit 12 \
//		/tmp/v1/calls:calls:hit uprobe:/tmp/v1/calls:outer uretprobe:/tmp/v1/calls:outer v1:begin v1:done
//
// and, once that is attached, /tmp/v1/calls.
package main

import (
	"errors"
	"log"
	"net/netip"
	"time"

	"github.com/go-usdt/usdt/provider"
)

type peer struct {
	Host string
	Port uint16
}

type order struct {
	ID    int64
	Path  string
	Load  float32
	OK    bool
	Raw   []byte
	Took  time.Duration
	At    time.Time
	From  netip.Addr
	Peer  *peer
	Parts [2]peer
	Sizes []uint32
}

func main() {
	p := provider.New("v1", nil)
	begin := provider.NewProbe3[uint64, string, provider.Text](p, "begin", "id", "path", "err")
	done := provider.NewStructProbe[order](p, "done")
	if err := p.Load(); err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	for !done.Enabled() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Second) // until all are attached
	for i := range int64(3) {
		fire(i, begin, done)
	}
}

//go:noinline
func fire(i int64, begin *provider.Probe3[uint64, string, provider.Text], done *provider.StructProbe[order]) {
	begin.Fire(uint64(i), "/order\t\xff", provider.Error(errors.New("none")))
	done.Fire(&order{
		ID: -i, Path: "/done", Load: 0.5, OK: i == 1, Raw: []byte{0, 255}, Took: 1500 * time.Microsecond,
		At: time.Unix(1795373727, 204736), From: netip.MustParseAddr("2001:db8::1"), Peer: &peer{"localhost", 443},
		Parts: [2]peer{{"a", 1}, {"", 2}}, Sizes: []uint32{1, 1 << 31},
	})
}
