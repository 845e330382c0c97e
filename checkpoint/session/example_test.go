package session_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/session"
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
	now = now.Add(time.Hour) // nobody says anything more
	done, err := (&session.Sweeper{Manager: m}).Sweep(ctx)
	fmt.Println(done, err)
	// Output:
	// system: "Be brief.\n\nAda likes tea."
	// user: "Yes"
	// ada said "Hello" (timeout)
	// {1 1 1} <nil>
}
