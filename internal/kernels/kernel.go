package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-usdt/usdt/internal/debian"
)

// kernel is one to test.
type kernel struct {
	version string // what its release of Debian has
	release string
	arch    string // as Debian and Go name it
}

// kernels are the tested ones, in the order in which they start: what takes
// longest first. Debian's cloud flavour has what the tests need, and is the
// smallest.
var kernels = []kernel{
	{"6.1", "bookworm", "arm64"},
	{"6.12", "trixie", "amd64"},
	{"6.1", "bookworm", "amd64"},
}

func (k kernel) String() string { return k.version + "-" + k.arch }

// kernelFiles is a directory that holds what a machine needs of Debian.
type kernelFiles struct {
	dir     string
	release string // the kernel's, as uname gives it
}

func (f kernelFiles) image() string   { return filepath.Join(f.dir, "vmlinuz-"+f.release) }
func (f kernelFiles) config() string  { return filepath.Join(f.dir, "config-"+f.release) }
func (f kernelFiles) busybox() string { return filepath.Join(f.dir, "busybox") }

// fetch gets the newest kernel of k's version into cache. Where the archive
// cannot be asked it returns the one of the last time.
func (k kernel) fetch(cache string) (kernelFiles, error) {
	dir := filepath.Join(cache, k.release+"-"+k.arch)
	archive, err := debian.Open(dir, k.release, k.arch)
	if err != nil {
		return kernelFiles{}, err
	}
	// Fails without network; what follows knows what there was.
	updateErr := archive.Update()
	meta := "linux-image-cloud-" + k.arch
	deps, err := archive.Dependencies(meta)
	if err != nil {
		return kernelFiles{}, errors.Join(err, updateErr)
	}
	if len(deps) != 1 || !strings.HasPrefix(deps[0], "linux-image-"+k.version+".") {
		return kernelFiles{}, fmt.Errorf("%s of %s depends on %q, want one kernel %s", meta, k.release, deps, k.version)
	}
	f := kernelFiles{filepath.Join(dir, deps[0]), strings.TrimPrefix(deps[0], "linux-image-")}
	if _, err := os.Stat(f.dir); err == nil {
		return f, nil
	}
	return f, errors.Join(f.download(archive, deps[0]), updateErr)
}

// download makes the directory.
func (f kernelFiles) download(archive *debian.Archive, image string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(f.dir), "unpack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, name := range []string{image, "busybox-static"} {
		deb, ok, err := archive.Download(name)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the archive has no package %s", name)
		}
		err = debian.Extract(deb, tmp)
		os.Remove(deb)
		if err != nil {
			return err
		}
	}
	keep := filepath.Join(tmp, "keep")
	if err := os.Mkdir(keep, 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{
		"boot/vmlinuz-" + f.release: f.image(),
		"boot/config-" + f.release:  f.config(),
		"bin/busybox":               f.busybox(),
	} {
		old := filepath.Join(tmp, from)
		if _, err := os.Stat(old); err != nil {
			old = filepath.Join(tmp, "usr", from) // where trixie has its programs
		}
		if err := os.Rename(old, filepath.Join(keep, filepath.Base(to))); err != nil {
			return err
		}
	}
	return os.Rename(keep, f.dir)
}
