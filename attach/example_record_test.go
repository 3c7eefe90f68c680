package attach_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

func ExampleRecord() {
	kiosk := provider.New("kiosk", nil)
	sale := provider.NewProbe2[string, int](kiosk, "sale", "what", "cents")
	if err := kiosk.Load(); err != nil {
		log.Fatal(err)
	}
	defer kiosk.Close()
	ctx := context.Background()
	r, err := attach.Record(ctx, []string{"kiosk:sale"}, nil, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	sale.Fire("paper", 250)
	sale.Fire("gum", 80)
	sale.Fire("paper", 300)

	file, err := os.CreateTemp("", "events")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := r.Write(file, &attach.RecordLimits{Events: 3}); err != nil {
		log.Fatal(err)
	}

	// Now, later, or on another machine:
	saved := &attach.Options{Target: attach.Target{Recordings: []string{file.Name()}}}
	a, err := attach.OpenAggregate(ctx, []string{"kiosk:sale"}, attach.Sum("cents").By("what"), saved)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	groups, err := a.Read()
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range groups {
		fmt.Println(g.By[0].Value, g.Sum)
	}
	// Output:
	// paper 550
	// gum 80
}
