package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// A chosen port is at least first. All are below the ports that systems give to outgoing
// connections, and none is the bus port of another.
const (
	first = 11000
	count = 10000
	bus   = 10000 // how far the port of the cluster bus of a Redis is above its own
)

var next atomic.Uint32

func init() { next.Store(rand.Uint32N(count)) }

// ChoosePort returns a port of 127.0.0.1 that nothing listens on, nor on the port 10000 above it. A
// process gets each port once in ten thousand calls, and begins with a random one. Another process
// may still take the port before the server binds it: start the server again with another one then.
func ChoosePort() (string, error) {
	var err error
	for range count {
		port := first + int(next.Add(1)%count)
		if err = free(port); err == nil {
			err = free(port + bus)
		}
		if err == nil {
			return strconv.Itoa(port), nil
		}
	}
	return "", fmt.Errorf("no port from %d to %d is free: %w", first, first+count-1, err)
}

// free reports why nothing can listen on a port.
func free(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// tries is the number of ports that StartOnPort tries.
const tries = 5

// ErrServerEnded is returned by a start function when the server ended before it was ready, for
// example because it could not bind its port.
var ErrServerEnded = errors.New("the server ended before it was ready")

// StartOnPort calls start with a chosen port, and again with another port while it returns an
// [ErrServerEnded].
func StartOnPort(start func(port string) error) error {
	var errs []error
	for range tries {
		port, err := ChoosePort()
		if err == nil {
			err = start(port)
		}
		if err == nil || !errors.Is(err, ErrServerEnded) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
