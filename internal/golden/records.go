package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/conversation/tasks"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/state/message"
)

// agentData is the data of an agent's state.
type agentData struct {
	Topic string `json:"topic"`
	Turns int    `json:"turns"`
}

// managers are those of the records that live beside threads.
type managers struct {
	talk     *conversation.Repository
	sessions *session.Manager
	board    *tasks.Board
	threads  *thread.Repository[agentData]
	memory   memory.Store
}

func managersOf(s Stored) (m managers, err error) {
	var errs [2]error
	m.talk, errs[0] = conversation.NewRepository(s.Documents)
	now := func() time.Time { return moment }
	m.sessions, errs[1] = session.New(session.Config{Store: s.Documents, Now: now})
	m.board = tasks.NewBoard(s.Documents)
	m.board.Now = now
	m.threads = thread.NewRepository[agentData](s.Documents)
	m.memory = s.Memory
	return m, errors.Join(errs[:]...)
}

// writeRecords writes some records of each kind.
func writeRecords(ctx context.Context, s Stored) error {
	if s.Documents == nil {
		return nil
	}
	m, err := managersOf(s)
	if err != nil {
		return err
	}
	for n := 1; n <= 3; n++ {
		if _, err := m.talk.Add(ctx, "golden", talk(n)...); err != nil {
			return fmt.Errorf("conversation: %w", err)
		}
	}
	if _, err := m.sessions.Create(ctx, session.Start{ID: "golden", User: "ada", System: "Be brief."}); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if _, err := m.sessions.Append(ctx, "golden", talk(1)...); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if _, err := m.board.Create(ctx, tasks.Task{ID: "pending", Type: "pay", Input: json.RawMessage(`{"amount":1}`)}); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	if _, err := m.board.Create(ctx, tasks.Task{ID: "waiting", Type: "pay", Tags: []string{"a", "b"}}); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	if _, err := m.board.Run(ctx, "waiting", waits{}); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	record := &thread.Thread[agentData]{ID: "golden", Config: thread.Config{"model": "small"}}
	if err := m.threads.SetThread(ctx, record); err != nil {
		return fmt.Errorf("thread: %w", err)
	}
	state := &thread.State[agentData]{Data: &agentData{"payments", 3}, Ext: map[string]json.RawMessage{"own": json.RawMessage(`[1]`)}}
	if _, err := m.threads.SetState(ctx, "golden", state); err != nil {
		return fmt.Errorf("thread: %w", err)
	}
	for n := 1; n <= 3; n++ {
		value := json.RawMessage(fmt.Sprintf(`{"text":"Ada paid %d euros","amount":%d}`, n, n))
		if _, err := m.memory.Put(ctx, []string{"users", "ada"}, fmt.Sprint("fact ", n), value, memory.Options{}); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
	}
	return m.memory.Delete(ctx, []string{"users", "ada"}, "fact 2")
}

// waits is a worker that asks.
type waits struct{}

func (waits) Do(context.Context, tasks.Task) (tasks.Outcome, error) {
	return tasks.Outcome{Status: tasks.Waiting, Question: json.RawMessage(`"How much?"`)}, nil
}

// item is what is compared of an item of memory: versions and times are the store's own.
type item struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// records is all that is compared of the records.
type records struct {
	Conversation []message.Message        `json:"conversation"`
	Session      session.Session          `json:"session"`
	Log          []message.Message        `json:"log"`
	Tasks        []tasks.Task             `json:"tasks"`
	Config       thread.Config            `json:"config"`
	State        *thread.State[agentData] `json:"state"`
	Memory       []item                   `json:"memory"`
}

// readRecords reads all records back.
func readRecords(ctx context.Context, s Stored) (r records, err error) {
	m, err := managersOf(s)
	if err != nil {
		return r, err
	}
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	r.Conversation, err = m.talk.Get(ctx, "golden", conversation.Options{})
	add(err)
	r.Session, err = m.sessions.Get(ctx, "golden")
	add(err)
	r.Session.Version = 0 // it counts otherwise in each store
	r.Log, err = m.sessions.Log(ctx, "golden")
	add(err)
	if len(r.Log) > 0 {
		r.Log[0].ID = "" // of the system prompt; it is random
	}
	for _, id := range []string{"pending", "waiting"} {
		t, err := m.board.Get(ctx, id)
		add(err)
		r.Tasks = append(r.Tasks, t)
	}
	th, err := m.threads.Thread(ctx, "golden")
	add(err)
	if err == nil {
		r.Config, r.State = th.Config, th.State
	}
	for found, err := range memory.All(ctx, m.memory, memory.Query{Text: "paid"}) {
		add(err)
		r.Memory = append(r.Memory, item{found.Namespace, found.Key, found.Value})
	}
	return r, errors.Join(errs...)
}

// useRecords goes on with the records as a program would.
func useRecords(ctx context.Context, s Stored) error {
	m, err := managersOf(s)
	if err != nil {
		return err
	}
	_, err1 := m.talk.Add(ctx, "golden", talk(4)...)
	_, err2 := m.sessions.Append(ctx, "golden", talk(2)...)
	_, err3 := m.board.Resume(ctx, "waiting", json.RawMessage(`3`), ends{})
	_, err4 := m.board.Run(ctx, "pending", ends{})
	rec, err5 := m.threads.State(ctx, "golden")
	if err5 == nil {
		_, err5 = m.threads.SetState(ctx, "golden", rec.Next(agentData{"payments", 4}))
	}
	_, err6 := m.memory.Put(ctx, []string{"users", "ada"}, "fact 2", json.RawMessage(`{"text":"again"}`), memory.Options{})
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	if err := m.sessions.End(ctx, "golden"); err != nil {
		return err
	}
	now, err := readAfter(ctx, m)
	if err == nil && now != "16 messages, tasks completed completed, state 2 with 4 turns" {
		err = fmt.Errorf("the records went on to: %s", now)
	}
	return err
}

// ends is a worker that is done at once.
type ends struct{}

func (ends) Do(context.Context, tasks.Task) (tasks.Outcome, error) {
	return tasks.Outcome{Result: json.RawMessage(`"paid"`)}, nil
}

func readAfter(ctx context.Context, m managers) (string, error) {
	ms, err1 := m.talk.Get(ctx, "golden", conversation.Options{})
	a, err2 := m.board.Get(ctx, "pending")
	b, err3 := m.board.Get(ctx, "waiting")
	st, err4 := m.threads.State(ctx, "golden")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d messages, tasks %s %s, state %d with %d turns", len(ms), a.Status, b.Status, st.Version, st.Data.Turns), nil
}
