package bind

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/shape"
)

// TestNeither has an error that names once what start and end have.
func TestNeither(t *testing.T) {
	lacks := func(probe string, has ...string) error {
		return fmt.Errorf("%w: %w", query.ErrAggregation, fmt.Errorf("%s has no argument n: %w", probe, &shape.NoArgument{Has: has, Name: "n"}))
	}
	const task = ", pid, tid, comm, cpu, uid, cgroup, container, pod"
	for _, c := range []struct {
		end, start error
		want       string
	}{
		{lacks("p:end", "id", "code"), lacks("p:start", "id", "code"), "aggregation: p:end has no argument n, nor has p:start: it has id, code" + task},
		{lacks("p:end", "id", "code"), lacks("p:start", "id"), "aggregation: p:end has no argument n, nor has p:start: the end has code, both have id" + task},
		{lacks("p:end", "id", "code"), lacks("p:start", "code", "id"), "aggregation: p:end has no argument n, nor has p:start: both have id, code" + task},
		{lacks("p:end"), lacks("p:start", "no", "id"), "aggregation: p:end has no argument n, nor has p:start: the start has no, id, both have " + task[2:] + "; the nearest is no"},
	} {
		if err := neither(plainly(c.end), c.start); err.Error() != c.want || !errors.Is(err, query.ErrAggregation) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
