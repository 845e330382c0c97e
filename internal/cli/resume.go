package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func (a *app) resumeVerb() *cobra.Command {
	var thread string
	var answers []string
	cmd := &cobra.Command{
		Use:   "resume [FILE]",
		Short: "Go on with a thread, with answers to its questions",
		Long: `Resume goes on with a thread: after a question with the answer, after a failure or a
crash without one. The thread knows its workflow; name the FILE if it was moved.
An answer that the thread has already had is no mistake, so the same command can
be given again after a crash.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkpoint.CheckThread(thread); err != nil {
				return err
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				s := &session{app: a, store: store, thread: thread}
				return s.resume(cmd.Context(), first(args), answers)
			})
		},
	}
	cmd.Flags().StringVar(&thread, "thread", "", "the thread's name")
	cmd.Flags().StringArrayVar(&answers, "answer", nil, "VALUE, or ID=VALUE when several questions are open; repeatable")
	return cmd
}

// first returns the first argument, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func (s *session) resume(ctx context.Context, file string, flags []string) error {
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	if err := s.find("resume", file, p); err != nil {
		return err
	}
	if p.Status != graph.Done {
		s.warnChanged(p)
	}
	if s.had, err = s.answered(ctx); err != nil {
		return err
	}
	r := answerer{open: p.Interrupts, had: s.had}
	err = s.answer(ctx, r, flags)
	if errors.Is(err, graph.ErrUnknownQuestion) {
		// A repeated answer whose question is closed: its type is no longer known, so
		// what looks like JSON may have been text. Nothing ran in the first attempt.
		r.asText = true
		if again := s.answer(ctx, r, flags); !errors.Is(again, graph.ErrUnknownQuestion) {
			return again
		}
	}
	return err
}

func (s *session) answer(ctx context.Context, r answerer, flags []string) error {
	answers, err := r.answers(flags)
	if err != nil {
		return err
	}
	return s.watch(ctx, s.graph.StreamResume(ctx, answers, s.options()))
}

// answered returns the questions of this turn that were answered.
func (s *session) answered(ctx context.Context) ([]checkpoint.Answered, error) {
	snap, err := s.store.Load(ctx, checkpoint.Key{Thread: s.thread}, 0)
	if err != nil {
		return nil, err
	}
	rec, err := checkpoint.ReadRecord(snap)
	if err != nil {
		return nil, err
	}
	return rec.Answered, nil
}
