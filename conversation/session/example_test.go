package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

// notebook is an engine that prints.
type notebook struct{}

func (notebook) Offload(_ context.Context, e session.Ended) error {
	fmt.Printf("%s said %q (%s)\n", e.User, e.Messages[1].Text(), e.Reason)
	return nil
}

func (notebook) Bootstrap(context.Context, string) (string, error) { return "Ada likes tea.", nil }

func Example() {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	m, _ := session.New(session.Config{
		Store: new(document.Map), TTL: time.Hour, Window: message.Window{MaxMessages: 2},
		Engine: notebook{}, Now: func() time.Time { return now },
	})
	m.Create(ctx, session.Start{ID: "s", User: "ada", System: "Be brief."})
	m.Append(ctx, "s", message.User("Hello"), message.Assistant("Tea?"), message.User("Yes"))
	m.Turn(ctx, "s", func(_ context.Context, view message.Fitted) ([]message.Message, error) {
		for _, v := range view.Messages {
			fmt.Printf("%s: %q\n", v.Role, v.Text())
		}
		return []message.Message{message.Assistant("Here you are.")}, nil
	})
	now = now.Add(time.Hour) // the session is idle
	done, err := (&session.Sweeper{Manager: m}).Sweep(ctx)
	fmt.Println(done, err)
	// Output:
	// system: "Be brief.\n\nAda likes tea."
	// user: "Yes"
	// ada said "Hello" (timeout)
	// {1 1 1} <nil>
}

// Sessions in a file. The other stores have the same method Documents.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "threads.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	docs, err := store.Documents(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := session.New(session.Config{Store: docs, Window: message.Window{MaxTokens: 8000}, Engine: notebook{}})
	if err != nil {
		fmt.Println(err)
		return
	}

	s, err := m.Create(ctx, session.Start{User: "ada", System: "Be brief."})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := m.Append(ctx, s.ID, message.User("Hello")); err != nil {
		fmt.Println(err)
	}
	// Turn appends the message only if no other worker appended meanwhile.
	_, err = m.Turn(ctx, s.ID, func(_ context.Context, view message.Fitted) ([]message.Message, error) {
		return []message.Message{message.Assistant(fmt.Sprintf("I read %d messages.", len(view.Messages)))}, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	log, err := m.Log(ctx, s.ID)
	fmt.Println(len(log), log[2].Text(), err)
	fmt.Println(m.End(ctx, s.ID)) // or Reset, or Config.TTL without a message
	ended, err := (&session.Sweeper{Manager: m}).Sweep(ctx)
	fmt.Println(ended.Offloaded, err)
	// Output:
	// 3 I read 2 messages. <nil>
	// <nil>
	// ada said "Hello" (end)
	// 1 <nil>
}
