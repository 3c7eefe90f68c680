package tracepoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/reader"
)

// line describes a field: its name, type and place.
func line(f *reader.Variable) string {
	kind := map[reader.FieldKind]string{reader.Uint: "uint", reader.Int: "int", reader.Bool: "bool", reader.String: "text"}[f.Kind]
	out := fmt.Sprintf("%s (%s): %s %d at %d", f.Name, f.Type, kind, f.Size, f.Offset)
	if f.Memory || f.Follow {
		out += fmt.Sprintf(" memory %t follow %t+%d, %d of %d", f.Memory, f.Follow, f.FollowOffset, f.Count, f.Stride)
	}
	if f.Length != "" {
		out += " length " + f.Length
	}
	if f.Bit != 0 {
		out += fmt.Sprint(" bit ", f.Bit)
	}
	if len(f.Named) > 0 {
		out += fmt.Sprintf(" %s to %s", f.Named[0].Name, f.Named[len(f.Named)-1].Name)
	}
	if f.Err != nil {
		out += " error " + f.Err.Error()
	}
	return out
}

// TestFormats understands formats of Linux 6.18, which were copied from its tracefs.
func TestFormats(t *testing.T) {
	for event, want := range map[string][]string{
		"sched/sched_switch": {
			"prev_comm (char[16]): text 8 at 8 memory true follow false+0, 16 of 0",
			"prev_pid (pid_t): int 4 at 24", "prev_prio (int): int 4 at 28", "prev_state (long): int 8 at 32",
			"next_comm (char[16]): text 8 at 40 memory true follow false+0, 16 of 0",
			"next_pid (pid_t): int 4 at 56", "next_prio (int): int 4 at 60",
		},
		"sched/sched_process_exec": {
			"filename (char[]): text 8 at 8 memory false follow true+0, 0 of 0", "pid (pid_t): int 4 at 12", "old_pid (pid_t): int 4 at 16",
		},
		"syscalls/sys_enter_openat": { // each argument has a word
			"__syscall_nr (int): int 4 at 8", "dfd (int): int 4 at 16", "filename (const char *): text 8 at 24", "flags (int): int 4 at 32", "mode (umode_t): uint 2 at 40",
		},
		"syscalls/sys_enter_write": {
			"__syscall_nr (int): int 4 at 8", "fd (unsigned int): uint 4 at 16", "buf (const char *): text 8 at 24 length count", "count (size_t): uint 8 at 32",
		},
		"xfs/xfs_rename": { // whose text has no NUL
			"dev (dev_t): uint 4 at 8", "src_dp_ino (xfs_ino_t): uint 8 at 16", "target_dp_ino (xfs_ino_t): uint 8 at 24",
			"src_namelen (int): int 4 at 32", "target_namelen (int): int 4 at 36",
			"src_name (char[]): text 8 at 40 memory false follow true+0, 0 of 0 length len(src_name)",
			"target_name (char[]): text 8 at 44 memory false follow true+0, 0 of 0 length len(target_name)",
			"len(src_name) (unsigned short): uint 2 at 42", "len(target_name) (unsigned short): uint 2 at 46",
		},
		"dma/dma_map_sg": {
			"device (char[]): text 8 at 8 memory false follow true+0, 0 of 0", "full_nents (int): int 4 at 12", "full_ents (int): int 4 at 16", "truncated (bool): bool 1 at 20",
			"phys_addrs (u64[]): uint 8 at 24 memory false follow true+0, 0 of 8 length len(phys_addrs)",
			"dma_addrs (u64[]): uint 8 at 28 memory false follow true+0, 0 of 8 length len(dma_addrs)",
			"lengths (unsigned int[]): uint 4 at 32 memory false follow true+0, 0 of 4 length len(lengths)",
			"dir (enum dma_data_direction): uint 4 at 36 BIDIRECTIONAL to NONE", "attrs (unsigned long): uint 8 at 40 WEAK_ORDERING to CACHE_CLEAN",
			"len(phys_addrs) (unsigned short): uint 2 at 26 bit 3", "len(dma_addrs) (unsigned short): uint 2 at 30 bit 3", "len(lengths) (unsigned short): uint 2 at 34 bit 2",
		},
		"sock/inet_sock_set_state": {
			"skaddr (const void *): uint 8 at 8", "oldstate (int): int 4 at 16 TCP_ESTABLISHED to TCP_NEW_SYN_RECV", "newstate (int): int 4 at 20 TCP_ESTABLISHED to TCP_NEW_SYN_RECV",
			"sport (__u16): uint 2 at 24", "dport (__u16): uint 2 at 26", "family (__u16): uint 2 at 28 AF_INET to AF_INET6", "protocol (__u16): uint 2 at 30 IPPROTO_TCP to IPPROTO_MPTCP",
			"saddr (__u8[4]): uint 1 at 32 memory true follow false+0, 4 of 1", "daddr (__u8[4]): uint 1 at 36 memory true follow false+0, 4 of 1",
			"saddr_v6 (__u8[16]): uint 1 at 40 memory true follow false+0, 16 of 1", "daddr_v6 (__u8[16]): uint 1 at 56 memory true follow false+0, 16 of 1",
		},
		"ftrace/print":           {"ip (unsigned long): uint 8 at 8", "buf (char[0]): text 8 at 16 memory true follow false+0, 0 of 0 error it has no elements"},
		"raw_syscalls/sys_enter": {"id (long): int 8 at 8", "args (unsigned long[6]): uint 8 at 16 memory true follow false+0, 6 of 8"},
	} {
		b, err := os.ReadFile(filepath.Join("testdata/events", event, "format"))
		if err != nil {
			t.Fatal(err)
		}
		system, _, _ := strings.Cut(event, "/")
		fields, err := Parse(b, system)
		if err != nil {
			t.Errorf("%s: %v", event, err)
		}
		var got []string
		for i := range fields {
			got = append(got, line(&fields[i]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}
}

// TestFields understands single fields.
func TestFields(t *testing.T) {
	for field, want := range map[string]string{
		"__rel_loc char[] text;\toffset:12;\tsize:4;\tsigned:1":                            "text (char[]): text 8 at 12 memory false follow true+16, 0 of 0",
		"void (*function)(struct timer_list *);\toffset:16;\tsize:8;\tsigned:0":            "function (void *): uint 8 at 16",
		"u8 address[ETH_ALEN];\toffset:8;\tsize:6;\tsigned:0":                              "address (u8[6]): uint 1 at 8 memory true follow false+0, 6 of 1",
		"struct foo address[N];\toffset:8;\tsize:6;\tsigned:0":                             "address (struct foo[0]): uint 0 at 8 memory true follow false+0, 0 of 0 error a struct foo[0] is no number of up to 8 bytes",
		"struct kvm_msr value;\toffset:8;\tsize:24;\tsigned:0":                             "value (struct kvm_msr): uint 24 at 8 error a struct kvm_msr is no number of up to 8 bytes",
		"const char *const * argv;\toffset:24;\tsize:8;\tsigned:0":                         "argv (const char *const *): uint 8 at 24",
		"char * buf;\toffset:24;\tsize:8;\tsigned:0":                                       "buf (char *): uint 8 at 24",
		"__data_loc cpumask_t[] mask;\toffset:8;\tsize:4;\tsigned:0":                       "mask (cpumask_t[]): uint 0 at 8 memory false follow true+0, 0 of 0 error a cpumask_t[] is no number of up to 8 bytes",
		"__data_loc char[] text;\toffset:8;\tsize:8;\tsigned:0":                            "text (char[]): text 8 at 8 memory false follow true+0, 0 of 0 error 8 bytes say where it is, not 4",
		"unsigned long long value;\toffset:8;\tsize:8;\tsigned:0":                          "value (unsigned long long): uint 8 at 8",
		"int common_pid;\toffset:4;\tsize:4;\tsigned:1;\nfield:bool b;\toffset:9;\tsize:1": "b (bool): bool 1 at 9",
	} {
		fields, err := Parse([]byte("name: x\nID: 1\nformat:\n\tfield:"+field+";\n\nprint fmt: \"%s\", __get_rel_str(text)\n"), "x")
		if err != nil || len(fields) == 0 {
			t.Errorf("%s: %v, error %v", field, fields, err)
			continue
		}
		if got := line(&fields[0]); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", field, got, want)
		}
	}
	for _, format := range []string{"", "name: x\n", "field:int x;", "field:int x;\toffset:8;\tsize:-4;", "field:int x;\toffset:9000;\tsize:4;", "field:;\toffset:8;\tsize:4;", "field:int x;\toffset:y;\tsize:4;"} {
		if fields, err := Parse([]byte(format), "x"); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v, error %v, want ErrFormat", format, fields, err)
		}
	}
	added := "\tfield:long n;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:__data_loc char[] __filename_val;\toffset:48;\tsize:4;\tsigned:0;\n\tfield:int far;\toffset:64;\tsize:8;\tsigned:0;\n"
	if fields, err := Parse([]byte(added), syscalls); err != nil || len(fields) != 1 || fields[0].Name != "n" {
		t.Errorf("with what the kernel adds to a system call: %+v, error %v", fields, err)
	}
}

// FuzzParse checks that each field of a format that is understood lies in a record.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/events/*/*/format")
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, filepath.Base(filepath.Dir(filepath.Dir(path))))
	}
	f.Fuzz(func(t *testing.T, format []byte, system string) {
		fields, err := Parse(format, system)
		if err != nil {
			if !errors.Is(err, ErrFormat) || fields != nil {
				t.Fatalf("%v, error %v", fields, err)
			}
			return
		}
		for i := range fields {
			v := &fields[i]
			if v.Err != nil {
				continue
			}
			size := v.Size
			switch {
			case v.Follow:
				size = 4
			case v.Memory:
				size = v.Count * max(1, v.Stride)
			}
			if v.Offset < firstField || size <= 0 || v.Offset+int64(size) > maxRecord || v.Size > 8 || v.Length != "" && v.Follow && !strings.HasPrefix(v.Length, "len(") {
				t.Errorf("%+v is not in a record", v)
			}
		}
		if end := End(fields); end > maxRecord+maxRecord {
			t.Errorf("the record ends at %d", end)
		}
	})
}
