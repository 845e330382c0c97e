package postgres

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestWire_MovingBytesPutOffTheDeadline moves 8 MiB each way with a deadline of 300 ms, at twice
// the rate that counts as alive and at a tenth of it.
func TestWire_MovingBytesPutOffTheDeadline(t *testing.T) {
	const size = 8 << 20
	for _, c := range []struct {
		rate int // bytes a second
		want error
	}{{2 * slowest, nil}, {slowest / 10, os.ErrDeadlineExceeded}} {
		for _, write := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				w := &wire{Conn: near}
				w.SetDeadline(time.Now().Add(300 * time.Millisecond))
				var other sync.WaitGroup
				other.Go(func() { slowly(far, c.rate, write) })
				err := func() error {
					if write {
						_, err := w.Write(make([]byte, size))
						return err
					}
					_, err := io.ReadFull(w, make([]byte, size))
					return err
				}()
				near.Close()
				other.Wait()
				if !errors.Is(err, c.want) {
					t.Errorf("rule: bytes that move fast enough put off the deadline\n got: %v at %d bytes a second, write %t\nwant: %v", err, c.rate, write, c.want)
				}
			})
		}
	}
}

// slowly reads, or writes, at a rate until the connection ends.
func slowly(conn net.Conn, rate int, read bool) {
	b := make([]byte, 16<<10)
	for {
		time.Sleep(time.Duration(len(b)) * time.Second / time.Duration(rate)) // of the bubble's clock
		do := conn.Write
		if read {
			do = func(b []byte) (int, error) { return io.ReadFull(conn, b) }
		}
		if _, err := do(b); err != nil {
			return
		}
	}
}

func TestWire_GivenUpHasALastDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		w := &wire{Conn: near}
		w.giveUp(time.Now().Add(time.Second))
		begin := time.Now()
		for _, until := range []time.Time{{}, time.Now().Add(time.Hour)} {
			w.SetDeadline(until)
			if _, err := w.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("rule: no deadline is later than the last one\n got: %v after %v", err, time.Since(begin))
			}
		}
	})
}
