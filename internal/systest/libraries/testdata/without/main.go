package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/go-usdt/usdt/attach"
)

func main() {
	pid, _ := strconv.Atoi(os.Args[1])
	a, err := attach.OpenAggregate(context.Background(), []string{os.Args[2] + ":shop:order"}, attach.Sum("arg1"),
		&attach.Options{Target: attach.Target{PIDs: []int{pid}}, Where: "arg0 > 0"})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println("ready")
	fmt.Scanln()
	groups, err := a.Read()
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range groups {
		fmt.Println(g.Sum)
	}
}
