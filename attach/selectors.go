package attach

import (
	"errors"

	"github.com/go-usdt/usdt/internal/selector"
)

func parseSelector(s string) (selector.Selector, error) {
	sel, err := selector.Parse(s)
	if err != nil {
		return sel, &SelectorError{s, err}
	}
	return sel, nil
}

func parseSelectors(selectors []string) ([]selector.Selector, error) {
	if len(selectors) == 0 {
		return nil, &SelectorError{Err: errors.New("no selector: name at least one, as [PATH:]PROVIDER:NAME")}
	}
	var out []selector.Selector
	for _, s := range selectors {
		sel, err := parseSelector(s)
		if err != nil {
			return nil, err
		}
		out = append(out, sel)
	}
	all := make([]*selector.Selector, len(out))
	for i := range out {
		all[i] = &out[i]
	}
	selector.Unite(all...)
	return out, nil
}
