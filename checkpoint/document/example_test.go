package document_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

func Example() {
	ctx := context.Background()
	var store document.Map // or sqlite, redis or postgres: (*Store).Documents
	chat := document.At("conversations", "thread-1")
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var batch []document.Change
	for i, text := range []string{"Hello", "Hello, Ada", "What is two and two?", "Four"} {
		value, _ := json.Marshal(map[string]any{"role": []string{"user", "assistant"}[i%2], "content": text})
		batch = append(batch, document.Change{ID: fmt.Sprint("message-", i), Value: value, Order: document.AtTime(noon)})
	}
	docs, err := store.Batch(ctx, chat, batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	last, err := store.Query(ctx, document.Query{
		Place:   chat,
		Where:   document.Filter{{Path: "role", Op: document.In, Value: []string{"assistant", "tool"}}},
		Reverse: true,
		Limit:   new(1),
	})
	fmt.Println(string(last[0].Value), err)

	edited := document.Change{ID: "message-2", Value: json.RawMessage(`{"role": "user", "content": "What is 2+2?"}`), Order: docs[2].Order, If: &docs[2].Version}
	_, err = store.Set(ctx, chat, edited)
	fmt.Println(err)
	_, err = store.Set(ctx, chat, edited) // the version is out of date
	fmt.Println(errors.Is(err, document.ErrConflict))
	// Output:
	// {"content":"Four","role":"assistant"} <nil>
	// <nil>
	// true
}
