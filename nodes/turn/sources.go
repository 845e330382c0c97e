package turn

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLate is the error of a source that gave nothing in time.
var ErrLate = errors.New("turn: the source did not answer in time")

// retrieve asks all sources at once. When the time is over what has come stays, and the others are late; whatever
// they return after that is dropped.
func (t *Turn) retrieve(ctx context.Context, r ExtractRequest) []Retrieved {
	within := t.cfg.SourcesWithin
	if within == 0 {
		within = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	type answer struct {
		i    int
		text string
		err  error
	}
	answers := make(chan answer, len(t.cfg.Sources)) // a late one finds room and ends
	var all []Retrieved
	for i, src := range t.cfg.Sources {
		wanted, err := safely(func() (bool, error) { return src.Wanted == nil || src.Wanted(r), nil })
		if err == nil && !wanted {
			continue
		}
		at := len(all)
		all = append(all, Retrieved{Source: t.cfg.Sources[i].Name, Err: ErrLate})
		go func() {
			text, err := safely(func() (string, error) { return src.Retrieve(ctx, r) })
			answers <- answer{at, text, err}
		}()
	}
	for range all {
		select {
		case a := <-answers:
			all[a.i].Text, all[a.i].Err = a.text, a.err
			continue
		case <-ctx.Done():
		}
		break
	}
	for len(answers) > 0 { // what came in the same moment
		a := <-answers
		all[a.i].Text, all[a.i].Err = a.text, a.err
	}
	for i := range all {
		if err := all[i].Err; errors.Is(err, context.DeadlineExceeded) {
			all[i].Err = fmt.Errorf("%w: %w", ErrLate, err)
		}
	}
	return all
}
