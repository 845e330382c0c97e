// Audit stores a payment that a person approves, and finds out that the amount was changed
// afterwards.
//
//	go run ./examples/audit
//
// The commits of the thread carry hashes, and the decision is signed. The program then does
// what an attacker who can write into the store does: it changes an exported thread, gives it new
// checksums, and puts it in the place of the first one.
package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// State is a payment.
type State struct {
	To     state.Value[string] `json:"to"`
	Amount state.Value[int]    `json:"amount"`
	Paid   state.Value[bool]   `json:"paid"`
}

// payment asks before it pays.
func payment(store checkpoint.Store) (*graph.Graph[State], error) {
	b := graph.New[State]("payment")
	b.Node("check", graph.Func(func(_ context.Context, s *State) error {
		if s.Amount.Get() <= 0 {
			return fmt.Errorf("the amount must be positive (got %d)", s.Amount.Get())
		}
		return nil
	}))
	b.Node("pay", graph.Func(func(ctx context.Context, s *State) error {
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: fmt.Sprintf("Pay %d to %s?", s.Amount.Get(), s.To.Get())})
		if err != nil {
			return err
		}
		s.Paid.Set(ok)
		return nil
	}))
	b.Edge(graph.Start, "check")
	b.Edge("check", "pay")
	b.Edge("pay", graph.End)
	return b.Compile(graph.Config{Store: store})
}

// pay pays in a thread. The owner of the key approves it.
func pay(ctx context.Context, store checkpoint.Store, thread string, key ed25519.PrivateKey) error {
	g, err := payment(checkpoint.WithHashes(store))
	if err != nil {
		return err
	}
	run := graph.RunOptions{Thread: thread, By: "ann"}
	res, err := g.Invoke(ctx, State{To: state.Of("Bob"), Amount: state.Of(40)}, run)
	if err != nil {
		return err
	}
	_, err = g.Resume(graph.WithSigner(ctx, key), graph.Answer(res.Interrupts[0].ID, true), run)
	return err
}

// forge replaces a text in the values of a thread, as an attacker does who can write the store.
func forge(ctx context.Context, store checkpoint.Store, thread, old, new string) error {
	var file, forged bytes.Buffer
	if err := checkpoint.Export(ctx, store, thread, &file); err != nil {
		return err
	}
	sum := sha256.New()
	for line := range strings.Lines(file.String()) {
		_, object, _ := strings.Cut(line, " ")
		object = strings.ReplaceAll(object, old, new)
		sum.Write([]byte(object))
		fmt.Fprintf(&forged, "%s %s", hex.EncodeToString(sum.Sum(nil))[:32], object)
	}
	if err := store.Delete(ctx, thread); err != nil {
		return err
	}
	return checkpoint.Import(ctx, store, thread, &forged)
}

func run(ctx context.Context, w io.Writer) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	store := new(checkpoint.Memory)
	if err := pay(ctx, store, "invoice 7", private); err != nil {
		return err
	}
	if err := report(ctx, w, store, public); err != nil {
		return err
	}
	for _, change := range [][2]string{{`"value":40`, `"value":4000`}, {`"value":4000`, `"value":40`}, {`"by":"ann"`, `"by":"eve"`}} {
		if err := forge(ctx, store, "invoice 7", change[0], change[1]); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s becomes %s\n", change[0], change[1])
		if err := report(ctx, w, store, public); err != nil {
			return err
		}
	}
	return nil
}

// report prints whether the thread is what was stored.
func report(ctx context.Context, w io.Writer, store checkpoint.Store, trusted ed25519.PublicKey) error {
	v, err := graph.VerifyThread(ctx, store, "invoice 7", trusted)
	if err != nil {
		return err
	}
	if err := v.Err(); err != nil {
		fmt.Fprintln(w, "  ", err)
		return nil
	}
	fmt.Fprintf(w, "   verified: %d commits, %d signed decision\n", v.Chains[0].Hashed, v.Signed)
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
