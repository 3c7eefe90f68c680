package procfs

import "testing"

// TestCopied recognises code that has been copied into the place of a file's.
func TestCopied(t *testing.T) {
	const (
		head = "1000-2000 r--p 00000000 08:01 7 /bin/p\n"
		anon = "2000-3000 r-xp 00000000 00:00 0\n"
		tail = "3000-4000 r--p 00002000 08:01 7 /bin/p\n"
	)
	for name, test := range map[string]struct{ maps, want string }{
		"copy":          {head + anon + tail, "/bin/p"},
		"deleted":       {"1000-2000 r-xp 00000000 08:01 7 /bin/p (deleted)\n" + anon + tail, "/bin/p"},
		"named":         {head + "2000-3000 r-xp 00000000 00:00 0 [anon:text]\n" + tail, "/bin/p"},
		"huge":          {head + "2000-3000 r-xp 00000000 00:0f 9 /anon_hugepage (deleted)\n" + tail, "/bin/p"},
		"in parts":      {head + "2000-2800 r-xp 00000000 00:00 0\n2800-3000 rwxp 00000000 00:00 0\n" + tail, "/bin/p"},
		"the file's":    {head + "2000-3000 r-xp 00001000 08:01 7 /bin/p\n" + tail, ""},
		"data":          {head + "2000-3000 rw-p 00000000 00:00 0\n" + tail, ""},
		"other file":    {head + anon + "3000-4000 r--p 00002000 08:01 8 /bin/q\n", ""},
		"behind a gap":  {head + anon + "4000-5000 r--p 00002000 08:01 7 /bin/p\n", ""},
		"at the end":    {head + anon, ""},
		"only the code": {anon, ""},
	} {
		maps, err := ParseMaps([]byte(test.maps))
		if err != nil {
			t.Fatal(err)
		}
		if got := copied(maps); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
