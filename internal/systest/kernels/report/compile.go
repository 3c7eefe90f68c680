package report

// Compile asks the host to run a compiler for a program on the machine, which
// has no compiler. The answer is a Compiled, one line of JSON on the console's
// input.
type Compile struct {
	ID      int
	Command []string          // arguments that name files hold the prefixes below
	Dir     string            // current directory below SourceDir, if it is there
	Files   map[string][]byte // files that the host does not have
}

// Compiled is what the compiler did.
type Compiled struct {
	ID     int
	Code   int    // exit code
	Output string // standard output and error
	File   []byte // of -o, compressed (compress/flate)
}

// SourceDir is where a machine has the module's files.
const SourceDir = "/src"

// Arguments of Compile.Command that stand for files.
const (
	SourceFile = "source:" // in the module, by its path there
	SentFile   = "sent:"   // one of Compile.Files
	OutputFile = "output:" // Compiled.File
)
