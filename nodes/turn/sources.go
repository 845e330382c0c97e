package turn

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLate is the error of a source that did not return in time.
var ErrLate = errors.New("turn: the source did not answer in time")

// retrieve calls all sources at once. Results that arrive after the time limit are dropped.
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
	answers := make(chan answer, len(t.cfg.Sources)) // buffered, so that a late source can end
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
	for len(answers) > 0 { // results that arrived at the same time
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
