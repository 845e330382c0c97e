package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftrun/weft/conversation/thread"
)

// Game is the state of the thread.
type Game struct {
	Room  string          `json:"room"`
	Items map[string]bool `json:"items"`
	Rolls int             `json:"rolls"`
}

func newGame() Game { return Game{Room: "hall", Items: map[string]bool{}} }

// Agent plays the game. It uses the threads' manager only, never the store.
type Agent struct {
	*thread.Manager[Game]
	Implicit bool
}

// Process runs one turn on a thread that has a configuration.
func (a Agent) Process(ctx context.Context, id, text string) (reply string, err error) {
	err = a.Run(ctx, func(s *thread.Session[Game]) error {
		t, err := s.Load(ctx, id)
		if err != nil {
			return err
		}
		if err := s.Init(ctx, t, newGame); err != nil { // the first turn starts a game
			return err
		}
		if a.Implicit {
			reply = play(t.State.Data, text, s.IsToolEnabled(ctx, id, "dice"))
			return nil // the end of the run saves the changed state
		}
		next := *t.State.Data
		next.Items = maps.Clone(next.Items)
		reply = play(&next, text, s.IsToolEnabled(ctx, id, "dice"))
		if err := s.Update(ctx, t, next); err != nil { // writes only if the game has changed
			reply += fmt.Sprintf(" (This is not saved: %v)", err)
		}
		return nil
	})
	return reply, err
}

// play is in place of a model. It changes the game and returns a reply.
func play(g *Game, text string, dice bool) string {
	verb, what, _ := strings.Cut(text, " ")
	switch {
	case verb == "go" && what != "":
		g.Room = what
		return fmt.Sprintf("You go to the %s.", what)
	case verb == "take" && what != "":
		g.Items[what] = true
		return fmt.Sprintf("You take the %s.", what)
	case verb == "roll" && dice:
		g.Rolls++
		return fmt.Sprintf("Roll %d: you have %d.", g.Rolls, 1+g.Rolls*3%6)
	case verb == "roll":
		return "There are no dice in this game."
	}
	return fmt.Sprintf("You are in the %s with %s.", g.Room, listed(g.Items))
}

func listed(items map[string]bool) string {
	if len(items) == 0 {
		return "nothing"
	}
	return "the " + strings.Join(slices.Sorted(maps.Keys(items)), " and the ")
}
