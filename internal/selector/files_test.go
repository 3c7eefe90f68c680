package selector

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, path := range []string{"a/lib1.so", "a/lib2.so", "b/lib3.so", "b/other", "a/.hidden.so", "a/c/lib4.so"} {
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir("b/lib5.so", 0o700), os.Symlink("lib3.so", "b/lib6.so")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		dir + "/*/lib*.so":                    {dir + "/a/lib1.so", dir + "/a/lib2.so", dir + "/b/lib3.so", dir + "/b/lib6.so"},
		"./[!b]/lib[1]*":                      {dir + "/a/lib1.so"},
		"a/lib?.so":                           {"./a/lib1.so", "./a/lib2.so"},
		"{a," + dir + "/b}/lib{3,1,[1-3]}.so": {"./a/lib1.so", "./a/lib2.so", dir + "/b/lib3.so"},
		dir + "/a/.h*":                        {dir + "/a/.hidden.so"},
		dir + "/a/lib1.so":                    nil, // no wildcards
		dir + "/missing/*":                    nil,
		"lib*":                                nil, // a name, wherever it is
		dir + "/a/lib1.so/*/lib":              nil,
	} {
		s, err := Parse("uprobe:" + path + ":f")
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Files()
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("files of %s: %v (-want +got):\n%s", path, err, d)
		}
	}
}
