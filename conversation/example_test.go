package conversation_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/state/message"
)

func Example() {
	ctx := context.Background()
	repo, _ := conversation.NewRepository(new(document.Map)) // or a durable store
	feed := conversation.NewFeed(new(topic.Local))           // or a bus between processes
	talk, _ := conversation.New(conversation.Config{Repository: repo, Sockets: []conversation.Socket{feed}, History: new(20)})

	answers := feed.Subscribe(ctx, conversation.Filter{Roles: []message.Role{message.RoleAssistant}})
	_, err := talk.Exchange(ctx, "thread-1", message.User("Hello"), func(_ context.Context, history []message.Message) (message.Message, error) {
		return message.Assistant(fmt.Sprintf("Hello! We have %d messages so far.", len(history))), nil
	})
	if err != nil {
		fmt.Println(err)
	}
	for n, err := range answers {
		fmt.Println(n.Thread, n.Message.Text(), err)
		break
	}
	last, err := talk.Get(ctx, "thread-1", conversation.Options{Limit: new(2)})
	for _, m := range last {
		fmt.Println(m.Role, m.Text(), err)
	}
	// Output:
	// thread-1 Hello! We have 0 messages so far. <nil>
	// user Hello <nil>
	// assistant Hello! We have 0 messages so far. <nil>
}

func ExampleManager_Page() {
	ctx := context.Background()
	repo, _ := conversation.NewRepository(new(document.Map))
	talk, _ := conversation.New(conversation.Config{Repository: repo})
	_, err := talk.Add(ctx, "thread-1", message.User("One"), message.User("Two"), message.User("Three"), message.User("Four"), message.User("Five"))
	if err != nil {
		fmt.Println(err)
		return
	}
	o := conversation.Options{Limit: new(2)}
	for {
		p, err := talk.Page(ctx, "thread-1", o)
		if err != nil || len(p.Messages) == 0 {
			fmt.Println(err)
			return
		}
		var said []string
		for _, m := range p.Messages {
			said = append(said, m.Text())
		}
		fmt.Println(strings.Join(said, " "))
		o.OlderThan = &p.Cursors[0]
	}
	// Output:
	// Four Five
	// Two Three
	// One
	// <nil>
}

// A conversation in a file. The other stores have the same method Documents.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "conversation")
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
	repo, err := conversation.NewRepository(docs)
	if err != nil {
		fmt.Println(err)
		return
	}
	feed := conversation.NewFeed(new(topic.Local)) // any topic.Bus
	talk, err := conversation.New(conversation.Config{Repository: repo, Sockets: []conversation.Socket{feed}})
	if err != nil {
		fmt.Println(err)
		return
	}

	questions := feed.Subscribe(ctx, conversation.Filter{Roles: []message.Role{message.RoleUser}})
	if _, err := talk.Add(ctx, "thread-1", message.User("Hello"), message.Assistant("Hello, Ada")); err != nil {
		fmt.Println(err)
	}
	last, err := talk.Get(ctx, "thread-1", conversation.Options{Limit: new(20)}) // oldest first
	for _, m := range last {
		fmt.Println(m.Role, m.Text(), err)
	}
	for n, err := range questions {
		fmt.Println("received:", n.Thread, n.Message.Text(), err)
		break
	}
	// Output:
	// user Hello <nil>
	// assistant Hello, Ada <nil>
	// received: thread-1 Hello <nil>
}
