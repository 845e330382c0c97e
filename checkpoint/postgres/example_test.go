package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
)

// A process continues the thread of another one. A rival commit fails instead of forking it.
func Example() {
	ctx := context.Background()
	connString := cluster.dsn() // "postgres://weft@db.internal/weft"

	store, err := postgres.Open(ctx, connString, postgres.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	first := checkpoint.Commit{
		Key: checkpoint.Key{Thread: "order 7"}, ID: "attempt 1",
		Refs:  []checkpoint.Ref{{Field: "greeting", Base: 1}},
		Blobs: []checkpoint.Blob{{Field: "greeting", Base: 1, Data: []byte("hello")}},
	}
	fmt.Println("commit:", store.Commit(ctx, first))
	fmt.Println("retry:", store.Commit(ctx, first))

	rival := first
	rival.ID = "attempt 2"
	fmt.Println("rival is refused:", errors.Is(store.Commit(ctx, rival), checkpoint.ErrConflict))

	snap, err := store.Load(ctx, first.Key, 0)
	fmt.Printf("head %d: %s, error %v\n", snap.Seq, snap.Blobs[0].Data, err)
	// Output:
	// commit: <nil>
	// retry: <nil>
	// rival is refused: true
	// head 1: hello, error <nil>
}
