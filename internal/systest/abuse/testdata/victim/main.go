// Victim is a program whose probes tests abuse. It loads two providers, one with
// the site that this kernel traces fastest and one with the one-byte nop, says
// "ready", and obeys the lines of its input, each of which it answers with a
// line. With an argument it fires three times at the end of its input instead.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/provider"
)

// victim is a provider and its probe.
type victim struct {
	provider *provider.Provider
	hit      *provider.Probe3[uint64, string, int32]
}

func newVictim(name string, site provider.Site) victim {
	p := provider.New(name, &provider.Options{Site: site})
	return victim{p, provider.NewProbe3[uint64, string, int32](p, "hit", "n", "text", "neg")}
}

func (v victim) fire(n uint64) { v.hit.Fire(n, fmt.Sprint(n), -int32(n)) }

var victims = []victim{newVictim("fast", provider.SiteAuto), newVictim("slow", provider.SiteNop)}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	for _, v := range victims {
		if err := v.provider.Load(); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	if len(os.Args) > 1 {
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		_, err := obey([]string{"fire", "3"})
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer, err := obey(strings.Fields(lines.Text()))
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	return nil
}

func obey(words []string) (answer string, err error) {
	if len(words) == 0 {
		return "", errors.New("empty command")
	}
	var n uint64
	if len(words) > 1 {
		if _, err := fmt.Sscan(words[1], &n); err != nil {
			return "", err
		}
	}
	switch words[0] {
	case "fire":
		for i := range n {
			for _, v := range victims {
				v.fire(i)
			}
		}
	case "spin": // for ever, in n goroutines
		for range n {
			go func() {
				for i := uint64(0); ; i++ {
					for _, v := range victims {
						v.fire(i)
					}
				}
			}()
		}
	case "exec":
		return "", syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	case "load": // as many probes, and say why not
		if err := load(int(n)); err != nil {
			return strings.ReplaceAll(err.Error(), "\n", "; "), nil
		}
	case "files": // at most as many, from now on
		limit := unix.Rlimit{Cur: n, Max: n}
		return "limited", unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	case "space": // at most as many bytes more than now
		used, err := addressSpace()
		if err != nil {
			return "", err
		}
		limit := unix.Rlimit{Cur: used + n, Max: used + n}
		return "limited", unix.Setrlimit(unix.RLIMIT_AS, &limit)
	case "heap": // has at least as many bytes, from now on
		runtime.KeepAlive(make([]byte, n))
	case "held":
		return held()
	default:
		return "", fmt.Errorf("unknown command %q", words[0])
	}
	return "done", nil
}

// load loads a provider of n probes, fires one of them and closes it.
func load(n int) error {
	p := provider.New("more", nil)
	last := provider.NewProbe0(p, "last")
	for i := range n {
		provider.NewProbe1[uint64](p, fmt.Sprint("probe", i), "n")
	}
	err := p.Load()
	last.Fire()
	return errors.Join(err, p.Close())
}

// addressSpace returns the size of this process's address space in bytes.
func addressSpace() (uint64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var pages uint64
	_, err = fmt.Sscan(string(b), &pages)
	return pages * uint64(os.Getpagesize()), err
}

// held counts the descriptors and mappings of probe objects, and all
// descriptors.
func held() (string, error) {
	runtime.GC()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return "", err
	}
	for i, fd := range fds {
		target, _ := os.Readlink(fd)
		fds[i] = filepath.Base(fd) + " " + target
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d mappings", fds, strings.Count(string(maps), "/memfd:usdt:")), nil
}
