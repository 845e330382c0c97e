package verbs_test

import (
	"os"
	"path/filepath"
	"time"

	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/state/message"
)

// accept does in the default store what a server does that accepts runs: run-1 and run-2 of the
// thread rack, and other-1 of the thread shelf.
func (p place) accept() {
	p.Helper()
	must := func(err error) {
		if err != nil {
			p.Fatal(err)
		}
	}
	path := p.path(".local/state/weft/weft.db")
	must(os.MkdirAll(filepath.Dir(path), 0o700))
	store, err := sqlite.Open(p.Context(), path)
	must(err)
	defer func() { must(store.Close()) }()
	q, err := server.OpenQueue(p.Context(), store)
	must(err)
	for _, r := range []queue.Run{{ID: "run-1", Thread: "rack"}, {ID: "run-2", Thread: "rack"}, {ID: "other-1", Thread: "shelf"}} {
		r.Request = []byte(`{"graph":"order","assistant":"a","input":{"sacks":2}}`)
		_, err := q.Create(p.Context(), r, queue.Enqueue)
		must(err)
	}
}

// keep does in the default store what an application does beside the command line: it keeps the
// thread cellar, and the sessions ada-1, whose time is over, ada-2 and bob-1.
func (p place) keep() {
	p.Helper()
	must := func(err error) {
		if err != nil {
			p.Fatal(err)
		}
	}
	path := p.path(".local/state/weft/weft.db")
	must(os.MkdirAll(filepath.Dir(path), 0o700))
	store, err := sqlite.Open(p.Context(), path)
	must(err)
	defer func() { must(store.Close()) }()
	docs, err := store.Documents(p.Context())
	must(err)
	must(thread.NewRepository[map[string]any](docs).SetConfig(p.Context(), "cellar", thread.Config{"historyLimit": 20}))
	talk, err := conversation.NewRepository(docs)
	must(err)
	_, err = talk.Add(p.Context(), "cellar", message.User("Who is there?"), message.Assistant("Only the wine."))
	must(err)
	now := time.Now().Add(-2 * time.Hour)
	m, err := session.New(session.Config{Store: docs, TTL: time.Hour, Now: func() time.Time { return now }})
	must(err)
	for _, id := range []string{"ada-1", "ada-2", "bob-1"} {
		_, err := m.Create(p.Context(), session.Start{ID: id, User: id[:3]})
		must(err)
		_, err = m.Append(p.Context(), id, message.User("This is "+id+"."))
		must(err)
		now = time.Now()
	}
}
