package eventlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// token returns an event of a model's output.
func token(n int) graph.Event {
	return graph.Event{Mode: graph.Messages, Seq: uint64(n), Token: graph.Token{ID: "m", Delta: fmt.Sprint(n)}}
}

// read returns the batches that a log has.
func read(t *testing.T, log eventlog.Log, after uint64) (all []eventlog.Batch) {
	t.Helper()
	last, err := log.Last(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	if last == after {
		return nil
	}
	for b, err := range log.Follow(t.Context(), "t1", after) {
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, b); b.Position == last {
			break
		}
	}
	return all
}

// Requirement: events: a log for other processes
func TestWriter_GathersEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := eventlog.Log{Bus: new(topic.Local)}
		w := log.Writer("t1", "run-1", 2)
		w.Write(token(0))
		synctest.Wait()
		all := read(t, log, 0)
		if len(all) != 1 || len(all[0].Events) != 1 || all[0].Run != "run-1" || all[0].Attempt != 2 || all[0].Position != 1 {
			t.Fatalf("the batches are %+v, want the first event at once", all)
		}
		for n := range 4 {
			w.Write(token(n))
			time.Sleep(4 * time.Millisecond)
		}
		synctest.Wait()
		if all := read(t, log, 1); len(all) != 0 {
			t.Errorf("%d batches were published after 16 ms, want none", len(all))
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if all := read(t, log, 1); len(all) != 1 || len(all[0].Events) != 4 {
			t.Errorf("the batches are %+v, want one with 4 events", all)
		}
		for n := range 300 {
			w.Write(token(n))
		}
		synctest.Wait()
		whole := read(t, log, 2)
		if len(whole) == 0 || len(whole[0].Events) != 256 {
			t.Errorf("%d batches were published, want a whole one at once", len(whole))
		}
		w.End()
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		w.Write(token(10)) // is ignored
		n, ends := 0, 0
		for _, b := range read(t, log, 2) {
			if n += len(b.Events); b.End {
				ends++
			}
		}
		if n != 300 || ends != 1 {
			t.Errorf("%d events and %d ends were published, want 300 and one", n, ends)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWriter_NotesBeginBatches(t *testing.T) {
	log := eventlog.Log{Bus: new(topic.Local)}
	w := log.Writer("t1", "run-1", 1)
	w.Note(json.RawMessage(`"begin"`))
	w.Write(token(1))
	w.Write(graph.Event{Mode: graph.Ended}) // is not in the log
	w.Note(json.RawMessage(`"end"`))
	w.End()
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	var got []string
	for _, b := range read(t, log, 0) {
		if b.Note != nil || len(b.Events) > 0 {
			got = append(got, fmt.Sprintf("%s%d%v", b.Note, len(b.Events), b.End))
		}
	}
	if text := strings.Join(got, " "); text != `"begin"1false "end"0true` && text != `"begin"0false 1false "end"0true` {
		t.Errorf("the batches are %s", text)
	}
}

func TestWriter_LeavesOutLargeStates(t *testing.T) {
	log := eventlog.Log{Bus: new(topic.Local)}
	w := log.Writer("t1", "run-1", 1)
	large := map[string]string{"pad": strings.Repeat("x", eventlog.MaxState)}
	for n := range 20 {
		ev := graph.Event{Mode: graph.Values, Step: n, State: map[string]int{"n": n}}
		if n == 1 {
			ev.State = large
		}
		w.Write(ev)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, b := range read(t, log, 0) {
		for _, ev := range b.Events {
			if has, want := ev.State != nil, ev.Step == 0 || ev.Step > 17; has != want {
				t.Errorf("step %d: the event has a state is %v, want %v", ev.Step, has, want)
			}
		}
	}
}

func TestLog_FailuresKeepTheirKind(t *testing.T) {
	log := eventlog.Log{Bus: new(topic.Local)}
	whole := &graph.NodeError{Graph: "g", Node: "a", Task: "1", Step: 3, Attempt: 2, Err: fmt.Errorf("late: %w", graph.ErrTimeout)}
	events := []graph.Event{token(1), {Mode: graph.Tasks, Phase: graph.Failing, Node: "a", Task: "1", Step: 3, Err: whole}}
	if err := log.Publish(t.Context(), "t1", eventlog.Batch{Run: "r", Events: events}); err != nil {
		t.Fatal(err)
	}
	got := read(t, log, 0)[0].Events[1].Err
	var at *graph.NodeError
	if !errors.Is(got, graph.ErrTimeout) || !errors.As(got, &at) || at.Node != "a" || at.Step != 3 || at.Attempt != 2 || at.Kind() != graph.KindTimeout {
		t.Errorf("the failure is %#v, want a timeout of node a", got)
	}
	if got.Error() != whole.Error() {
		t.Errorf("the text is %q, want %q", got, whole)
	}
}

func TestWriter_PassesOverWhatIsNoJSON(t *testing.T) {
	log := eventlog.Log{Bus: new(topic.Local)}
	w := log.Writer("t1", "run-1", 1)
	w.Write(graph.Event{Mode: graph.Custom, Node: "bad", Payload: make(chan int)})
	w.Write(token(1))
	if err := w.Close(t.Context()); err == nil || !strings.Contains(err.Error(), `node "bad"`) {
		t.Errorf("Close = %v, want the error of the payload", err)
	}
	if all := read(t, log, 0); len(all) != 1 || len(all[0].Events) != 1 {
		t.Errorf("the batches are %+v, want one with the token", all)
	}
}

func TestWriter_EndsWithoutEvents(t *testing.T) {
	log := eventlog.Log{Bus: new(topic.Local)}
	w := log.Writer("t1", "run-1", 1)
	w.End()
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if all := read(t, log, 0); len(all) != 1 || !all[0].End || len(all[0].Events) != 0 {
		t.Errorf("the batches are %+v, want the end", all)
	}
}

// stuck is a bus that takes events when it is let go.
type stuck struct {
	topic.Local
	may chan struct{}
}

func (s *stuck) Publish(ctx context.Context, name string, data []byte) error {
	select {
	case <-s.may:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Local.Publish(ctx, name, data)
}

func TestWriter_CountsWhatItDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &stuck{may: make(chan struct{})}
		log := eventlog.Log{Bus: bus}
		w := log.Writer("t1", "run-1", 1)
		w.Write(graph.Event{Mode: graph.Custom, Payload: 0})
		synctest.Wait() // it is being published
		for n := range 20000 {
			w.Write(graph.Event{Mode: graph.Custom, Payload: n})
		}
		close(bus.may)
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		events, lost := 0, uint64(0)
		for _, b := range read(t, log, 0) {
			events += len(b.Events)
			lost += b.Lost
		}
		if events != 16385 || lost != 3616 {
			t.Errorf("%d events arrived and %d are lost, want 16385 and 3616", events, lost)
		}
	})
}

// away is a bus whose first calls fail. The last of them has done its work.
type away struct {
	topic.Local
	calls int
}

func (a *away) Publish(ctx context.Context, name string, data []byte) error {
	switch a.calls++; {
	case a.calls < 4:
		return checkpoint.ErrUnavailable
	case a.calls == 4:
		return errors.Join(checkpoint.ErrUnknownOutcome, a.Local.Publish(ctx, name, data))
	}
	return a.Local.Publish(ctx, name, data)
}

func TestWriter_OutlastsABusThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := eventlog.Log{Bus: new(away)}
		w := log.Writer("t1", "run-1", 1)
		for n := range 3 {
			w.Write(graph.Event{Mode: graph.Custom, Payload: n})
			time.Sleep(10 * time.Millisecond)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		var got []string
		for _, b := range read(t, log, 0) {
			for _, ev := range b.Events {
				got = append(got, fmt.Sprintf("%s", ev.Payload))
			}
		}
		if fmt.Sprint(got) != "[0 1 2]" {
			t.Errorf("the events %v arrived, want each once", got)
		}
	})
}

func TestWriter_DoesNotWaitForABusThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := eventlog.Log{Bus: &stuck{may: make(chan struct{})}}
		w := log.Writer("t1", "run-1", 1)
		w.Write(graph.Event{Mode: graph.Custom})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Close = %v, want that the bus was given up", err)
		}
	})
}

// gone is a bus that takes nothing.
type gone struct{ topic.Local }

func (*gone) Publish(context.Context, string, []byte) error { return checkpoint.ErrUnavailable }

// The end of a run waits for its last events, but not as long as the bus may be away.
func TestWriter_SoonGivesUpOnceItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := eventlog.Log{Bus: new(gone)}
		w := log.Writer("t1", "run-1", 1)
		for range 5 {
			w.Note([]byte(`1`)) // each begins a batch
		}
		w.Write(graph.Event{Mode: graph.Custom})
		time.Sleep(time.Minute)
		begun := time.Now()
		if err := w.Close(t.Context()); !errors.Is(err, checkpoint.ErrUnavailable) {
			t.Errorf("Close = %v, want ErrUnavailable", err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

func TestFollow_GoesOnAfterWhatIsNoBatch(t *testing.T) {
	bus := new(topic.Local)
	log := eventlog.Log{Bus: bus}
	if err := bus.Publish(t.Context(), eventlog.Topic("t1"), []byte("noise")); err != nil {
		t.Fatal(err)
	}
	if err := log.Publish(t.Context(), "t1", eventlog.Batch{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for b, err := range log.Follow(t.Context(), "t1", 0) {
		if n++; n == 1 {
			if !errors.Is(err, eventlog.ErrBatch) {
				t.Errorf("the noise is %v, want ErrBatch", err)
			}
			continue
		}
		if err != nil || b.Run != "r" || b.Position != 2 {
			t.Errorf("the batch is %+v, %v; want that of r", b, err)
		}
		break
	}
	if err := log.Publish(t.Context(), "t1", eventlog.Batch{Events: []graph.Event{{Mode: graph.Custom, Payload: make(chan int)}}}); err == nil {
		t.Error("an event that cannot be JSON was published")
	} else if unsupported := (*json.UnsupportedTypeError)(nil); !errors.As(err, &unsupported) {
		t.Errorf("the error is %v, want that of its JSON", err)
	}
}

func TestTopic_IsShortEnough(t *testing.T) {
	long := strings.Repeat("t", 512)
	if err := topic.CheckName(eventlog.Topic(long)); err != nil {
		t.Error(err)
	}
	if got := eventlog.Topic("t1"); got != "events/t1" {
		t.Errorf("Topic = %q, want %q", got, "events/t1")
	}
}

// A bus has a batch twice if its writer has lost the reply. Readers get its events once, and a
// batch of each position.
func TestFollow_YieldsARepeatedBatchOnce(t *testing.T) {
	bus := &twice{Local: new(topic.Local)}
	log := eventlog.Log{Bus: bus}
	a, b := log.Writer("t1", "run-1", 1), log.Writer("t1", "run-1", 1)
	for n := range 3 {
		for _, w := range []*eventlog.Writer{a, b} {
			w.Write(token(n))
		}
	}
	for _, w := range []*eventlog.Writer{a, b} {
		w.End()
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	events, ends := 0, 0
	all := read(t, log, 0)
	for i, b := range all {
		events += len(b.Events)
		if b.End {
			ends++
		}
		if b.Position != uint64(i)+1 || b.Run != "run-1" || b.Attempt != 1 {
			t.Errorf("batch %d is %+v", i, b)
		}
	}
	if events != 6 || ends != 2 || len(all) != 2*bus.calls {
		t.Errorf("%d batches, published %d times, have %d events and %d ends, want 6 and 2", len(all), bus.calls, events, ends)
	}
}

// twice is a bus that has each event twice.
type twice struct {
	*topic.Local
	mu    sync.Mutex
	calls int
}

func (b *twice) Publish(ctx context.Context, name string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	return errors.Join(b.Local.Publish(ctx, name, data), b.Local.Publish(ctx, name, data))
}
