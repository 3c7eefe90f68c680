// Shapes fires probes of every shape over and over, always with the same
// arguments, until it is killed or its parent has ended:
//
//	shapes map|dlopen PROVIDER
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-usdt/usdt/provider"
)

type eight struct {
	A int8
	B uint8
	C int16
	D uint16
	E int32
	F uint32
	G int64
	H uint64
}

type twelve struct {
	A, B, C, D, E, F, G, H, I, J, K, L int32
}

type request struct {
	ID   uint64
	Code int16
	Path string
	From struct{ Port uint16 }
}

func main() {
	loaders := map[string]provider.Loader{"map": provider.LoaderMap, "dlopen": provider.LoaderDlopen}
	p := provider.New(os.Args[2], &provider.Options{Loader: loaders[os.Args[1]]})
	zero := provider.NewProbe0(p, "zero")
	three := provider.NewProbe3[int32, uint64, int8](p, "three", "a", "b", "c")
	six := provider.NewProbe6[int8, uint8, int16, uint16, int32, uint64](p, "six", "a", "b", "c", "d", "e", "f")
	fields8 := provider.NewStructProbe[eight](p, "eight")
	fields12 := provider.NewStructProbe[twelve](p, "twelve")
	text := provider.NewProbe2[string, bool](p, "text", "s", "ok")
	record := provider.NewStructProbe[request](p, "record")
	if err := p.Load(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	path := "/index.html?with=more\x00" // goes on behind the fired string
	for parent := os.Getppid(); os.Getppid() == parent; time.Sleep(10 * time.Millisecond) {
		zero.Fire()
		three.Fire(-3, 1<<40, -7)
		six.Fire(-8, 200, -1600, 60000, -320000, 1<<63)
		fields8.Fire(&eight{-1, 201, -1601, 60001, -320001, 4000000001, -64000000001, 1<<63 + 1})
		fields12.Fire(&twelve{-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12})
		text.Fire("h\xc3\xa9llo", true)
		record.Fire(&request{7, -2, path[:11], struct{ Port uint16 }{8080}})
	}
}
