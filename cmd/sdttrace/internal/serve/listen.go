package serve

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// AddressError is what is wrong with an address that cannot be served on.
type AddressError string

func (e AddressError) Error() string { return string(e) }

// Listen listens on a loopback address, such as 127.0.0.1:0, where 0 is a port that is free.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil {
		return nil, AddressError(fmt.Sprintf("%q is not an address with a port, such as 127.0.0.1:8080", address))
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return nil, AddressError(fmt.Sprintf("%q is not a loopback address, as 127.0.0.1 is: the page is for this machine alone; ssh -L forwards a port from another one", host))
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %s is in use; port 0 is one that is free", port)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, reason(err))
	}
	return &bounded{Listener: l}, nil
}

// reason returns an error without the operation and address that package net puts in front.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
