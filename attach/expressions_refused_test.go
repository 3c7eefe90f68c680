package attach_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestExpressionErrors checks what keys refuse.
func TestExpressionErrors(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	for by, want := range map[string]string{
		"arg0/":          `aggregation: key "arg0/", column 6: want an argument or a number after /`,
		"arg0/0":         `aggregation: key "arg0/0", column 5: arg0/0 divides by zero`,
		"arg0 == 1":      `aggregation: key "arg0 == 1", column 1: a key is an argument or an expression, not a condition`,
		"5":              `aggregation: key "5", column 1: 5 names no argument`,
		"size/2":         `aggregation: key "size/2", column 1: args:memory has no argument size: it has arg0, arg1, arg2, pid, tid, comm`,
		"comm*2":         `aggregation: key "comm*2", column 1: comm is a string, and expressions are of integers and durations`,
		"pid[:3]":        `aggregation: pid[:3] is the beginning of a text, and pid of args:memory is none`,
		"arg0[:200]":     `aggregation: arg0[:200]: groups are told apart by at most 120 bytes of a text`,
		"md5(arg0)":      `aggregation: md5(arg0) is no key: want an argument, sql(ARGUMENT)`,
		"sql(arg0)[:10]": `column 10: "[:" follows a complete expression`,
	} {
		_, err := attach.OpenAggregate(t.Context(), []string{path + ":args:memory"}, attach.Count().By(by), nil)
		if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), want) {
			t.Errorf("by %s: error %v, want %s", by, err, want)
		}
	}
	_, err := attach.OpenLatency(t.Context(), path+":args:memory", path+":args:ints", &attach.LatencyOptions{Key: []string{"sql(arg0)"}}, nil)
	if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), "sql(arg0) makes groups, and matches no starts and ends") {
		t.Errorf("key of pairs: error %v", err)
	}
}

// TestExpressionsShared checks that what shared memory does not have is refused.
func TestExpressionsShared(t *testing.T) {
	t.Setenv("USDT_LOCAL", "1")
	p := startChild(t, "expressions")
	p.Do("load")
	opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}}
	for by, want := range map[string]string{
		"cpu":     "events that come through shared memory do not say on which CPU they fired",
		"uid % 2": "events that come through shared memory do not say as which user they fired",
		"tid & 1": "events that come through shared memory do not say in which thread they fired",
	} {
		if _, err := attach.OpenAggregate(t.Context(), []string{"express:done"}, attach.Count().By(by), opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("by %s: error %v, want %s", by, err, want)
		}
	}
}
