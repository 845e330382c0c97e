// Session is a long chat over one file. Each call is a process of its own, several may run at once,
// and all they share is the file.
//
//	session chat.db monday say "I drink green tea."
//	session chat.db monday show          # the messages for the model: a window of the log
//	session chat.db monday log           # all messages; none is ever removed
//	session chat.db monday end           # offloads the messages to the long-term memory
//	session chat.db tuesday show         # a new session begins with the memory
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/weftrun/weft/capabilities/memory"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "session:", err)
		os.Exit(1)
	}
}

// run runs one call: FILE SESSION say TEXT, or show, log or end.
func run(ctx context.Context, out io.Writer, args ...string) error {
	if len(args) < 3 || !slices.Contains([]string{"say", "show", "log", "end"}, args[2]) || (args[2] == "say") != (len(args) > 3) {
		return errors.New("usage: session FILE SESSION say TEXT | show | log | end")
	}
	store, err := sqlite.Open(ctx, args[0])
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := manager(ctx, store)
	if err != nil {
		return err
	}
	id, verb, text := args[1], args[2], strings.Join(args[3:], " ")
	if verb == "end" {
		return end(ctx, out, m, id)
	}
	if err := begin(ctx, m, id); err != nil {
		return err
	}
	switch verb {
	case "say":
		return say(ctx, out, m, id, text)
	case "show":
		view, err := m.View(ctx, id)
		return errors.Join(printAll(out, view.Messages), err)
	case "log":
		log, err := m.Log(ctx, id)
		return errors.Join(printAll(out, log), err)
	}
	return nil
}

// manager returns a manager whose sessions and long-term memory are in one file.
func manager(ctx context.Context, store *sqlite.Store) (*session.Manager, error) {
	docs, err := store.Documents(ctx)
	if err != nil {
		return nil, err
	}
	known, err := store.Memory(ctx)
	if err != nil {
		return nil, err
	}
	engine, err := memory.New(memory.Config{Store: known})
	if err != nil {
		return nil, err
	}
	return session.New(session.Config{
		Store:  docs,
		Engine: engine,
		Window: message.Window{MaxMessages: 6}, // moves with every message
		Summarizer: message.Summarizer{ // less often, since it costs a call of a model
			Window: message.Window{MaxMessages: 8}, KeepMessages: 2, Write: shorten,
		},
	})
}

// begin creates the session unless it exists.
func begin(ctx context.Context, m *session.Manager, id string) error {
	_, err := m.Create(ctx, session.Start{ID: id, User: "ada", System: "Be brief."})
	if errors.Is(err, session.ErrExists) {
		return nil
	}
	return err
}

// say runs one turn, and compacts a long conversation.
func say(ctx context.Context, out io.Writer, m *session.Manager, id, text string) error {
	if _, err := m.Append(ctx, id, message.User(text)); err != nil {
		return err
	}
	var done session.Appended
	var err error
	for again := true; again; again = errors.Is(err, session.ErrConflict) { // after a conflict, answer the newer log
		done, err = m.Turn(ctx, id, func(_ context.Context, view message.Fitted) ([]message.Message, error) {
			return []message.Message{answer(text, view.Messages)}, nil
		})
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, done.Added[0].Text())
	_, err = m.Compact(ctx, id)
	return err
}

// answer is in place of a model.
func answer(text string, ms []message.Message) message.Message {
	return message.Assistant(fmt.Sprintf("You said %q, and I was sent %d messages.", text, len(ms)))
}

// shorten is in place of a model that summarizes. It joins the texts of the user.
func shorten(_ context.Context, ms []message.Message) (string, error) {
	var said []string
	for _, m := range ms {
		if m.Role != message.RoleAssistant {
			said = append(said, strings.TrimRight(strings.TrimPrefix(m.Text(), message.SummaryPrefix), "."))
		}
	}
	return strings.Join(said, "; ") + ".", nil
}

// printAll prints messages.
func printAll(out io.Writer, ms []message.Message) error {
	for _, m := range ms {
		if _, err := fmt.Fprintf(out, "%s: %s\n", m.Role, m.Text()); err != nil {
			return err
		}
	}
	return nil
}

// end ends the session, and sweeps at once.
func end(ctx context.Context, out io.Writer, m *session.Manager, id string) error {
	if err := m.End(ctx, id); err != nil {
		return err
	}
	done, err := (&session.Sweeper{Manager: m}).Sweep(ctx)
	if fmt.Fprintf(out, "offloaded: %d\n", done.Offloaded); done.Offloaded == 0 && err == nil {
		fmt.Fprintf(out, "there was no session %q to end\n", id)
	}
	return err
}
