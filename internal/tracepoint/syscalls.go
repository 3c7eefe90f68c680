package tracepoint

import (
	"slices"
	"strings"
)

// syscalls is the system of the events that the kernel makes of the declarations of its system calls.
const syscalls = "syscalls"

// maxArguments is how many arguments a system call has.
const maxArguments = 6

// number is a type of numbers in C.
type number struct {
	size   int
	signed bool
}

// sizes are the sizes of types, where a format does not have them: of elements of arrays, and of system
// calls' arguments, each of which has a whole word there.
var sizes = map[string]number{
	"char": {1, true}, "signed char": {1, true}, "unsigned char": {1, false}, "bool": {1, false},
	"u8": {1, false}, "__u8": {1, false}, "uint8_t": {1, false}, "s8": {1, true}, "__s8": {1, true}, "int8_t": {1, true},
	"short": {2, true}, "unsigned short": {2, false}, "umode_t": {2, false},
	"u16": {2, false}, "__u16": {2, false}, "uint16_t": {2, false}, "__be16": {2, false}, "__le16": {2, false}, "s16": {2, true}, "__s16": {2, true}, "int16_t": {2, true},
	"int": {4, true}, "unsigned int": {4, false}, "unsigned": {4, false}, "uint": {4, false},
	"u32": {4, false}, "__u32": {4, false}, "uint32_t": {4, false}, "__be32": {4, false}, "__le32": {4, false}, "s32": {4, true}, "__s32": {4, true}, "int32_t": {4, true},
	"pid_t": {4, true}, "uid_t": {4, false}, "gid_t": {4, false}, "clockid_t": {4, true}, "timer_t": {4, true}, "key_t": {4, true},
	"key_serial_t": {4, true}, "mqd_t": {4, true}, "qid_t": {4, false}, "rwf_t": {4, true}, "dev_t": {4, false},
	"long": {8, true}, "unsigned long": {8, false}, "long long": {8, true}, "unsigned long long": {8, false},
	"u64": {8, false}, "__u64": {8, false}, "uint64_t": {8, false}, "__be64": {8, false}, "__le64": {8, false}, "s64": {8, true}, "__s64": {8, true}, "int64_t": {8, true},
	"size_t": {8, false}, "ssize_t": {8, true}, "loff_t": {8, true}, "off_t": {8, true}, "aio_context_t": {8, false}, "time_t": {8, true},
}

// ofCalls returns the arguments of a system call, with their sizes and which are text. It leaves out the text that
// the kernel adds to what perf records, and does not hand to programs (Linux 7.0).
func ofCalls(fields []field) []field {
	// struct syscall_tp_t of kernel/trace/trace_syscalls.c: the number, and words behind it.
	fields = slices.DeleteFunc(fields, func(f field) bool {
		return f.located || f.offset+f.size > 2*firstField+8*maxArguments
	})
	for i := range fields {
		f := &fields[i]
		of := strings.TrimPrefix(f.typ, "const ")
		if strings.HasPrefix(of, "enum ") {
			of = "unsigned int"
		}
		if n, ok := sizes[of]; ok && !f.array && n.size <= f.size {
			f.number = n
		}
		if f.text && i+1 < len(fields) && fields[i+1].typ == "size_t" {
			f.length = fields[i+1].name // as of write
		}
	}
	return fields
}
