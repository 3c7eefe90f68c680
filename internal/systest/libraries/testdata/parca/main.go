package main

import (
	"fmt"
	"log"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/parca-dev/usdt"
)

func main() {
	all, err := usdt.ParseProbesFromFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	c, err := ebpf.LoadCollection(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	var probes []usdt.Probe
	var programs []*ebpf.Program
	for _, p := range all {
		if p.Provider == "shop" && p.Name == "order" {
			probes = append(probes, p)
			programs = append(programs, c.Programs["order"])
		}
	}
	specs := c.Maps["__bpf_usdt_specs"]
	ids, err := usdt.PopulateSpecMap(specs, probes, 1)
	if err != nil {
		log.Fatal(err)
	}
	exe, err := link.OpenExecutable(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	links, err := usdt.AttachUprobes(exe, specs, probes, programs, usdt.MergeCookies(ids, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer links.Close()
	fmt.Println("ready")
	fmt.Scanln()
	var sum int64
	if err := c.Variables["sum"].Get(&sum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
}
