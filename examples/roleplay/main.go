// Roleplay is an agent that plays a game with a person, with one process for each turn. The
// application sets the configuration of the thread. The agent keeps its game in the thread's state.
//
//	roleplay game.db explicit "look"         # each change is saved by a call
//	roleplay game.db explicit "take lamp"
//	roleplay game.db implicit "go cellar"    # changes are saved at the end of the run
//	roleplay game.db explicit "roll"         # both strategies share the game
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation/thread"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "roleplay:", err)
		os.Exit(1)
	}
}

// run is one process: FILE STRATEGY TEXT.
func run(ctx context.Context, out io.Writer, args ...string) error {
	if len(args) != 3 {
		return errors.New("usage: roleplay FILE explicit|implicit TEXT")
	}
	store, err := sqlite.Open(ctx, args[0])
	if err != nil {
		return err
	}
	defer store.Close()
	docs, err := store.Documents(ctx)
	if err != nil {
		return err
	}
	strategy := thread.Strategy(args[1])
	m, err := thread.NewManager(thread.NewRepository[Game](docs), thread.Options{Strategy: strategy})
	if err != nil {
		return err
	}
	// The application's part, before each turn. The game of the thread stays as it is.
	if err := m.SetConfig(ctx, game, thread.Config{"enabledTools": []string{"dice"}, "model": map[string]any{"name": "rules"}}); err != nil {
		return err
	}
	agent := Agent{Manager: m, Implicit: strategy == thread.Implicit}
	reply, err := agent.Process(ctx, game, args[2])
	if err == nil {
		_, err = fmt.Fprintln(out, reply)
	}
	return err
}

// game is the thread.
const game = "game-1"
