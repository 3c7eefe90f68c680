package sdtdump

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/debian"
	"github.com/go-usdt/usdt/reader"
)

var update = flag.Bool("update", false, "TestDebian writes testdata/debian anew")

// release is a release of Debian, with the architectures that are tested and the
// packages that have probes.
type release struct {
	name          string
	architectures []string
	packages      []string
}

var releases = []release{
	{
		"bookworm",
		[]string{"amd64", "i386", "arm64", "armhf", "s390x", "ppc64el", "mips64el"},
		[]string{
			"libpython3.11", "libruby3.1", "libstdc++6", "libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt0",
			"openjdk-17-jre-headless", "php8.2-cli", "postgresql-15", "python3.11-minimal",
		},
	},
	{
		"trixie", // the first with riscv64
		[]string{"riscv64"},
		[]string{
			"libpython3.13", "libstdc++6", "libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt0",
			"openjdk-21-jre-headless", "postgresql-17", "python3.13-minimal",
		},
	},
}

// TestDebianNotes reads the skeletons of the files of the packages above, in
// testdata/debian/ARCHITECTURE.zip: beside each is the output of sdtdump --json.
// "make test-debian UPDATE=-update" writes them anew.
func TestDebianNotes(t *testing.T) {
	archives, err := filepath.Glob("testdata/debian/*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".zip"), func(t *testing.T) {
			files := unzip(t, archive)
			t.Chdir(t.TempDir())
			probes := 0
			for name, data := range files {
				want, ok := files[name+jsonSuffix]
				if !ok {
					continue
				}
				got := skeletonJSON(t, name, data)
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				probes += strings.Count(got, "\n")
			}
			if probes < 100 {
				t.Errorf("got %d probes, want hundreds", probes)
			}
		})
	}
}

// jsonSuffix ends the names of expected outputs.
const jsonSuffix = ".json"

func unzip(t *testing.T, path string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// skeletonJSON returns the output for a file called name, which it writes into
// the current directory.
func skeletonJSON(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return output(t, "--json", "--providers", "none", name)
}

// TestDebian downloads packages for every architecture and compares what
// sdtdump and readelf list. It needs the network and some minutes, and runs
// only if SDTDUMP_DEBIAN is set, as "make test-debian" does.
func TestDebian(t *testing.T) {
	if os.Getenv("SDTDUMP_DEBIAN") == "" {
		t.Skip("downloads some 600 MB: make test-debian")
	}
	for _, tool := range []string{"apt-get", "dpkg-deb", "readelf"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range releases {
		for _, arch := range r.architectures {
			t.Run(arch, func(t *testing.T) { testArchitecture(t, r, arch) })
		}
	}
}

func testArchitecture(t *testing.T, r release, arch string) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	apt, err := debian.Open(t.TempDir(), r.name, arch)
	if err != nil {
		t.Fatal(err)
	}
	if err := apt.Update(); err != nil {
		t.Fatal(err)
	}
	for _, name := range r.packages {
		deb, ok, err := apt.Download(name)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			t.Logf("%s has no %s", arch, name)
			continue
		}
		if err := debian.Extract(deb, root); err != nil {
			t.Fatal(err)
		}
		os.Remove(deb)
	}
	archive, err := filepath.Abs(filepath.Join("testdata", "debian", arch+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	var known map[string][]byte
	if !*update {
		known = unzip(t, archive)
	}
	files := map[string][]byte{}
	t.Chdir(root)
	paths := filesWithProbes(t, ".")
	sites, unresolved := 0, 0
	for _, path := range paths {
		sites += compareReadelf(t, path)
		unresolved += resolveAll(t, path)
		whole := output(t, "--json", "--providers", "none", path)
		bones, err := skeleton(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := skeletonJSON(t, path, bones); got != whole {
			t.Errorf("%s: its skeleton gives another output:\n%s", path, cmp.Diff(whole, got))
		}
		files[path], files[path+jsonSuffix] = bones, []byte(whole)
		if _, ok := known[path]; !ok && !*update {
			t.Errorf("%s is not in %s: make test-debian UPDATE=-update", path, archive)
		}
	}
	t.Logf("%d sites in %d files, %d symbols not found", sites, len(paths), unresolved)
	if sites < 100 {
		t.Errorf("got %d sites, want hundreds", sites)
	}
	if *update {
		writeZip(t, archive, files)
	}
}

// resolveAll looks up the symbols in arguments, and returns how many of them are in no symbol
// table of the stripped file at path. Any other error fails the test.
func resolveAll(t *testing.T, path string) (missing int) {
	t.Helper()
	for name, err := range resolved(t, path) {
		if err == nil {
			continue
		}
		missing++
		t.Logf("%s: %s: %v", path, name, err)
	}
	return missing
}

// resolved returns the symbols in the arguments of a file, each with the error of
// resolving it.
func resolved(t *testing.T, path string) map[string]error {
	t.Helper()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]error{}
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Arguments() {
			if a.Symbol != "" {
				_, err := p.Resolve(&a)
				if err != nil && !errors.Is(err, reader.ErrNoSymbol) {
					t.Errorf("%s: %s: %v", path, a.Text, err)
				}
				out[a.Text] = err
			}
		}
	}
	return out
}

// writeZip writes the files. Equal contents give equal archives.
func writeZip(t *testing.T, path string, files map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
