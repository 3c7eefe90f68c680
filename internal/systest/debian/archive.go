package debian

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// keyring verifies the archive; it is part of every Debian.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// backports is the suffix of a release that adds newer packages to another one.
const backports = "-backports"

// Archive is the part of Debian's archive for one release and architecture.
type Archive struct {
	dir     string
	options []string
}

// Open returns the archive for a release, "bookworm", and an architecture as
// Debian names it. For "trixie-backports" it includes trixie, on which that is
// built. Indexes and packages are kept in dir, an absolute path. They come from
// [Mirror].
func Open(dir, release, arch string) (*Archive, error) {
	mirror, err := Mirror()
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	var sources strings.Builder
	for _, suite := range slices.Compact([]string{strings.TrimSuffix(release, backports), release}) {
		fmt.Fprintf(&sources, "deb [signed-by=%s] %s %s main\n", keyring, mirror, suite)
	}
	for name, text := range map[string]string{"status": "", "sources.list": sources.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	a := &Archive{dir: dir}
	for _, option := range []string{
		"APT::Architecture=" + arch,
		"APT::Architectures=" + arch,
		"APT::Default-Release=" + release, // backports are second choice otherwise
		"APT::Sandbox::User=root",
		"Acquire::Languages=none",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"Acquire::Retries=3",
		"Dir::State::Lists=" + filepath.Join(dir, "lists"),
		"Dir::State::status=" + filepath.Join(dir, "status"),
		"Dir::Cache=" + dir,
		"Dir::Cache::archives=archives",
		"Dir::Etc::sourcelist=" + filepath.Join(dir, "sources.list"),
		"Dir::Etc::sourceparts=-",
	} {
		a.options = append(a.options, "-o", option)
	}
	return a, nil
}

// Update brings the indexes up to date.
func (a *Archive) Update() error {
	_, err := a.run("apt-get", "update", "--error-on=any")
	return err
}

// Dependencies returns the names of the packages that the newest version of a
// package depends on.
func (a *Archive) Dependencies(name string) ([]string, error) {
	out, err := a.run("apt-cache", "depends", name)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if dep, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok {
			names = append(names, dep)
		}
	}
	return names, nil
}

// Download downloads the newest version of a package and returns the file's
// path; ok is false if there is none of that name.
func (a *Archive) Download(name string) (path string, ok bool, err error) {
	out, err := a.run("apt-get", "download", name)
	if err != nil {
		if bytes.Contains(out, []byte("Unable to locate package")) || bytes.Contains(out, []byte("has no installation candidate")) {
			return "", false, nil
		}
		return "", false, err
	}
	found, err := filepath.Glob(filepath.Join(a.dir, name+"_*.deb"))
	if err != nil || len(found) != 1 {
		return "", false, fmt.Errorf("apt-get download %s: found %q in %s, want one file", name, found, a.dir)
	}
	return found[0], true, nil
}

func (a *Archive) run(command string, args ...string) ([]byte, error) {
	cmd := exec.Command(command, slices.Concat(a.options, args)...)
	cmd.Dir = a.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", command, strings.Join(args, " "), err, out)
	}
	return out, err
}

// Extract unpacks the files of a package into dir.
func Extract(deb, dir string) error {
	if out, err := exec.Command("dpkg-deb", "-x", deb, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("dpkg-deb -x %s: %w\n%s", deb, err, out)
	}
	return nil
}
