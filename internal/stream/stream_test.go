package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/stream"
)

// TestMain checks that no test leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type event struct {
	seq  uint64
	text string
	lost uint64
}

const (
	red stream.Class = 1 << iota
	blue
)

func newStream() *stream.Stream[event] {
	return stream.New(stream.Config[event]{
		Number: func(ev *event, seq uint64) { ev.seq = seq },
		Gap:    func(lost event, n uint64) event { return event{seq: lost.seq, lost: n} },
	})
}

// rest reads a subscription to its end.
func rest(r *stream.Subscription[event]) (all []string) {
	for ev, ok := r.Next(); ok; ev, ok = r.Next() {
		text := fmt.Sprintf("%d:%s", ev.seq, ev.text)
		if ev.lost > 0 {
			text = fmt.Sprintf("%d:lost %d", ev.seq, ev.lost)
		}
		all = append(all, text)
	}
	return all
}

func same(t *testing.T, rule string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("rule: %s\n got: %q\nwant: %q", rule, got, want)
	}
}

func TestStream_ReadersTakeWhatTheyAskedFor(t *testing.T) {
	ctx, s := context.Background(), newStream()
	if s.Wants(red, 0) {
		t.Error("a stream without readers wants an event")
	}
	reds := s.Subscribe(stream.Options{Classes: red, Depth: 1, Buffer: 9})
	both := s.Subscribe(stream.Options{Classes: red | blue, Buffer: 9})
	last := s.Subscribe(stream.Options{})
	if !s.Wants(red, 0) || !s.Wants(blue, 7) || s.Wants(blue<<1, 0) {
		t.Error("the stream wants other events than its readers take")
	}
	for i, c := range []stream.Class{red, blue, blue << 1, red} {
		if err := s.Send(ctx, ctx, c, i, event{text: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	s.SendLast(ctx, event{text: "end"})
	s.Close(nil)
	same(t, "a depth of 1 is the source itself", rest(reds), "1:0", "4:end")
	same(t, "what no reader takes has no number", rest(both), "1:0", "2:1", "3:3", "4:end")
	same(t, "all readers get the last event", rest(last), "4:end")
	same(t, "a reader that comes later gets the last event", rest(s.Subscribe(stream.Options{Classes: red})), "4:end")
}

func TestStream_SlowReaderSlowsTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newStream()
		r := s.Subscribe(stream.Options{Classes: red, Buffer: 2})
		sent := 0
		go func() {
			for sent < 5 {
				if err := s.Send(ctx, ctx, red, 0, event{text: "x"}); err != nil {
					t.Error(err)
				}
				sent++
			}
			s.Close(nil)
		}()
		synctest.Wait()
		if sent != 2 {
			t.Errorf("%d events were sent to a buffer of 2", sent)
		}
		r.Next()
		synctest.Wait()
		if sent != 3 {
			t.Errorf("%d events were sent when one had been read", sent)
		}
		same(t, "nothing is lost", rest(r), "2:x", "3:x", "4:x", "5:x")
	})
}

func TestStream_SenderStopsWaiting(t *testing.T) {
	errLeft := errors.New("left")
	for name, stop := range map[string]func(context.CancelCauseFunc, context.CancelCauseFunc, *stream.Subscription[event]){
		"its context ends": func(ctx, _ context.CancelCauseFunc, _ *stream.Subscription[event]) { ctx(errLeft) },
		"the life ends":    func(_, life context.CancelCauseFunc, _ *stream.Subscription[event]) { life(errLeft) },
		"the reader leaves": func(_, _ context.CancelCauseFunc, r *stream.Subscription[event]) {
			r.Leave()
			r.Leave()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, endCtx := context.WithCancelCause(t.Context())
				life, endLife := context.WithCancelCause(t.Context())
				defer endCtx(nil)
				defer endLife(nil)
				s := newStream()
				r := s.Subscribe(stream.Options{Classes: red})
				errs := make(chan error, 3)
				for range 3 {
					go func() { errs <- s.Send(ctx, life, red, 0, event{}) }()
				}
				synctest.Wait()
				stop(endCtx, endLife, r)
				var failed int
				for range 3 {
					if err := <-errs; errors.Is(err, errLeft) {
						failed++
					} else if err != nil {
						t.Error(err)
					}
				}
				if want := map[bool]int{true: 0, false: 2}[name == "the reader leaves"]; failed != want {
					t.Errorf("%d sends failed, want %d", failed, want)
				}
			})
		})
	}
}

func TestStream_LossyReaderCountsItsLosses(t *testing.T) {
	ctx, s := t.Context(), newStream()
	r := s.Subscribe(stream.Options{Classes: red, Buffer: 2, Lossy: true})
	for i := range 5 {
		s.SendAlways(ctx, red, 0, event{text: fmt.Sprint(i)})
	}
	s.Close(errors.New("over"))
	same(t, "the oldest are lost", rest(r), "3:lost 3", "4:3", "5:4")
	if r.Err() == nil || r.Err().Error() != "over" {
		t.Errorf("the reader gets %v", r.Err())
	}
	s.SendAlways(ctx, red, 0, event{})
	s.SendLast(ctx, event{})
	same(t, "a closed stream sends nothing", rest(s.Subscribe(stream.Options{Classes: red})))
}

func TestStream_SubscriberAfterTheEnd(t *testing.T) {
	life, end := context.WithCancel(t.Context())
	end()
	s := newStream()
	r := s.Subscribe(stream.Options{Classes: red, Buffer: 1})
	for range 20 {
		s.SendAlways(life, red, 0, event{text: "x"})
	}
	s.SendLast(life, event{text: "end"})
	s.Close(nil)
	if got := rest(r); len(got) != 21 || got[20] != "21:end" {
		t.Errorf("a buffer does not grow when its source is over: %q", got)
	}
}

func TestStream_AllReadersSeeOneOrder(t *testing.T) {
	ctx, s := t.Context(), newStream()
	var seen [3][]string
	var readers, senders sync.WaitGroup
	for i := range seen {
		r := s.Subscribe(stream.Options{Classes: red | blue, Buffer: 1 + i})
		readers.Go(func() { seen[i] = rest(r) })
	}
	for i := range 4 {
		senders.Go(func() {
			for n := range 50 {
				if err := s.Send(ctx, ctx, red<<(n%2), 0, event{text: fmt.Sprint(i, n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	s.Close(nil)
	readers.Wait()
	if len(seen[0]) != 200 || !slices.Equal(seen[0], seen[1]) || !slices.Equal(seen[0], seen[2]) {
		t.Errorf("readers see %d, %d and %d events, or other orders", len(seen[0]), len(seen[1]), len(seen[2]))
	}
}
