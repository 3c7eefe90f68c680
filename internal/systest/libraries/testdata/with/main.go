package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
)

func main() {
	pid, _ := strconv.Atoi(os.Args[1])
	object, err := os.Open(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	spec, err := collection.LoadSpec(object)
	if err != nil {
		log.Fatal(err)
	}
	spec.Programs["order"].AttachTo = os.Args[2] + ":shop:order"
	c, err := collection.New(context.Background(), spec, &collection.Options{Target: attach.Target{PIDs: []int{pid}}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Attach(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	fmt.Scanln()
	var sum int64
	if err := c.Variables["sum"].Get(&sum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
}
