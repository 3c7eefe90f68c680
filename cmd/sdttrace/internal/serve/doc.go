// Package serve shows browsers of this machine a page that grows, see package page.
//
// The server listens on a loopback address only. The page's address has a token of 128 random
// bits, which all requests have to show, and which the page's program sends in a header: other
// sites cannot make a browser send that. Requests that name another host, as the requests of a site
// whose name leads to this machine do, or come from another origin are refused.
package serve
