package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestExpressionLibc groups the writes of dd by their sizes in KiB and what remains, as the C
// library is asked for them, and compares with the records that dd says it wrote.
func TestExpressionLibc(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "dd")
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, make([]byte, 50*3000+1500), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := attach.OpenAggregate(t.Context(), []string{"uprobe:libc.so.6:write"}, attach.Sum("arg2").By("arg2/1024", "arg2 & 1023", "comm[:1]", "uid*0+arg0"),
		&attach.Options{Where: fmt.Sprintf(`comm == "dd" && arg0 %% 2 == 1 && uid == %d && arg2 - 1 >= 0`, os.Getuid())})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	said, err := exec.Command("dd", "if="+in, "of="+in+".out", "bs=3000").CombinedOutput()
	if err != nil {
		t.Fatalf("dd: %v: %s", err, said)
	}
	var read, readPart, full, part uint64
	if _, err := fmt.Sscanf(string(said), "%d+%d records in\n%d+%d records out\n", &read, &readPart, &full, &part); err != nil || full != 50 || part != 1 {
		t.Fatalf("dd said %q: %v", said, err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, g := range groups {
		got[fmt.Sprint(g.By[0].Value, "K ", g.By[1].Value, " ", g.By[2].Value, " ", g.By[3].Value, ": ", g.Sum)] = g.Count
	}
	want := map[string]uint64{
		fmt.Sprint("2K 952 d 1: ", 3000*full): full,
		fmt.Sprint("1K 476 d 1: ", 1500*part): part,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("writes (-dd +traced):\n%s", d)
	}
	if st, err := a.Stats(); err != nil || st.Lost > 0 {
		t.Errorf("stats %+v, %v", st, err)
	}
}
