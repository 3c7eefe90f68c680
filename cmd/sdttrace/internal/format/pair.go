package format

import "github.com/go-usdt/usdt/attach"

// appendPair appends a pair as a line of text: when it ended, how long it took, and what
// its start and its end have; below, the calls that led to each.
func appendPair(dst []byte, pair *attach.Pair) []byte {
	dst = appendProcess(pair.End.Time.AppendFormat(dst, "15:04:05.000000"), &pair.Start)
	dst = append(append(dst, " latency="...), pair.Took.String()...)
	dst = append(appendFired(dst, &pair.Start), " ->"...)
	if pair.Start.PID != pair.End.PID || pair.Start.Comm != pair.End.Comm {
		dst = appendProcess(dst, &pair.End)
	}
	dst = appendFired(dst, &pair.End)
	if pair.Start.Stack != nil && pair.End.Stack != nil {
		dst = append(appendCalls(dst, &pair.Start), "\n      ->"...)
	}
	return append(appendCalls(dst, &pair.End), '\n')
}

func appendPairJSON(dst []byte, pair *attach.Pair) []byte {
	return append(pair.AppendJSON(dst), '\n')
}
