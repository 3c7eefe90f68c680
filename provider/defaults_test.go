package provider_test

import (
	"testing"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestDefaults checks that zero options are the defaults that they name, and that UTF8 is
// text.
func TestDefaults(t *testing.T) {
	if o := (provider.Options{}); o.Loader != provider.LoaderMap || o.Site != provider.SiteAuto {
		t.Errorf("zero options have loader %v and site %v", o.Loader, o.Site)
	}
	p := fresh("defaults", &provider.Options{Loader: provider.LoaderMap, Site: provider.SiteAuto})
	text := provider.NewProbe1[provider.UTF8](p, "text", "s")
	rec := providertest.Record(t, p)
	text.Fire(provider.UTF8("grün"))
	if got := rec.Events("text"); len(got) != 1 || got[0].Args[0].Value != "grün" {
		t.Errorf("got %+v, want one event with text", got)
	}
}
