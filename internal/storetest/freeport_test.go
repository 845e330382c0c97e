package storetest

import (
	"errors"
	"net"
	"strconv"
	"testing"
)

// listen takes the port that Choose would look at next, or the one so far above it.
func listen(t *testing.T, above int) (port string) {
	t.Helper()
	for {
		n := next.Load()
		p := first + int((n+1)%count)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p+above)))
		if err != nil {
			next.Add(1) // another process has it
			continue
		}
		t.Cleanup(func() { l.Close() })
		return strconv.Itoa(p)
	}
}

func TestChoosePort_PortOrBusTaken(t *testing.T) {
	for _, above := range []int{0, bus} {
		taken := listen(t, above)
		got, err := ChoosePort()
		if err != nil || got == taken {
			t.Errorf("rule: a port is chosen only if it and its bus port are free\n got: %s, %v\nwant: another than %s", got, err, taken)
		}
	}
}

func TestStartOnPort_ServerEnds(t *testing.T) {
	seen := map[string]bool{}
	err := StartOnPort(func(port string) error {
		seen[port] = true
		if len(seen) < 3 {
			return ErrServerEnded
		}
		return nil
	})
	if err != nil || len(seen) != 3 {
		t.Errorf("rule: a server that ends is started on another port\n got: %d ports, %v\nwant: 3", len(seen), err)
	}
	calls := 0
	if err := StartOnPort(func(string) error { calls++; return ErrServerEnded }); !errors.Is(err, ErrServerEnded) || calls != tries {
		t.Errorf("rule: a server that always ends is given up\n got: %d calls, %v\nwant: %d", calls, err, tries)
	}
	other := errors.New("other")
	calls = 0
	if err := StartOnPort(func(string) error { calls++; return other }); err != other || calls != 1 {
		t.Errorf("rule: another error is no reason to try again\n got: %d calls, %v\nwant: 1", calls, err)
	}
}
