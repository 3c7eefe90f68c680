package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/systest/debian"
	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// kernel is a kernel to test.
type kernel struct {
	version string // what its release of Debian has; newest is whichever it has
	release string
	arch    string            // as Debian and Go name it
	part    map[string]string // the flag that chooses tests, by package
	few     bool              // run the packages of part and no others
}

const newest = "newest"

// kernels are the tested kernels in the order in which they start, the slowest
// first. Debian's cloud flavour has what the tests need, and is the smallest.
var kernels = []kernel{
	{"6.1", "bookworm", "arm64", least, false}, // the kernel is that of 6.1-amd64
	{newest, "trixie-backports", "amd64", newer, false},
	{"6.1", "bookworm", "amd64", most, false},
	{"6.12", "trixie", "amd64", little, false},   // attaches as the newest does
	{"6.12", "trixie", "arm64", functions, true}, // the oldest kernel with trampolines there, without kprobe_multi
}

// suites returns what k's machine runs.
func (k kernel) suites() []report.Suite {
	all := slices.Clone(suites)
	if k.few {
		all = slices.DeleteFunc(all, func(s report.Suite) bool { return s.Yama != "" || k.part[s.Package] == "" })
	}
	for i := range all {
		s := &all[i]
		flags := slices.Clone(suiteFlags)
		if flag := k.part[s.Package]; s.Yama == "" && flag != "" {
			flags = append(flags, flag) // the last one counts
		}
		s.Args = append(flags, s.Args...)
	}
	return all
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
func (f kernelFiles) loop() string    { return filepath.Join(f.dir, "loop.ko") }

// imagePrefix begins the names of kernels' packages.
const imagePrefix = "linux-image-"

// fetch gets the newest kernel of k's version into cache. If the archive cannot
// be reached, it returns the kernel that the cache has.
func (k kernel) fetch(cache string) (kernelFiles, error) {
	dir := filepath.Join(cache, k.release+"-"+k.arch)
	archive, err := debian.Open(dir, k.release, k.arch)
	if err != nil {
		return kernelFiles{}, err
	}
	// Update fails without network; the indexes of the last time remain.
	updateErr := archive.Update()
	meta := "linux-image-cloud-" + k.arch
	deps, err := archive.Dependencies(meta)
	if err != nil {
		return kernelFiles{}, errors.Join(err, updateErr)
	}
	images := slices.DeleteFunc(slices.Clone(deps), func(name string) bool { return !strings.HasPrefix(name, imagePrefix) })
	if len(images) != 1 || k.version != newest && !strings.HasPrefix(images[0], imagePrefix+k.version+".") {
		return kernelFiles{}, fmt.Errorf("%s of %s depends on %q, want one kernel %s", meta, k.release, deps, k.version)
	}
	image := images[0]
	f := kernelFiles{filepath.Join(dir, image), strings.TrimPrefix(image, imagePrefix)}
	if _, err := os.Stat(f.loop()); err == nil { // directories of earlier versions lack it
		return f, nil
	}
	return f, errors.Join(f.download(archive, image), updateErr)
}

// download makes the directory.
func (f kernelFiles) download(archive *debian.Archive, image string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(f.dir), "unpack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	packages := []string{image, "busybox-static"}
	deps, err := archive.Dependencies(image)
	if err != nil {
		return err
	}
	// Newer packages are split: the image is in linux-binary-RELEASE, its
	// configuration in linux-base-RELEASE, and its modules are in linux-modules-RELEASE.
	for _, name := range deps {
		if strings.HasSuffix(name, "-"+f.release) {
			packages = append(packages, name)
		}
	}
	for _, name := range packages {
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
	modules := "usr/lib/modules/" + f.release
	const loop = "/kernel/drivers/block/loop.ko"
	for to, from := range map[string][]string{ // where either kind of package has it
		f.image():   {"boot/vmlinuz-" + f.release, modules + "/vmlinuz"},
		f.config():  {"boot/config-" + f.release, modules + "/config"},
		f.busybox(): {"bin/busybox", "usr/bin/busybox"},
		f.loop():    {"lib/modules/" + f.release + loop, modules + loop, modules + loop + ".xz"},
	} {
		i := slices.IndexFunc(from, func(name string) bool {
			_, err := os.Stat(filepath.Join(tmp, name))
			return err == nil
		})
		if i < 0 {
			return fmt.Errorf("the packages %q have none of %q", packages, from)
		}
		path := filepath.Join(tmp, from[i])
		if unpacked, ok := strings.CutSuffix(path, ".xz"); ok {
			if out, err := exec.Command("xz", "--decompress", path).CombinedOutput(); err != nil {
				return fmt.Errorf("xz %s: %w\n%s", path, err, out)
			}
			path = unpacked
		}
		if err := os.Rename(path, filepath.Join(keep, filepath.Base(to))); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(f.dir); err != nil {
		return err
	}
	return os.Rename(keep, f.dir)
}
