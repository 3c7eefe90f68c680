package attach

import (
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// ErrNoMatch is wrapped by the error of Open if no probe matches a selector.
var ErrNoMatch = discover.ErrNoMatch

// ErrNoSite is wrapped by the error of Open if probes match, but none of their
// sites could be attached to.
var ErrNoSite = site.ErrNoSite

// ErrUnsafe is wrapped by Site.Reason if attaching would harm the traced
// program. [Options.Force] attaches nevertheless.
var ErrUnsafe = plan.ErrUnsafe

// ErrSilent is wrapped by Site.Reason if the site would never fire, or not in
// every process. [Options.Force] attaches nevertheless.
var ErrSilent = plan.ErrSilent

// ErrPanic is wrapped by Site.Reason if attaching could end the host: the sysctl
// kernel.panic_on_warn or kernel.warn_limit is set, and the kernel warns when a
// process is killed while it replaces the site. [Options.Force] attaches nevertheless.
var ErrPanic = plan.ErrPanic

// ErrAggregation is wrapped by the error of OpenAggregate if the aggregation
// makes no sense, in itself or for the probes.
var ErrAggregation = query.ErrAggregation
