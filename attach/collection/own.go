package collection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Attach attaches every program whose section names what to attach to. The error
// joins what went wrong, once for each cause; programs that could be attached
// stay attached. When ctx is done, Attach returns its cause; afterwards the
// programs are detached. Attach may be called again: it attaches what is not
// attached, or not any more.
func (c *Collection) Attach(ctx context.Context) error {
	if err := usable(ctx); err != nil {
		return err
	}
	c.attaching.Lock()
	defer c.attaching.Unlock()
	if c.isClosed() {
		return errClosed
	}
	if c.adopted {
		return errAdopted
	}
	programs := map[string][]string{} // by cause
	causes := map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(c.programs)) {
		p := c.programs[name]
		if p.section.selector == "" || p.ended != nil && p.ended() == nil { // it is attached
			continue
		}
		if err := c.attachOwn(ctx, p); err != nil {
			programs[err.Error()] = append(programs[err.Error()], name)
			causes[err.Error()] = err
		}
	}
	var all []error
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		all = append(all, fmt.Errorf("attach %s: %w", strings.Join(programs[cause], ", "), causes[cause]))
	}
	return errors.Join(all...)
}

// attachOwn attaches a program to what its section names.
func (c *Collection) attachOwn(ctx context.Context, p *program) error {
	if p.section.kernel != nil {
		if err := c.attachKernel(ctx, p); err != nil {
			return err
		}
		p.ended = ctx.Err
		return nil
	}
	if p.own != nil {
		p.own.Close() // which its context does at this moment
		p.own = nil
	}
	c.mu.Lock()
	t, err := p.target, p.err
	p.target, p.err, p.refused = nil, nil, nil
	c.mu.Unlock()
	if t == nil && err == nil { // it was attached before
		t, err = c.ownTarget(ctx, p)
	}
	if err != nil {
		return err
	}
	defer t.objects.Close()
	a, err := c.attach(ctx, p, t)
	if err != nil {
		c.refuse(p, t.plan, err)
		return err
	}
	p.own, p.ended = a, ctx.Err
	return nil
}

// Left returns the names of the programs that the caller has to attach: neither Attach nor
// AttachProgram does, because their sections are unknown, or are for one place and name none. A program in a section
// that neither cilium/ebpf nor this package knows is not loaded either.
func (c *Collection) Left() []string { return slices.Clone(c.left) }
