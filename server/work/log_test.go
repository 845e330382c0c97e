package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

func TestLogFollow_ReportsWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.bus = &topic.Local{Keep: 1}
		q, end := s.process(t)
		defer end()
		create(t, q, "r1", queue.Enqueue)
		s.begins(t, "first")
		s.begins(t, "slow")
		time.Sleep(time.Second)
		s.stays <- struct{}{}
		s.begins(t, "last")
		ended(t, q, "r1", queue.Success)
		missed := false
		for ev, err := range s.log().Follow(t.Context(), "t1", 0) {
			var lost *topic.MissedError
			switch {
			case errors.As(err, &lost):
				missed = true
				continue
			case err != nil:
				t.Fatal(err)
			}
			if ev.Kind == wire.KindEnd { // its run began before what is left
				break
			}
		}
		if !missed {
			t.Error("nothing is reported as missing")
		}
	})
}

// elsewhere is a graph whose engine writes the log of its runs.
type elsewhere struct {
	graph.Untyped
	bus topic.Bus
}

func (elsewhere) Logged() bool { return true }

func (e elsewhere) Start(ctx context.Context, input json.RawMessage, o graph.RunOptions) *graph.Handle[json.RawMessage] {
	h := e.Untyped.Start(ctx, input, o)
	w := eventlog.Log{Bus: e.bus}.Writer(o.Thread, o.ID, 1)
	for ev, err := range h.Join(eventlog.Reader()) {
		if err == nil {
			w.Write(ev)
		}
	}
	w.End()
	_ = w.Close(ctx)
	return h
}

// The records of a run are the same, whatever engine ran its steps.
func TestLog_IsTheSameForAnEngineElsewhere(t *testing.T) {
	var logs [2]string
	for i := range logs {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t)
			if i == 1 {
				s.host.graph = elsewhere{s.host.graph, s.bus}
			}
			q, end := s.process(t)
			defer end()
			go func() { s.stays <- struct{}{} }()
			create(t, q, "r1", queue.Enqueue)
			ended(t, q, "r1", queue.Success)
			logs[i] = s.logged(t)
		})
	}
	if logs[0] != logs[1] || !strings.Contains(logs[0], "r1 end") {
		t.Errorf("the records of an engine elsewhere are\n%s\nwant those of this process\n%s", logs[1], logs[0])
	}
}

// Runs of a thread that no server has are in its log too, and show nothing.
func TestLogFollow_PassesOverOtherRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		err := eventlog.Log{Bus: s.bus}.Publish(t.Context(), "t1", eventlog.Batch{Run: "stranger", Events: []graph.Event{{Mode: graph.Custom}}, End: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.logged(t); got != "" {
			t.Errorf("the records are %s, want none", got)
		}
	})
}
