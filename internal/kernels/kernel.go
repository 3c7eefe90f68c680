package main

import (
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

// kernels are the tested ones. Debian's cloud flavour has what the tests need,
// and is the smallest.
var kernels = []kernel{
	{"6.1", "bookworm", "amd64"},
	{"6.1", "bookworm", "arm64"},
	{"6.12", "trixie", "amd64"},
}

func (k kernel) String() string { return k.version + "-" + k.arch }

// fetch returns the path of the kernel's image, below cache. It downloads the
// newest one, or, where the archive cannot be asked, returns the one of the last
// time.
func (k kernel) fetch(cache string) (string, error) {
	dir := filepath.Join(cache, k.release+"-"+k.arch)
	archive, err := debian.Open(dir, k.release, k.arch)
	if err != nil {
		return "", err
	}
	current := filepath.Join(dir, "vmlinuz")
	if err := archive.Update(); err != nil {
		if _, statErr := os.Stat(current); statErr == nil {
			return current, nil
		}
		return "", err
	}
	meta := "linux-image-cloud-" + k.arch
	deps, err := archive.Dependencies(meta)
	if err != nil {
		return "", err
	}
	if len(deps) != 1 || !strings.HasPrefix(deps[0], "linux-image-"+k.version+".") {
		return "", fmt.Errorf("%s of %s depends on %q, want one kernel %s", meta, k.release, deps, k.version)
	}
	image := filepath.Join(dir, "vmlinuz-"+strings.TrimPrefix(deps[0], "linux-image-"))
	if _, err := os.Stat(image); err != nil {
		if err := download(archive, deps[0], dir, image); err != nil {
			return "", err
		}
	}
	os.Remove(current)
	return image, os.Symlink(filepath.Base(image), current)
}

// download leaves the image of a kernel's package at path.
func download(archive *debian.Archive, name, dir, path string) error {
	deb, ok, err := archive.Download(name)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("the archive has no package %s", name)
	}
	defer os.Remove(deb)
	tmp, err := os.MkdirTemp(dir, "unpack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := debian.Extract(deb, tmp); err != nil {
		return err
	}
	return os.Rename(filepath.Join(tmp, "boot", filepath.Base(path)), path)
}
