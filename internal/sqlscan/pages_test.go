package sqlscan_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weftrun/weft/internal/sqlscan"
)

// source has so many numbers, and then an error if there is one.
type source struct {
	total int
	fails error
	asked []int
	next  int
}

func (s *source) read(_ context.Context, n int) (page []int, err error) {
	s.asked = append(s.asked, n)
	for len(page) < n && s.next < s.total {
		page = append(page, s.next)
		s.next++
	}
	if len(page) < n {
		err = s.fails
	}
	return page, err
}

func TestPages_AreReadWhenNeeded(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []struct {
		source     source
		limit, end int // end: how many the reader takes
		want       string
	}{
		{source{total: 0}, 0, 1000, "0 <nil> [64]"},
		{source{total: 63}, 0, 1000, "63 <nil> [64]"},
		{source{total: 64}, 0, 1000, "64 <nil> [64 64]"},
		{source{total: 130}, 100, 1000, "100 <nil> [64 36]"},
		{source{total: 200}, 64, 1000, "64 <nil> [64]"},
		{source{total: 200}, -1, 3, "3 <nil> [64]"},
		{source{total: 70, fails: bad}, 0, 1000, "70 bad [64 64]"},
	} {
		got, last := 0, error(nil)
		sqlscan.Yield(t.Context(), c.limit, c.source.read, func(n int, err error) bool {
			if last = err; err == nil {
				if n != got {
					t.Errorf("rule: values come in order\n got: %d\nwant: %d", n, got)
				}
				got++
			}
			return got < c.end
		})
		if text := fmt.Sprint(got, last, c.source.asked); text != c.want {
			t.Errorf("rule: a list of %d is read a page at a time\n got: %s\nwant: %s", c.source.total, text, c.want)
		}
	}
}

func TestPages_ContextThatEndsIsYieldedLast(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, n, last := source{total: 100}, 0, error(nil)
	sqlscan.Yield(ctx, 0, s.read, func(_ int, err error) bool {
		if last = err; err == nil {
			n++
		}
		if n == 5 {
			cancel()
		}
		return true
	})
	if n != 5 || !errors.Is(last, context.Canceled) {
		t.Errorf("rule: nothing comes after the end of a context\n got: %d values, %v\nwant: 5, %v", n, last, context.Canceled)
	}
}
