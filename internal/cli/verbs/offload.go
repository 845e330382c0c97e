package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/capabilities/memory"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	sessions "github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/internal/cli/reports"
	msg "github.com/weftrun/weft/state/message"
)

func (a *app) sessionsOffloadVerb() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "offload",
		Short: "End sessions whose time is over, and offload those that have ended",
		Long: `Offload does once what the sweeper of an application does: it ends the sessions whose
time is over, gives what was said in those that have ended to the long-term memory, and
removes them. The memory is that of package capabilities/memory in the same store, with
its built-in extraction; with --to FILE each session becomes a line of JSON instead, and
nothing is remembered. An application with an engine of its own should sweep itself.

After a failure a session is tried again, at the earliest after a pause that grows; a
session may then be in FILE twice, with the same key.`,
		Args: a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				return a.offload(cmd.Context(), store, to)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "a file to append JSON to, - for stdout (default the long-term memory)")
	return cmd
}

func (a *app) offload(ctx context.Context, store checkpoint.Store, to string) (err error) {
	docs, err := a.documents(ctx, store)
	if err != nil {
		return err
	}
	engine, end, err := a.engine(ctx, store, to)
	if err != nil {
		return err
	}
	done, err := sweep(ctx, docs, engine)
	if cerr := end(); err == nil {
		err = cerr
	}
	if err != nil {
		return &reports.Failure{Code: a.Classify(err).Code, Err: fmt.Errorf("offloaded %d sessions, and not all: %w", done.Offloaded, err), Next: "give the same command again later; failed sessions stay stored"}
	}
	switch {
	case a.JSON && to == "-":
		return nil // stdout contains the sessions
	case a.JSON:
		return a.PrintJSON(map[string]int{"expired": done.Expired, "offloaded": done.Offloaded, "removed": done.Removed})
	case to == "-":
		a.Note("%s", sweepText(done))
		return nil
	}
	_, err = fmt.Fprintln(a.Stdout, sweepText(done))
	return err
}

func sweepText(done sessions.SweepStats) string {
	return fmt.Sprintf("%d ended since their time was over, %d offloaded, %d gone", done.Expired, done.Offloaded, done.Removed)
}

func sweep(ctx context.Context, docs document.Store, e sessions.Engine) (sessions.SweepStats, error) {
	m, err := sessions.New(sessions.Config{Store: docs, Engine: e})
	if err != nil {
		return sessions.SweepStats{}, err
	}
	return (&sessions.Sweeper{Manager: m}).Sweep(ctx)
}

// engine returns the engine that sessions are offloaded to. Call end after the last one.
func (a *app) engine(ctx context.Context, store checkpoint.Store, to string) (e sessions.Engine, end func() error, err error) {
	switch to {
	case "":
		known, err := a.memories(ctx, store)
		if err != nil {
			return nil, nil, err
		}
		e, err := memory.New(memory.Config{Store: known})
		return e, func() error { return nil }, err
	case "-":
		return &writerEngine{out: a.Verbatim, sync: func() error { return nil }}, func() error { return nil }, nil
	}
	f, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, reports.CannotWrite(to, err)
	}
	if err := endLine(f); err != nil {
		return nil, nil, errors.Join(reports.CannotWrite(to, err), f.Close())
	}
	return &writerEngine{out: f, sync: f.Sync}, f.Close, nil
}

// endLine ends the last line of a file if a call that failed left a part of it, as on a full disk.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err = f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
		_, err = f.WriteString("\n")
	}
	return err
}

// writerEngine writes each session as a line of JSON.
type writerEngine struct {
	out  io.Writer
	sync func() error
}

// endedLine is an ended session, as a line of JSON.
type endedLine struct {
	Session  string          `json:"session"`
	Key      string          `json:"key"`
	User     string          `json:"user,omitempty"`
	Reason   sessions.Reason `json:"reason"`
	Created  time.Time       `json:"created"`
	Ended    time.Time       `json:"ended"`
	Messages []msg.Message   `json:"messages"`
}

func (w *writerEngine) Offload(_ context.Context, e sessions.Ended) error {
	line, err := json.Marshal(endedLine{e.ID, e.Key, e.User, e.Reason, e.Created, e.Ended, e.Messages})
	if err != nil {
		return err
	}
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		return err
	}
	return w.sync()
}

func (*writerEngine) Bootstrap(context.Context, string) (string, error) { return "", nil }
