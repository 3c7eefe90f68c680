package symbols_test

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/systest/debian"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// debugPackages are Debian's packages with debugging information, packed by zlib and
// partly shared by dwz: C, C++ and what is generated, up to 229 MB a file.
var debugPackages = []string{
	"binutils-x86-64-linux-gnu-dbg", "ceph-mon-dbg", "ceph-osd-dbg", "graphicsmagick-dbg", "libbinutils-dbg", "libc6-dbg", "libcephfs2-dbg", "libdb5.3-dbg",
	"libgsl-dbg", "libkrb5-dbg", "liblua5.4-0-dbg", "libnl-3-200-dbg", "libpcre3-dbg", "librados2-dbg", "mono-runtime-dbg",
	"openjdk-17-dbg", "python3.11-dbg", "syslog-ng-dbg", "uwsgi-dbg", "valgrind-dbg",
}

// perPackage is the number of files of a package that are looked at, the largest first.
const perPackage = 2

// TestDebian compares the names and lines in Debian's packages with two peers' names and lines.
// It downloads a gigabyte.
func TestDebian(t *testing.T) {
	if os.Getenv("SYMBOLS_DEBIAN") == "" {
		t.Skip("downloads a gigabyte of debugging information: make test-debian")
	}
	needs.Tools(t, "llvm-symbolizer", "addr2line", "apt-get", "dpkg-deb")
	dir := t.TempDir()
	archive, err := debian.Open(dir, "bookworm", runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Update(); err != nil {
		t.Fatal(err)
	}
	for _, name := range debugPackages {
		t.Run(name, func(t *testing.T) {
			deb, ok, err := archive.Download(name)
			if err != nil || !ok {
				t.Fatalf("%s: found %t, %v", name, ok, err)
			}
			root := filepath.Join(dir, name)
			defer os.RemoveAll(root)
			if err := debian.Extract(deb, root); err != nil {
				t.Fatal(err)
			}
			os.Remove(deb)
			debug := filepath.Join(root, "usr/lib/debug")
			checkDebug(t, debug, largest(t, debug, perPackage), 200)
		})
	}
}

// TestDebianInstalled does so with a small package that is installed. It has parts in a
// file of dwz's to which only a path leads.
func TestDebianInstalled(t *testing.T) {
	needs.Tools(t, "llvm-symbolizer", "addr2line")
	libs, _ := filepath.Glob("/usr/lib/*-linux-gnu/libbfd-2.*-system.so")
	if len(libs) == 0 {
		needs.Skip(t, "needs libbinutils")
	}
	paths := []string{debugFileOf(t, libs[0], "libbinutils-dbg")}
	if !shared(t, paths[0]) {
		t.Fatalf("%s shares no parts", paths[0])
	}
	checkDebug(t, "/usr/lib/debug", paths, 300)
}

// largest returns the largest debug files of a directory, which have code.
func largest(t *testing.T, dir string, count int) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.Contains(path, "/.dwz/") && !strings.HasSuffix(path, ".py") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	size := func(path string) int64 {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		return info.Size()
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return size(path) == 0 || size(path) > 4<<20 && shared(t, path) // those take addr2line minutes
	})
	slices.SortFunc(paths, func(a, b string) int { return int(size(b) - size(a)) })
	return paths[:min(count, len(paths))]
}

// checkDebug compares the names and lines of addresses of each file.
func checkDebug(t *testing.T, dir string, paths []string, count int) {
	t.Helper()
	if len(paths) == 0 {
		t.Fatalf("%s has no files", dir)
	}
	all, compared, inlined, differ := 0, 0, 0, 0
	var took time.Duration
	total := int64(0)
	for _, path := range paths {
		addrs, named := sample(t, path, count)
		r := symbols.NewResolver(&symbols.Options{DebugDirs: []string{dir}})
		var got [][]symbols.Frame
		start := time.Now()
		for _, addr := range addrs {
			frames, err := r.AppendFile(nil, path, addr)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, frames)
		}
		took += time.Since(start)
		for _, err := range r.Refused() {
			t.Error(err)
		}
		r.Close()
		dwz := shared(t, path)
		peer := path
		if dwz {
			peer = linked(t, dir, path)
		}
		peers := [][][]string{make([][]string, len(addrs))}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if total += info.Size(); info.Size() < 20<<20 {
			peers[0] = addr2line(t, peer, addrs)
		}
		if !dwz { // llvm-symbolizer does not read what dwz has put elsewhere
			peers = append(peers, peerFrames(t, path, addrs))
		}
		for i, addr := range addrs {
			all++
			inlined += len(got[i]) - 1
			for _, f := range got[i][:len(got[i])-1] {
				if f.Func == "" {
					t.Fatalf("%s %#x: an inlined function lacks a name: %v", filepath.Base(path), addr, got[i])
				}
			}
			known, equal := agrees(got[i], i, peers, named, dwz)
			if known {
				compared++
			}
			if known && !equal {
				if differ++; differ <= 5 {
					t.Logf("%s %#x:\ngot %.300s\naddr2line %.300q\nall %.300q", filepath.Base(path), addr, fmt.Sprint(got[i]), peers[0][i], peers[len(peers)-1][i])
				}
			}
		}
	}
	t.Logf("%d files, %d addresses named in %v, %d functions inlined there; peers know %d, of which %d differ (%d KiB)",
		len(paths), all, took.Round(time.Millisecond), inlined, compared, differ, total>>10)
	if compared == 0 || differ*200 > compared {
		t.Errorf("%d of %d addresses have other functions or lines than every peer says", differ, compared)
	}
}

// shared reports whether dwz has put parts of the file's debugging information elsewhere.
func shared(t *testing.T, path string) bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Section(".gnu_debugaltlink") != nil
}

// linked returns a copy of a debug file that has the path of the file of dwz's as it is now.
func linked(t *testing.T, dir, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	link, err := f.Section(".gnu_debugaltlink").Data()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "linked")
	if err := os.WriteFile(out+".link", bytes.Replace(link, []byte("/usr/lib/debug"), []byte(dir), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "objcopy", "--update-section", ".gnu_debugaltlink="+out+".link", path, out)
	return out
}

// agrees reports whether a peer knows something about the i-th address, and whether one
// says what got has. With dwz, addr2line leaves out inlined functions, or gives them the
// name of the one around them.
func agrees(got []symbols.Frame, i int, peers [][][]string, named aliases, dwz bool) (known, equal bool) {
	for _, peer := range peers {
		want := peer[i]
		if len(want) == 0 || strings.HasPrefix(want[0], "?? ") || dwz && strings.HasSuffix(want[0], ":0") {
			continue
		}
		known = true
		place := func(g, w int) bool {
			at := want[w][strings.LastIndexByte(want[w], ' ')+1:]
			if _, line, ok := strings.Cut(at, "<artificial>:"); ok { // LTO's, which addr2line takes for a file
				return line == fmt.Sprint(got[g].Line)
			}
			file, line, _ := strings.Cut(at, ":")
			// Units have a path of their own to what several include.
			return filepath.Base(clean(file)) == filepath.Base(clean(got[g].File)) && line == fmt.Sprint(got[g].Line) || line == "0" && got[g].Line == 0
		}
		name := func(g, w int) bool {
			n, _, _ := strings.Cut(want[w][:strings.LastIndexByte(want[w], ' ')], "@")
			n = mangled.Source(clones.ReplaceAllString(n, ""))
			f := clones.ReplaceAllString(got[g].Func, "")
			if ofFile.MatchString(n) {
				return true
			}
			return n == f || named.same(n, f) || short(n) == short(f)
		}
		last, wantLast := len(got)-1, len(want)-1
		same := last >= 0 && place(0, 0) && (name(last, wantLast) || dwz && strings.HasPrefix(want[wantLast], "?? ") && name(last, 0))
		if !dwz {
			same = same && last == wantLast
			for j := range min(last, wantLast) {
				same = same && place(j, j) && name(j, j)
			}
			same = same && place(last, wantLast)
		}
		equal = equal || same
	}
	return known, equal
}

func clean(file string) string {
	if file == "" {
		return "??"
	}
	return filepath.Clean(file)
}

// ofFile is the symbol that link-time optimisation gives a file.
var ofFile = regexp.MustCompile(`\.c\.[0-9a-f]+$`)

var parameters = regexp.MustCompile(`[(<].*`)

// short is a function's name without its scope, all that addr2line knows of some.
func short(name string) string {
	name = parameters.ReplaceAllString(name, "")
	return name[strings.LastIndexByte(name, ':')+1:]
}

// addr2line returns what GNU's tool says about every fourth address, as peerFrames does: it
// is slow. It returns nothing if it takes a minute.
func addr2line(t testing.TB, path string, addrs []uint64) [][]string {
	t.Helper()
	const every = 4
	out := make([][]string, len(addrs))
	var in bytes.Buffer
	for i := 0; i < len(addrs); i += every {
		fmt.Fprintf(&in, "%#x\n", addrs[i])
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "addr2line", "-a", "-f", "-i", "-e", path)
	cmd.Stdin = &in
	text, err := cmd.Output()
	if ctx.Err() != nil {
		t.Logf("addr2line takes a minute for %s", filepath.Base(path))
		return out
	}
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	name, at := "", -every
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "0x"):
			at, name = at+every, ""
		case name == "":
			name = line
		default:
			place, _, _ := strings.Cut(line, " (discriminator")
			place = strings.Replace(place, ":?", ":0", 1)
			out[at] = append(out[at], name+" "+place)
			name = ""
		}
	}
	if at != (len(addrs)-1)/every*every {
		t.Fatalf("addr2line's last answer is to question %d of %d", at, len(addrs))
	}
	return out
}
