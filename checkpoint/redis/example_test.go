package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// A thread continues where another process stopped, and no writer can fork it silently.
func Example() {
	ctx := context.Background()
	url, stop := exampleServer()
	defer stop()

	store, err := redis.OpenURL(ctx, url) // "redis://localhost:6379"
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

// The doctor reports the cost of the server's settings.
func ExampleStore_Doctor() {
	ctx := context.Background()
	url, stop := exampleServer()
	defer stop()
	store, err := redis.OpenURL(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	found, err := store.Doctor(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: %s\n", found[0].Severity, found[0].Cost)
	// Output:
	// danger: a restart loses every thread: the server saves nothing
}

// exampleServer starts a server of its own.
func exampleServer() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "weft-redis")
	if err != nil {
		log.Fatal(err)
	}
	s, err := launch(dir)
	if err != nil {
		log.Fatal(err)
	}
	return "redis://" + s.addr, func() { s.kill(); os.RemoveAll(dir) }
}
