package verbs

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// runFlags are the flags of run.
type runFlags struct {
	file    string
	thread  string
	named   bool // --thread was given
	inputs  []string
	configs []string
	newTurn bool
	queue   bool
	meta    []string
	howToRun
}

func (a *app) runVerb() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a workflow, or go on with a run that stopped",
		Long: `Run starts a workflow on a thread: that of a FILE, or a graph of this program by its name. The same command again goes on where it stopped:
after a crash it resumes, while a question is open it shows the question, and
after the end it shows the result. --new-turn, or another input, starts anew on
what the thread remembers.

Ctrl-C once lets the step finish and stops, twice stops at once. Both keep what is
done; resume goes on.`,
		Args: a.arguments("FILE", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if f.configs, err = a.configFile(f.configs); err != nil {
				return err
			}
			f.file, f.named = args[0], cmd.Flags().Changed("thread")
			return a.run(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.thread, "thread", "", "the thread's name (default a new one)")
	cmd.Flags().StringArrayVar(&f.inputs, "input", nil, "KEY=VALUE, KEY=@FILE for a file's text or as a blob, @FILE or - for a JSON object; repeatable")
	cmd.Flags().StringArrayVar(&f.configs, "config", nil, "NAME=VALUE of the workflow's config, in the forms of --input; or a FILE with models and tools; repeatable")
	cmd.Flags().StringArrayVar(&f.meta, "metadata", nil, "KEY=VALUE that the checkpoints of the thread get, such as that of a budget; repeatable")
	cmd.Flags().BoolVar(&f.newTurn, "new-turn", false, "start a new turn even if this one has not ended, or had the same input")
	cmd.Flags().BoolVar(&f.queue, "queue", false, "if the thread is busy or waits for an answer, keep the input for a turn of its own")
	f.flags(cmd)
	return cmd
}

// configFile returns the settings among the values of --config. Of the others one may be a file.
func (a *app) configFile(values []string) (settings []string, err error) {
	for _, v := range values {
		switch {
		case strings.Contains(v, "=") || filepath.Ext(v) != ".yaml" && filepath.Ext(v) != ".yml" || v[0] == '@':
			settings = append(settings, v)
		case a.grants.config != "":
			return nil, reports.Usage("give one of them", "--config names the files %s and %s", a.grants.config, v)
		default:
			a.grants.config = v
			a.Grants = a.grants.flags()
		}
	}
	return settings, nil
}

func (a *app) run(ctx context.Context, f runFlags) error {
	if f.queue && f.newTurn {
		return reports.Usage("give one of them", "--queue waits for the turn that is open, --new-turn drops it")
	}
	if f.queue && f.takeOver {
		return reports.Usage("give one of them", "--queue waits for the process that works on the thread, --take-over does not")
	}
	meta, err := parseMeta(f.meta)
	if err != nil {
		return err
	}
	open, err := a.declared(f.file)
	if err != nil {
		return err
	}
	if a.config.Chats[f.file] != nil && a.config.Graphs[f.file] == nil {
		return reports.Usage(a.Command("chat", f.file, "--say", "TEXT"), "%q is an agent: it is talked with, and not run", f.file)
	}
	if !f.named {
		f.thread = uuid.NewString()
	}
	if err := checkpoint.CheckThread(f.thread); err != nil {
		return err
	}
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		s := &session{app: a, store: store, thread: f.thread, meta: meta}
		if s.graph, err = open(ctx, store); err != nil {
			return err
		}
		return s.run(ctx, f)
	})
}

// run reads the thread, decides on an action and takes it. It starts again if another process has
// changed the thread in between.
func (s *session) run(ctx context.Context, f runFlags) error {
	for {
		if err := s.runOnce(ctx, f); !errors.Is(err, graph.ErrMoved) {
			return err
		}
	}
}

func (s *session) runOnce(ctx context.Context, f runFlags) error {
	o, err := s.options(f.howToRun)
	if err != nil {
		return err
	}
	if f.queue {
		if err := s.untilFree(ctx); err != nil {
			return err
		}
	}
	p, found, err := s.inspect(ctx)
	if err == nil && found {
		err = s.sameGraph(p)
	}
	if err != nil {
		return err
	}
	o.Metadata = s.metadata() // with that of the thread
	o.If = &p.Checkpoint
	if p.Status == graph.Interrupted && len(f.inputs)+len(f.configs) == 0 && !f.newTurn && !f.queue {
		return s.waits(ctx, p.Interrupts)
	}
	input, err := s.input(ctx, f.inputs, f.configs)
	if err != nil {
		return err
	}
	hash, err := s.graph.InputHash(input)
	if err != nil {
		return err
	}
	todo := decide(p, found, p.Input == hash, f.newTurn, f.queue)
	if todo == begin || todo == goOn { // report what is missing in the environment before anything runs
		if err := s.graph.checkEnv(); err != nil {
			return err
		}
	}
	switch todo {
	case begin:
		switch {
		case f.newTurn:
			o.OnOpenQuestions = graph.Discard
		case f.queue:
			o.OnOpenQuestions = graph.Queue
		}
		if !f.named {
			s.Note("this is thread %s", s.thread)
		}
		return s.watch(ctx, s.graph.Start(ctx, input, o))
	case goOn:
		s.warnChanged(p)
		return s.watch(ctx, s.graph.StartResume(ctx, graph.Answers{}, o))
	case ask:
		return s.waits(ctx, p.Interrupts)
	case show:
		return s.showAgain(ctx, p)
	case refuseOpen:
		return reports.Usage("show the question: "+s.Command("resume", "--thread", s.thread)+", keep the input for later with --queue, or drop the question with --new-turn",
			"thread %q waits for an answer, so it takes no new input", s.thread)
	default:
		return reports.Usage("go on with "+s.Command("resume", "--thread", s.thread)+", or drop the turn with --new-turn",
			"thread %q has not finished the turn of another input", s.thread)
	}
}

// untilFree waits until no process works on the thread. Only then it is known whether an input can
// start a turn.
func (s *session) untilFree(ctx context.Context) error {
	return s.holding(ctx, checkpoint.HoldOptions{Owner: "weft", Policy: checkpoint.Wait}, func(context.Context, string) error { return nil })
}

// action is what run does with a thread.
type action int

const (
	begin      action = iota // start a turn with the input
	goOn                     // resume the turn
	ask                      // show the open questions again
	show                     // show the result again
	refuseOpen               // a question of another turn is open
	refuseWork               // another turn has work left
)

// decide returns the action of run for a thread whose newest checkpoint is p. same means that the
// input equals the input of its last turn. queue means that the input may wait for open questions.
func decide(p graph.CommitInfo, found, same, newTurn, queue bool) action {
	switch {
	case !found:
		return begin
	case newTurn:
		return begin
	case p.Status == graph.Interrupted && !same && queue:
		return begin
	case p.Status == graph.Interrupted && !same:
		return refuseOpen
	case p.Status == graph.Interrupted:
		return ask
	case p.Status == graph.Done && same:
		return show
	case p.Status == graph.Done:
		return begin
	case same:
		return goOn
	}
	return refuseWork
}

// showAgain shows the stored result of the thread.
func (s *session) showAgain(ctx context.Context, p graph.CommitInfo) error {
	end, _, err := s.graph.Thread(s.thread).State(ctx, p.Checkpoint)
	if err != nil {
		return err
	}
	version := ""
	if s.changed(p) {
		version = " with an earlier version of the workflow"
	}
	s.Note("thread %q has already finished this input%s; --new-turn runs it again", s.thread, version)
	return s.result(ctx, end)
}

// parseMeta reads the values of --metadata.
func parseMeta(flags []string) (map[string]string, error) {
	var all map[string]string
	for _, flag := range flags {
		key, value, ok := strings.Cut(flag, "=")
		switch {
		case !ok || key == "" || value == "":
			return nil, reports.Usage("write --metadata KEY=VALUE, such as tenant=acme", "the metadata %q must have a key and a value", flag)
		case key == metaPath || key == metaHash:
			return nil, reports.Usage("use another key", "the command line itself writes the metadata %q", key)
		case slices.Contains(threadTerms.keys, key):
			return nil, reports.Usage("use another key", "the metadata %q is reserved: --where %s=… means that of the thread", key, key)
		case all[key] != "":
			return nil, reports.Usage("give each key once", "the metadata %q is given twice", key)
		case all == nil:
			all = map[string]string{}
		}
		all[key] = value
	}
	return all, nil
}
