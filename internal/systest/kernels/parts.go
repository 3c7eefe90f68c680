package main

import (
	"maps"
	"slices"
	"strings"
)

// Machines are slow. So what other tests show on each of them, or other machines of the
// same kernel or with the same mechanism, is left out: a part of the long suites runs,
// chosen by a flag of the test binary for each package.
var (
	// most leaves out what depends on the processor alone, which "make test" tests on amd64.
	most = map[string]string{"cmd/sdttrace": commands("command-c", "children"), "attach": leaveOut(processor)}
	// newer also leaves out how a tracer manages many processes, files and groups, for which 6.1-amd64 and
	// "make test" are enough.
	newer = with(once, map[string]string{"cmd/sdttrace": commands(), "attach": leaveOut(slices.Concat(processor, managed))})
	// little is what depends on the processor, and on how the kernel attaches and reads
	// memory. It leaves out what becomes of many processes, files and tracers, and how
	// groups, intervals and pairs are added up.
	little = with(once, verified, map[string]string{"cmd/sdttrace": held + "|^TestKernelRecipes$", "attach": leaveOut(slices.Concat(processor, managed, others), "recorded")})
	// least is what depends on the processor, on a machine whose kernel another machine has. It also leaves
	// out what says of itself that it takes too long.
	least = with(once, verified, map[string]string{"attach": leaveOut(slices.Concat([]string{"CorpusRefused"}, managed, others, sameKernel), "recorded")})

	// once leaves out what no kernel makes different and takes a machine long: 6.1-amd64 runs it, and "make
	// test".
	once = map[string]string{
		"internal/rendezvous":    "-test.skip=^TestLying$",
		"attach/internal/naming": "-test.skip=^TestNamesBesideReading$",
		"reader":                 "-test.skip=^Test(BadTypes|Root)$",
	}
	// verified leaves out what the verifiers of 6.1-amd64 and newest-amd64 accept, and the commands of sdttrace
	// that these two trace.
	verified = map[string]string{"attach/internal/codegen": "-test.skip=^TestManyForms$", "cmd/sdttrace": held}

	// functions are what concerns functions of the kernel and its tracepoints: counts, sums and
	// latencies, compared with a program's system calls, and what is refused.
	functions = map[string]string{
		"attach/internal/codegen": "-test.run=^TestKernelStack",
		"attach/internal/link":    "-test.run=^TestKernel(Functions|Refusals)$",
		"attach":                  "-test.run=^Test(Kernel(Functions|Latency|Refused|Calls|Module|Missed)|Tracepoint(s|Latency)|Trampolines?(Latency|Refused)?|Calls)$",
		"cmd/sdttrace":            "-test.run=^TestKernelRecipes$",
	}

	// processor are tests of how files are searched and frames are named, in which a kernel's
	// part is a copy of memory that TestStackOfGo and TestByStack read as well, or news of
	// mappings, which attach/internal/maplog tests.
	processor = []string{"AllocationsOfSites", "BareCallers", "ByStackIsThatOfEvents", "(By)?(Unwound)?StackOfC", "ManySearches", "PrototypesByName", "StackOfEnded"}

	managed = []string{
		"CloseMeanwhile", "Crowd", "EndedProcesses", "Growth", "Many(Processes|Searches)", "Read(Closed|Late)", "RefusedLater",
		"ReloadMeanwhile", "RemovedFiles", "Rescan.*", "ReusedPID.*", "TakeGroups", "Thousand",
	}

	others = []string{
		"Aggregate.*", "BytesCompared", "DeadSemaphores", "Links", "LongCondition", "NestedWhere", "OneOfTwoKilled", "Other.*",
		"Overrun", ".*PIDNamespace", "Quantiles.*", "Stranded", "TracerKilled", "TwoTracers", "Unmapped", "Where", "WhereMeanings",
	}

	// sameKernel are tests of which the kernel of 6.1-amd64 and "make test" show the same: control groups, how
	// pairs, latencies and spans are made of events, in which order sites come, and, for what 6.12-arm64 also
	// runs on this processor, kernel functions and tracepoints.
	sameKernel = []string{
		"(By|Where|EventsOf)?Container.*", "Cgroup.*", "ByStackIsThatOfEvents", "Events(BehindLull|GoOn)", "EveryTracepoint", "Folded.*",
		"Headless.*", "Kernel(AfterProgram|BitFields|Latency|Members|Missed|Module|Refused)", "Late(Ends|Machine)", "Latency(By.*|Eviction|Keys|Live|Nests|OfThreads|Where|WithoutKey)",
		"Many(Reads|Stacks)", "News.*", "Omit.*", "PairTimes", "Pairs(CostNoEvent|Late|Unread|Unseen)", "Plan.*",
		"Reload", "SelectedFiles", "SitesAsTheyCome", "Spans.*", "Stop", "TargetChildren", "Tracepoint(Latency|Members|Missed|OwnProgram|Then)",
		"Versions.*", "ViaBoth.*", "Waiting.*",
	}
)

// commands returns the flag for the tests of sdttrace that hold a command until it is traced, or trace the
// kernel, with more scripts.
func commands(scripts ...string) string {
	return "-test.run=^Test(Held|Command|Watched|Interrupted|Kernel)|^TestScripts$/^(" + strings.Join(append(scripts, "held", "command"), "|") + ")$"
}

// held is the flag for the tests of sdttrace that hold a command, as the kernel and the processor let it.
const held = "-test.run=^Test(Held|Watched|Interrupted)|^TestScripts$/^held$"

// with returns the flags of all, of which the last one for a package counts.
func with(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// untried are tests of attach whose time, or whose results, on machines nobody has looked at:
// "make test-kernels" with -only attach and -run chooses them.
var untried = []string{
	"ChurnModel", "CopiesOfKilledTracer", "CopyingCode", "CoroutineReturns", "Exceptions", "ForcedSwitches", "Integers.*",
	"Linked", "ManyFoundLate", "MovedBase", "NoSwitches", "OpenChurning", "OtherForms", "PairsModel", "ReadFails", "ReadWaits", "Semaphores.*",
	"SharedSite", "StackOfMusl", "Starting.*", "SwitchesOfStacks", "VectorFunctions",
}

// leaveOut returns the flag that leaves out tests of attach, by what their names have
// behind Test, and all of the tests that go one of these ways. Tests through shared memory
// or from recordings are always left out: internal/ring, internal/rendezvous and provider,
// which do the part of the kernel in it, are tested on each machine.
func leaveOut(tests []string, ways ...string) string {
	tests = append([]string{"Equal.*", "Local.*", "Record.*", "Snapshot.*"}, tests...)
	tests = append(tests, "AwaitImpossible", "ByStackShared") // what is refused, and shared, within the tracer
	tests = append(tests, untried...)
	ways = append([]string{"local"}, ways...)
	return "-test.skip=^Test(" + strings.Join(tests, "|") + ")$|^Test.*$/^(" + strings.Join(ways, "|") + ")$"
}

// whole makes machines run all tests of their suites.
func whole(kernels []kernel) []kernel {
	kernels = slices.Clone(kernels)
	for i := range kernels {
		kernels[i].part, kernels[i].few = nil, false
	}
	return kernels
}
